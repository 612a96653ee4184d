//! What control messages leave: the writer logs the changes, in the commit of the message that asks for them.

use crate::Error;
use crate::io::replace::read_whole;
use crate::log::record::{self, Kind};
use crate::log::segments::Segments;
use crate::report::Report;
use crate::spool::expire::PIECE_BYTES;
use crate::spool::{SNAPSHOT_PART, Spool};
use crate::state::checkgroups_serials::{Serial, Serials};
use crate::state::fold::WHOLE_COPY;
use crate::state::group_files::{GROUP_FILES, GroupEdits, GroupFile, apply};
use crate::state::pending_cancels::{NotKept, PendingCancel, PendingCancels};

/// The largest copy of one of these states at the start of a segment, as a part of the segment.
const COPY_PART: u64 = 4 * SNAPSHOT_PART;

impl Spool {
    /// The cancels that wait for their articles.
    pub fn pending_cancels(&self) -> Result<&PendingCancels, Error> {
        self.states.pending_cancels.state()
    }

    /// Keeps a cancel until its article arrives. Waits for the next commit. Returns why it is not kept, if it is not.
    pub fn add_pending_cancel(&mut self, cancel: &PendingCancel) -> Result<Option<NotKept>, Error> {
        if let Some(why) = self.pending_cancels()?.not_kept(cancel) {
            return Ok(Some(why));
        }
        let mut line = Vec::new();
        cancel.push_line(&mut line);
        self.change_pending_cancels(&line)?;
        Ok(None)
    }

    /// Logs and applies the text of a record.
    pub(super) fn change_pending_cancels(&mut self, text: &[u8]) -> Result<(), Error> {
        self.make_room_for_state(text.len())?;
        self.states.pending_cancels.prepare()?;
        self.log_state_text(Kind::PendingCancel, text);
        self.states.pending_cancels.add(text)
    }

    /// The serial numbers of checkgroups.
    pub fn serials(&self) -> Result<&Serials, Error> {
        self.states.serials.state()
    }

    /// Keeps a serial number. Waits for the next commit. A newer one stays.
    pub fn keep_serial(&mut self, serial: &Serial) -> Result<(), Error> {
        self.change_serials(&serial.lines())
    }

    /// Logs and applies the text of a record.
    pub(super) fn change_serials(&mut self, text: &[u8]) -> Result<(), Error> {
        self.make_room_for_state(text.len())?;
        self.states.serials.prepare()?;
        self.log_state_text(Kind::Serials, text);
        self.states.serials.add(text)
    }

    /// Changes lines of `newsgroups` and `active.times`: in the files at once, durably, and in the log with the next commit. A crash in
    /// between leaves a line too many, and the message comes again.
    pub fn edit_groups(&mut self, edits: &GroupEdits<'_>) -> Result<(), Error> {
        for (file, record) in edits.records() {
            self.change_group_file(file, &record)?;
        }
        Ok(())
    }

    /// Applies and logs the text of a record.
    pub(super) fn change_group_file(
        &mut self,
        file: GroupFile,
        record: &[u8],
    ) -> Result<(), Error> {
        if record.is_empty() {
            return Ok(());
        }
        let text = match file.read(&self.segments, &self.dir)? {
            Some(text) => text,
            None => file.fold(&self.segments, &self.dir)?,
        };
        let changed = apply(&text, record);
        if changed != text {
            file.write(&self.segments, &self.dir, &changed)?;
        }
        if record.starts_with(WHOLE_COPY) {
            // What the next segment begins with, unless that is the same.
            return match changed != text && record.len() <= self.copy_bytes_max() {
                true => self.log_in_room(file.kind, record),
                false => Ok(()),
            };
        }
        let mut rest = record;
        while !rest.is_empty() {
            let end = rest
                .get(PIECE_BYTES..)
                .and_then(|tail| memchr::memchr(b'\n', tail))
                .map_or(rest.len(), |at| PIECE_BYTES + at + 1);
            let (piece, tail) = rest.split_at_checked(end).unwrap_or((rest, b""));
            self.log_in_room(file.kind, piece)?;
            rest = tail;
        }
        Ok(())
    }

    fn log_in_room(&mut self, kind: Kind, text: &[u8]) -> Result<(), Error> {
        self.make_room_for_state(text.len())?;
        self.log_state_text(kind, text);
        Ok(())
    }

    fn copy_bytes_max(&self) -> usize {
        (self.art.header.span / COPY_PART) as usize
    }

    /// Restores missing group files from the log.
    pub(crate) fn restore_group_files(&mut self) -> Result<(), Error> {
        for file in GROUP_FILES {
            if file
                .read(&self.segments, &self.dir)
                .is_ok_and(|text| text.is_none())
            {
                let text = file.fold(&self.segments, &self.dir)?;
                if !text.is_empty() {
                    file.write(&self.segments, &self.dir, &text)?;
                    let notice = format!("{} was missing: restored from the log", file.name);
                    self.notices.push(notice.into());
                }
            }
        }
        Ok(())
    }

    /// Compares the files with the log, as `segments` reads it.
    pub(crate) fn check_states(
        &mut self,
        segments: &Segments,
        report: &mut Report,
        repair: bool,
    ) -> Result<(), Error> {
        self.states.check(segments, report, repair)?;
        if self.options.follows_log {
            self.states.applied_entry.check(segments, report, repair)?;
        }
        for file in GROUP_FILES {
            let path = self.dir.join(file.name);
            let is_missing = read_whole(&**segments.disk(), &path).is_ok_and(|text| text.is_none());
            if is_missing && !file.fold(segments, &self.dir)?.is_empty() {
                report.tell(&path, 0, "it is missing; the log has its lines", repair);
            }
        }
        match repair {
            true => self.restore_group_files(),
            false => Ok(()),
        }
    }

    /// As [`Spool::make_room`], for a record with a text.
    pub(super) fn make_room_for_state(&mut self, text_bytes: usize) -> Result<(), Error> {
        self.make_room(text_bytes as u64 + 256)
    }

    pub(super) fn log_state_text(&mut self, kind: Kind, text: &[u8]) {
        let commit = self.commit_of_record();
        record::push_text(self.art.pending.out(), kind, commit, text);
    }

    /// Logs whole copies. Of pending cancels that would not fit, the oldest are dropped.
    pub(crate) fn log_control_state(&mut self) -> Result<(), Error> {
        let bytes_max = self.copy_bytes_max();
        let cancels = self.states.pending_cancels.copy(bytes_max)?;
        self.log_state_text(Kind::PendingCancel, &cancels);
        let serials = self.states.serials.copy(bytes_max)?;
        self.log_state_text(Kind::Serials, &serials);
        for (kind, copy) in self.group_copies() {
            self.log_state_text(kind, &copy);
        }
        Ok(())
    }

    /// Whole copies of the group files, with what the administrator edited. One that is too large or cannot be read is left out: earlier
    /// records remain the newest.
    pub(super) fn group_copies(&self) -> Vec<(Kind, Vec<u8>)> {
        let mut copies = Vec::new();
        for file in GROUP_FILES {
            if let Ok(text) = file.read(&self.segments, &self.dir) {
                let copy = [WHOLE_COPY, &text.unwrap_or_default()].concat();
                if copy.len() <= self.copy_bytes_max() {
                    copies.push((file.kind, copy));
                }
            }
        }
        copies
    }
}
