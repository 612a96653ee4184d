//! A node of a cluster: the spool follows a log that others keep. Its own log is synced seldom, and ends after any interruption with a whole
//! entry of the other one.

use crate::Error;
use crate::expiry::state::ExpiryState;
use crate::io::disk::File;
use crate::log::record::Kind;
use crate::log::walk::{Step, Walk};
use crate::spool::Spool;
use crate::spool::active_from_log::rebuild_active;
use crate::state::applied_entry::AppliedEntry;

impl Spool {
    /// The place of this news directory in the log of its cluster.
    ///
    /// # Errors
    /// The file of the place cannot be read.
    pub fn applied_entry(&self) -> Result<&AppliedEntry, Error> {
        self.states.applied_entry.state()
    }

    /// Makes this news directory follow the log of a cluster, from a place on. A new segment begins, with copies of the state: the active file
    /// that was here before is not in the log.
    ///
    /// # Errors
    /// Those of filing.
    pub fn follow_from(&mut self, place: &AppliedEntry) -> Result<(), Error> {
        self.commit()?;
        self.seal()?;
        self.set_applied_entry(place)?;
        self.commit()?;
        self.checkpoint()
    }

    /// Records that an entry is applied. The record waits for the next commit, as what the entry brought.
    ///
    /// # Errors
    /// Those of filing.
    pub fn set_applied_entry(&mut self, place: &AppliedEntry) -> Result<(), Error> {
        let line = place.to_line();
        self.make_room_for_state(line.len())?;
        self.log_state_text(Kind::Applied, line.as_bytes());
        self.states.applied_entry.add(line.as_bytes())
    }

    /// Logs a copy of the place at the start of a segment.
    pub(super) fn log_applied_entry(&mut self) -> Result<(), Error> {
        if self.options.follows_log {
            let copy = self.states.applied_entry.copy(usize::MAX)?;
            self.log_state_text(Kind::Applied, &copy);
        }
        Ok(())
    }

    /// Makes sure that so many bytes of records fit into the current segment, so that no commit falls into the middle of an entry.
    /// Commits what waits, if that needs another segment.
    ///
    /// # Errors
    /// So many bytes do not fit into any segment.
    pub fn reserve(&mut self, bytes: u64) -> Result<(), Error> {
        self.seal_between_commits()?;
        self.make_room_for_state(bytes as usize)
    }

    /// The end of the last whole entry in the records from `from` to `end`; `from` if there is none.
    pub(super) fn end_of_entries(
        &self,
        file: &dyn File,
        from: u64,
        end: u64,
    ) -> Result<u64, Error> {
        let path = &self.art.append.path;
        let at = |source| Error::io("read", path, source);
        let mut walk = Walk::new(file, from, end).map_err(at)?;
        let mut found = from;
        while let Some(step) = walk.next().map_err(at)? {
            match step {
                Step::Record(offset, record) if record.head.kind == Kind::Applied => {
                    found = offset + u64::from(record.head.length);
                }
                Step::Record(..) => {}
                Step::Gap { .. } => break,
            }
        }
        Ok(found)
    }

    /// After a power cut: what was written without a sync may reach further than the log does, so all state comes from the log.
    pub(super) fn take_state_from_log(&mut self) -> Result<(), Error> {
        self.states.applied_entry.fold_again()?;
        if self.applied_entry()?.log.is_empty() {
            // It does not follow yet, and its log may lack the first active file.
            return Ok(());
        }
        self.active.table = rebuild_active(&self.segments, &self.dir)?;
        *self.expired.state_mut()? = ExpiryState::fold(&self.segments)?;
        self.states.fold_again()
    }
}

/// Whether a news directory belongs to a cluster.
pub(crate) fn is_of_cluster(dir: &std::path::Path) -> bool {
    dir.join(AppliedEntry::FILE).exists()
}
