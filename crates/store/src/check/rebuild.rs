//! Making everything derived again from `.art`.

use std::path::Path;
use std::sync::Arc;

use crate::io::disk::RealDisk;
use crate::io::lock::Lock;
use crate::io::salvage::Salvage;
use crate::spool::recover::rebuild_derived;
use crate::spool::{Options, Spool};
use crate::{Error, check::repair, spool::recover};

/// What a rebuild went through.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rebuilt {
    /// Segments.
    pub segments: u64,
    /// Articles in the sealed ones.
    pub articles: u64,
    /// Ids in the new index.
    pub ids: u64,
    /// What was found and mended on the way, in sentences for the administrator.
    pub notices: Vec<String>,
    /// Places where articles are damaged or cannot be read; they are not in the new history.
    pub damaged: u64,
}

/// Makes `.his` and `.ovr` of every segment, and the index, again from the articles; holds the lock meanwhile.
pub fn rebuild(dir: &Path) -> Result<Rebuilt, Error> {
    let options = Options {
        repair: true,
        ..Options::default()
    };
    let disk = Salvage::of(Arc::new(RealDisk));
    // Expire gives space back off the store's own lock.
    let _no_expire = Lock::take_named(dir, "lock.expire", options.patience.is_none())?;
    let spool = Spool::open_on(disk.clone(), dir, options)?;
    repair::remove_index(&*spool.disk, dir)?;
    let mut told = Rebuilt::default();
    for base in spool.segments.bases()? {
        told.segments += 1;
        if base != spool.art.header.base {
            let (articles, damaged) = rebuild_derived(&spool.segments, dir, base)?;
            told.articles += articles;
            told.damaged += damaged.len() as u64;
            told.notices.extend(damaged);
        }
    }
    // Without an index the last segment is replayed whole.
    drop(spool);
    let spool = Spool::open_on(disk.clone(), dir, options)?;
    told.articles += spool.taken_up();
    let damaged = |notice: &&String| recover::is_damage_notice(notice);
    told.damaged += spool.notices().iter().filter(damaged).count() as u64;
    told.notices.extend_from_slice(spool.notices());
    told.ids = spool.index_size().0;
    Ok(told)
}
