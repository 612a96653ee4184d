//! The caches of a snapshot. Each reading borrows one, so that threads which share a snapshot do not wait for each other. A thread alone
//! always borrows the same one.

use std::sync::{Mutex, MutexGuard, PoisonError};

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

/// The first one serves a thread alone. Those that served others beside it wait for the next ones: there are as many as there were readings
/// at the same time.
#[derive(Debug, Default)]
pub struct Caches {
    first: Mutex<Cache>,
    others: Mutex<Vec<Cache>>,
}

impl Caches {
    /// Lends a cache to `read`.
    #[inline]
    pub fn lend<T>(&self, read: impl FnOnce(&mut Cache) -> T) -> T {
        if let Ok(mut first) = self.first.try_lock() {
            return read(&mut first);
        }
        let mut cache = self.others().pop().unwrap_or_default();
        let found = read(&mut cache);
        self.others().push(cache);
        found
    }

    fn others(&self) -> MutexGuard<'_, Vec<Cache>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
