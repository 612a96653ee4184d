//! The removals since an earlier snapshot: for copies of articles outside the store, which lose what the store loses.

use std::sync::Arc;

use crate::history::cancels::CancelLine;
use crate::history::lines;
use crate::io::disk::Open;
use crate::read::snapshot::Snapshot;
use crate::{Error, HistoryLine, Position};

/// The removals that a snapshot knows: equal if nothing was removed between two snapshots.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removals {
    /// Identity of the file `expired`; zeros if there is none.
    pub expired: [u64; 3],
    /// The end of the published cancels in their file.
    pub cancels_end: u64,
    /// The offset of the last one in the file, and the cancelled position: they tell whether the file was rewritten.
    pub last_cancel: (u64, u64),
}

impl Snapshot {
    /// Whether anything was removed since then. Reads nothing.
    pub fn has_removals_since(&self, since: &Removals) -> bool {
        let expired = self.expired_identity.unwrap_or_default();
        (expired, self.log.mark.cancels_end) != (since.expired, since.cancels_end)
    }

    /// The removals so far, and the history lines of the articles that were cancelled since earlier ones. No lines: these cannot be told,
    /// or expire has decided since.
    ///
    /// # Errors
    /// The file of cancels or a history file cannot be read.
    pub fn removals(
        &self,
        since: Option<&Removals>,
    ) -> Result<(Removals, Option<Vec<HistoryLine<'_>>>), Error> {
        let expired = self.expired_identity.unwrap_or_default();
        let (from, known) = since.map_or((0, 0), |since| since.last_cancel);
        let mut last_cancel = (0, 0);
        let mut is_same_file = since.is_some_and(|since| since.expired == expired);
        let mut cancelled = Vec::new();
        let text = self.cancels_text(from)?;
        // It was replaced by a shorter one.
        is_same_file &= from + text.len() as u64 == self.log.mark.cancels_end;
        for (number, (offset, line)) in lines(&text).enumerate() {
            let Some(parsed) = CancelLine::parse(line) else {
                is_same_file = false;
                continue;
            };
            let (position, id) = (parsed.position.0, parsed.id);
            last_cancel = (from + offset, position);
            if number == 0 && known != 0 {
                is_same_file &= position == known;
            } else if is_same_file && !parsed.is_restored {
                let line = self.history_line(id)?;
                match line.filter(|line| line.position == Some(Position(position))) {
                    Some(line) => cancelled.push(line),
                    None => is_same_file = false,
                }
            }
        }
        // Restored articles are visible again.
        cancelled.retain(|line| line.position.is_some_and(|at| self.is_cancelled(at)));
        let removals = Removals {
            expired,
            cancels_end: self.log.mark.cancels_end,
            last_cancel,
        };
        Ok((removals, is_same_file.then_some(cancelled)))
    }

    /// The lines of `cancels`, as far as they are published: see [`CancelLine`]. The last line of a position counts.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn removed_lines(&self) -> Result<Vec<u8>, Error> {
        self.cancels_text(0)
    }

    /// Counts articles that can still be restored at a time as visible, so that their space stays.
    pub(crate) fn spare_restorable(&mut self, now: i64) {
        let log = Arc::make_mut(&mut self.log);
        log.cancelled = Arc::new(log.cancelled.without_restorable(now));
    }

    /// The file of cancels from an offset on, as far as it is published.
    fn cancels_text(&self, from: u64) -> Result<Vec<u8>, Error> {
        let end = self.log.mark.cancels_end;
        let mut text = vec![0; end.saturating_sub(from) as usize];
        if text.is_empty() {
            return Ok(text);
        }
        let path = self.dir.join("cancels");
        let at = |source| Error::io("read", &path, source);
        let file = self
            .log
            .segments
            .disk()
            .open(&path, Open::Read)
            .map_err(at)?;
        let got = file.read_at(&mut text, from).map_err(at)?;
        text.truncate(got);
        Ok(text)
    }
}
