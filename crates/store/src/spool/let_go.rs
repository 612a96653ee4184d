//! Old segments go: the log behind them must say all that is needed of them.

use std::collections::BTreeMap;

use crate::Error;
use crate::expiry::state::END_OF_COPY;
use crate::history::cancels::{CancelLine, Cancels};
use crate::index::watermark::Watermark;
use crate::io::disk::Open;
use crate::io::replace::replace;
use crate::log::record::{Kind, Record};
use crate::log::segment::SEGMENT_HEADER_BYTES;
use crate::log::segments::{SegmentFile, base_of};
use crate::log::walk::{Step, Walk};
use crate::spool::expire::PIECE_BYTES;
use crate::spool::{SNAPSHOT_PART, Spool};

impl Spool {
    /// Logs copies of active and of what has expired, so that nothing before them is needed for either.
    pub(crate) fn log_state(&mut self) -> Result<(), Error> {
        self.log_active();
        self.log_control_state()?;
        let lines = self.copy_lines()?;
        if lines.len() as u64 > self.art.header.span / SNAPSHOT_PART {
            // As with an active file that is too large for its segments: the old segments stay.
            return self.log_applied_entry();
        }
        let mut rest = lines.as_slice();
        while !rest.is_empty() {
            let end = rest
                .get(PIECE_BYTES..)
                .and_then(|tail| memchr::memchr(b'\n', tail))
                .map_or(rest.len(), |at| PIECE_BYTES + at + 1);
            let (piece, tail) = rest.split_at_checked(end).unwrap_or((rest, b""));
            self.log_text(Kind::LowMarks, piece);
            rest = tail;
        }
        // The last one: after an interruption the log ends behind such a record.
        self.log_applied_entry()
    }

    /// Bytes of the copies that a segment begins with.
    pub(crate) fn copies_bytes(&self) -> Result<u64, Error> {
        let active = self.active.table.image().len() + self.copy_lines()?.len();
        let groups: usize = self.group_copies().iter().map(|(_, copy)| copy.len()).sum();
        Ok((active + groups) as u64)
    }

    fn copy_lines(&self) -> Result<Vec<u8>, Error> {
        let mut lines = Vec::new();
        self.expired.state()?.push_lines(&mut lines);
        lines.extend_from_slice(END_OF_COPY);
        Ok(lines)
    }

    /// Prepares for segments to go for good: their cancels of articles in segments that stay are logged again, the log
    /// behind them has copies of active and of what has expired, and no restart will look for them. False: it has not,
    /// the segments are too small for such copies.
    pub(crate) fn let_go(&mut self, dead: &[u64]) -> Result<bool, Error> {
        let Some(&newest) = dead.iter().max() else {
            return Ok(true);
        };
        if !self.has_copy_behind(newest)? {
            return Ok(false);
        }
        let bases = self.segments.bases()?;
        let stays = |position: u64| {
            let base = base_of(&bases, position);
            base.is_some_and(|base| base < newest && !dead.contains(&base))
        };
        let text = self.cancels_text()?;
        // Of each position the last line counts, be it that the article was restored.
        let mut last = BTreeMap::new();
        for (_, line) in crate::history::lines(&text) {
            if let Some(parsed) = CancelLine::parse(line) {
                last.insert(parsed.position.0, line);
            }
        }
        for (position, line) in last {
            if stays(position) {
                self.make_room(line.len() as u64 + 256)?;
                self.log_text(Kind::Cancel, &[line, b"\n"].concat());
            }
        }
        // Once for all of it: the syncs of a checkpoint are most of the time for which expire holds the lock.
        self.commit()?;
        self.checkpoint_if_behind()?;
        Ok(true)
    }

    /// Writes `cancels` anew without those of segments before the oldest that is left, once they are the greater part of it.
    /// Killed in between, the next start makes it again from the log.
    pub(crate) fn prune_cancels(&mut self) -> Result<(), Error> {
        let bases = self.segments.bases()?;
        let oldest = bases.first().copied().unwrap_or(0);
        let text = self.cancels_text()?;
        let stays =
            |line: &[u8]| CancelLine::parse(line).is_some_and(|line| line.position.0 >= oldest);
        let kept: Vec<u8> = text
            .split_inclusive(|&b| b == b'\n')
            .filter(|line| stays(line))
            .flatten()
            .copied()
            .collect();
        if text.is_empty() || kept.len() * 2 > text.len() {
            return Ok(());
        }
        let path = self.derived.cancels.path.clone();
        replace(&*self.disk, &path, |file| file.write_at(&kept, 0))?;
        self.derived.adopt_cancels(&*self.disk, &kept)?;
        self.publish_files();
        self.publish()?;
        self.checkpoint()
    }

    fn cancels_text(&self) -> Result<Vec<u8>, Error> {
        let cancels = &self.derived.cancels;
        let mut text = vec![0; cancels.end as usize];
        let got = cancels
            .file
            .read_at(&mut text, 0)
            .map_err(|source| Error::io("read", &cancels.path, source))?;
        text.truncate(got);
        Cancels::check(&cancels.path, &text, cancels.end)?;
        Ok(text)
    }

    /// Sees to it that nothing in the segments up to `newest` is needed for active, for what has expired, or by a restart.
    /// False: that cannot be, the segments are too small for the copies.
    pub(crate) fn stand_alone_behind(&mut self, newest: u64) -> Result<bool, Error> {
        if !self.has_copy_behind(newest)? {
            return Ok(false);
        }
        self.commit()?;
        self.checkpoint_if_behind()?;
        Ok(true)
    }

    /// True when a segment behind `newest` begins with copies; if none does, a new segment is begun.
    fn has_copy_behind(&mut self, newest: u64) -> Result<bool, Error> {
        let bases = self.segments.bases()?;
        if self.has_copy_after(newest, &bases)? {
            return Ok(true);
        }
        let (active, lines) = (self.active.table.image().len(), self.copy_lines()?.len());
        if active.max(lines) as u64 >= self.options.segment_bytes / SNAPSHOT_PART {
            return Ok(false);
        }
        self.seal_now()?;
        self.begins_with_copy(self.art.header.base)
    }

    /// Seals the current segment, so that its dead space can be returned, if that `is_worth` it or a new segment would be smaller. Returns
    /// whether it did.
    pub(crate) fn seal_for_reclaim(&mut self, is_worth: bool) -> Result<bool, Error> {
        let is_due = is_worth || self.art.append.end >= self.segment_size()?;
        if is_due {
            self.commit()?;
            // Shrinking rewrites its rows.
            self.begin_segment()?;
            self.commit()?;
            self.checkpoint()?;
        }
        Ok(is_due)
    }

    /// Makes a checkpoint if there was a commit since the last one.
    pub(crate) fn checkpoint_if_behind(&mut self) -> Result<(), Error> {
        let mark = self.mark();
        let is_same = |known: Watermark| {
            let sequence = known.sequence;
            known == Watermark { sequence, ..mark }
        };
        match self.index.checkpoint().is_some_and(is_same) {
            true => Ok(()),
            false => self.checkpoint(),
        }
    }

    /// Seals the current segment, whatever waits.
    pub(crate) fn seal_now(&mut self) -> Result<(), Error> {
        self.commit()?;
        self.seal()?;
        self.commit()?;
        Ok(())
    }

    fn has_copy_after(&self, base: u64, bases: &[u64]) -> Result<bool, Error> {
        for &later in bases.iter().rev().take_while(|later| **later > base) {
            if self.begins_with_copy(later)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// True when a segment begins with whole copies of active and of what has expired.
    fn begins_with_copy(&self, base: u64) -> Result<bool, Error> {
        let path = self.segments.path(base, SegmentFile::Art);
        let at = |source| Error::io("read", &path, source);
        let file = self
            .segments
            .open(base, SegmentFile::Art, Open::Read)
            .map_err(at)?;
        let mut walk = Walk::new(&*file, SEGMENT_HEADER_BYTES, u64::MAX).map_err(at)?;
        let mut has_active = false;
        while let Some(Step::Record(_, record)) = walk.next().map_err(at)? {
            match record.head.kind {
                Kind::Active => has_active = true,
                Kind::LowMarks if ends_copy(&record) => return Ok(has_active),
                kind if kind.is_state() => {}
                _ => break,
            }
        }
        Ok(false)
    }
}

fn ends_copy(record: &Record<'_>) -> bool {
    record.line().ends_with(END_OF_COPY)
}
