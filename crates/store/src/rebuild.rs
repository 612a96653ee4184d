//! Making everything derived again from `.art`.

use std::path::Path;

use crate::lock::Lock;
use crate::recover::rebuild_views;
use crate::spool::{Options, Spool};
use crate::{Error, mend, segment};

/// What a rebuild went through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rebuilt {
    /// Segments.
    pub segments: u64,
    /// Articles in the sealed ones.
    pub articles: u64,
    /// Ids in the new index.
    pub ids: u64,
}

/// Makes `.his` and `.ovr` of every segment, and the index, again from the articles; holds the lock meanwhile.
pub fn rebuild(dir: &Path) -> Result<Rebuilt, Error> {
    let options = Options {
        repair: true,
        ..Options::default()
    };
    // Expire gives space back off the store's own lock.
    let _no_expire = Lock::take_named(dir, "lock.expire", options.patience.is_none())?;
    let spool = Spool::open(dir, options)?;
    mend::remove_index(&*spool.disk, dir)?;
    let mut told = Rebuilt::default();
    for base in segment::list(&*spool.disk, &dir.join("segments"))? {
        told.segments += 1;
        if base != spool.art.header.base {
            told.articles += rebuild_views(&spool.disk, dir, base)?;
        }
    }
    // Without an index the last segment is replayed whole.
    drop(spool);
    let spool = Spool::open(dir, options)?;
    told.articles += spool.taken_up();
    told.ids = spool.index_size().0;
    Ok(told)
}
