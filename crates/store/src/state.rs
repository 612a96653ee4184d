//! The states that control messages leave: pending cancels, serial numbers of checkgroups, `newsgroups` and `active.times`; and the place in
//! the log of a cluster. Each is a fold over the records of its kind.

pub(crate) mod active_text;
pub mod applied_entry;
pub mod checkgroups_serials;
pub(crate) mod fold;
pub mod group_files;
pub mod pending_cancels;
pub(crate) mod state_file;
pub(crate) mod unreclaimed;

use std::path::Path;

use crate::Error;
use crate::log::record::Kind;
use crate::log::segments::Segments;
use crate::report::Report;
use crate::state::applied_entry::AppliedEntry;
use crate::state::checkgroups_serials::Serials;
use crate::state::pending_cancels::PendingCancels;
use crate::state::state_file::StateFile;

/// The states whose files are derived from the log.
#[derive(Debug)]
pub struct States {
    /// The cancels that wait for their articles.
    pub pending_cancels: StateFile<PendingCancels>,
    /// The serial numbers of checkgroups.
    pub serials: StateFile<Serials>,
    /// The place in the log of a cluster.
    pub applied_entry: StateFile<AppliedEntry>,
}

impl States {
    /// Those of a news directory; nothing is read yet.
    pub fn new(segments: &Segments, dir: &Path) -> States {
        States {
            pending_cancels: StateFile::new(segments, dir),
            serials: StateFile::new(segments, dir),
            applied_entry: StateFile::new(segments, dir),
        }
    }

    /// Writes what the files lack.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.pending_cancels.flush()?;
        self.serials.flush()?;
        self.applied_entry.flush()
    }

    /// Waits until the files are on the disk.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.pending_cancels.sync()?;
        self.serials.sync()?;
        self.applied_entry.sync()
    }

    /// Notes that a record of this kind was replayed.
    pub fn replay(&mut self, kind: Kind) {
        self.pending_cancels.replay(kind);
        self.serials.replay(kind);
        self.applied_entry.replay(kind);
    }

    /// Restores from the log the states of which records were replayed. The log is whole by now.
    pub fn finish_replay(&mut self) -> Result<(), Error> {
        self.pending_cancels.finish_replay()?;
        self.serials.finish_replay()?;
        self.applied_entry.finish_replay()
    }

    /// Restores all states from the log.
    pub fn fold_again(&mut self) -> Result<(), Error> {
        self.pending_cancels.fold_again()?;
        self.serials.fold_again()?;
        self.applied_entry.fold_again()
    }

    /// Compares the files with the log, as `segments` reads it; not the place in the log of a cluster, which few news directories have.
    pub fn check(
        &mut self,
        segments: &Segments,
        report: &mut Report,
        repair: bool,
    ) -> Result<(), Error> {
        self.pending_cancels.check(segments, report, repair)?;
        self.serials.check(segments, report, repair)
    }
}
