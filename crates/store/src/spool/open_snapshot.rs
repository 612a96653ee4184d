//! Opening a snapshot after a crash: the writer repairs first what the crash left.

use std::path::Path;
use std::sync::Arc;

use crate::Error;
use crate::io::disk::{Disk, RealDisk};
use crate::log::segments::Segments;
use crate::read::snapshot::Snapshot;
use crate::spool::Spool;
use crate::spool::follow_log::is_of_cluster;
use crate::spool::options::Options;

impl Snapshot {
    /// Opens a news directory. Where a crash left work to do, or the expired or removed articles are not readable, the writer's opening repairs
    /// that first, with the lock.
    ///
    /// # Errors
    /// A file cannot be read, or the writer cannot open the news directory.
    pub fn open(dir: &Path) -> Result<Snapshot, Error> {
        Snapshot::open_on(Arc::new(RealDisk), dir)
    }

    /// As [`Snapshot::open`], on another disk.
    ///
    /// # Errors
    /// Those of [`Snapshot::open`].
    pub fn open_on(disk: Arc<dyn Disk>, dir: &Path) -> Result<Snapshot, Error> {
        let segments = Segments::find(&disk, dir)?;
        if let Some(snapshot) = Snapshot::open_as_left(segments, dir)? {
            return Ok(snapshot);
        }
        let options = Options {
            patience: None,
            follows_log: is_of_cluster(dir),
            ..Options::default()
        };
        let mut spool = Spool::open_on(disk.clone(), dir, options)?;
        spool.mend_expired()?;
        let notices = spool.notices();
        drop(spool);
        Ok(Snapshot::open_recovered(&disk, dir)?.with_notices(notices))
    }
}
