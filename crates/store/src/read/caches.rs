//! The caches of a snapshot. Each reading borrows one, so that threads which share a snapshot do not wait for each other. A thread alone
//! always borrows the same one.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Error;
use crate::read::group_index::GroupIndex;
use crate::read::open_segments::OpenSegments;

/// What one reading leaves for the next one.
#[derive(Debug, Default)]
pub struct Cache {
    /// Where the rows of groups lie.
    pub group_index: GroupIndex,
    /// Mapped segments.
    pub open_segments: OpenSegments,
}

#[expect(clippy::vec_box, reason = "each reading moves one out and in")]
type Unused = Vec<Box<Cache>>;

/// The caches that no reading uses now. There are as many as there were readings at the same time.
#[derive(Debug, Default)]
pub struct Caches(Mutex<Unused>);

impl Caches {
    /// Lends a cache to `read`.
    pub fn lend<T>(&self, read: impl FnOnce(&mut Cache) -> T) -> T {
        let mut cache = self.unused().pop().unwrap_or_default();
        let found = read(&mut cache);
        self.unused().push(cache);
        found
    }

    /// Damaged rows that were met since the last call.
    pub fn take_damage(&self) -> Option<Error> {
        let mut unused = self.unused();
        unused
            .iter_mut()
            .find_map(|cache| cache.group_index.take_damage())
    }

    fn unused(&self) -> MutexGuard<'_, Unused> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
