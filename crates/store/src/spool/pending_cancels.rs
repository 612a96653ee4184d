//! Cancels whose articles are not here yet: the writer logs them, in the commit of the message that asks for them.

use crate::Error;
use crate::history::pending_cancels::{PendingCancel, PendingCancels};
use crate::log::record::{self, Kind};
use crate::log::segments::Segments;
use crate::log::state_file::LogState;
use crate::spool::{SNAPSHOT_PART, Spool};

impl Spool {
    /// The cancels that wait for their articles.
    pub fn pending_cancels(&self) -> Result<&PendingCancels, Error> {
        self.pending_cancels.state()
    }

    /// Keeps a cancel until its article comes. It waits for the next commit. False: it shows no key that could be kept.
    pub fn add_pending_cancel(&mut self, cancel: &PendingCancel) -> Result<bool, Error> {
        if !self.pending_cancels.state()?.lacks(cancel) {
            return Ok(false);
        }
        let mut line = Vec::new();
        cancel.push_line(&mut line);
        self.make_room_for_state(line.len() as u64 + 256)?;
        self.pending_cancels.prepare()?;
        self.log_state_lines(Kind::PendingCancel, &line);
        self.pending_cancels.add(&line)?;
        Ok(true)
    }

    /// Takes a whole copy of what waits, in place of what waits here.
    pub(crate) fn replace_pending_cancels(&mut self, copy: &[u8]) -> Result<(), Error> {
        self.make_room_for_state(copy.len() as u64 + 256)?;
        self.log_state_lines(Kind::PendingCancel, copy);
        self.pending_cancels.add(copy)
    }

    /// True when the file holds what the log tells, as it is read through `segments`.
    pub(crate) fn pending_cancels_agree(&self, segments: &Segments) -> Result<bool, Error> {
        self.pending_cancels.agrees(segments)
    }

    /// Makes the file again from the log.
    pub(crate) fn rewrite_pending_cancels(&mut self) -> Result<(), Error> {
        self.pending_cancels.fold_again()?;
        self.pending_cancels.flush()
    }

    /// As [`Spool::make_room`], in a segment that may have records of states: one that an older release began has none.
    fn make_room_for_state(&mut self, bytes: u64) -> Result<(), Error> {
        if !self.art.header.logs_states {
            self.commit()?;
            self.seal()?;
        }
        self.make_room(bytes)
    }

    fn log_state_lines(&mut self, kind: Kind, text: &[u8]) {
        let commit = self.commit_of_record();
        record::push_text(self.art.pending.out(), kind, commit, text);
    }

    /// Logs a whole copy of the pending cancels; the oldest go where they would not fit.
    pub(crate) fn log_pending_cancels(&mut self) -> Result<(), Error> {
        let bytes_max = (self.art.header.span / SNAPSHOT_PART / 2) as usize;
        let state = self.pending_cancels.state()?;
        let mut copy = state.copy(usize::MAX);
        if copy.len() > bytes_max {
            copy = state.copy(bytes_max);
            self.pending_cancels.add(&copy)?;
        }
        self.log_state_lines(Kind::PendingCancel, &copy);
        Ok(())
    }
}
