//! What the one writer does for expire: takes a decision over, in milliseconds, and keeps the log self-contained when old
//! segments go.

use crate::expiry::state::{END_OF_COPY, push_cut, push_link};
use crate::io::disk::Open;
use crate::io::replace::replace;
use crate::log::record::{Kind, Record};
use crate::log::segment::SEGMENT_HEADER_BYTES;
use crate::log::segments::{SegmentFile, base_of};
use crate::log::walk::{Step, Walk};
use crate::spool::{Committed, SNAPSHOT_PART, Spool};
use crate::{Error, ExpiryState, reclaim::unreclaimed, spool::recover};

/// Lines of one record of expire, bytes: what fits in the smallest segment with room to spare.
const PIECE_BYTES: usize = 128 << 10;

/// What one run of expire decided. Numbers are of articles that exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExpiryDecision {
    /// Kept although the group's cut lies above: group and number.
    pub survivors: Vec<(Vec<u8>, u64)>,
    /// Everything of a group below this number goes.
    pub cuts: Vec<(Vec<u8>, u64)>,
    /// Gone one by one: group and number.
    pub gone: Vec<(Vec<u8>, u64)>,
    /// Ids that arrived before this are forgotten once their articles are gone. `None`: as before.
    pub forget_before: Option<i64>,
    /// Below this position nothing of a group is left to be decided by its default.
    pub settled: Vec<(Vec<u8>, u64)>,
    /// The bases of the segments in which something goes: their space is to be given back.
    pub touched: Vec<u64>,
}

impl ExpiryDecision {
    /// True when there is nothing to take over.
    pub fn is_empty(&self) -> bool {
        self.removes_nothing()
            && self.forget_before.is_none()
            && self.settled.is_empty()
            && self.survivors.is_empty()
    }

    /// True when no article goes.
    pub fn removes_nothing(&self) -> bool {
        self.cuts.is_empty() && self.gone.is_empty()
    }
}

impl ExpiryState {
    /// What will have expired when `expiry` is taken over.
    pub fn after(&self, expiry: &ExpiryDecision) -> ExpiryState {
        let mut lines = Vec::new();
        for (group, number) in &expiry.survivors {
            push_link(&mut lines, b'+', group, *number);
        }
        for (group, cut) in &expiry.cuts {
            push_cut(&mut lines, group, *cut, *cut);
        }
        for (group, number) in &expiry.gone {
            push_link(&mut lines, b'-', group, *number);
        }
        let mut told = self.clone();
        told.apply(&lines);
        told
    }
}

impl Spool {
    /// What has expired so far.
    pub fn expired(&self) -> Result<&ExpiryState, Error> {
        self.expired.state()
    }

    /// Takes over what a run of expire decided, raises the low marks, and commits. From then on the articles are gone; their
    /// space is given back later ([`crate::reclaim`]).
    pub fn expire(&mut self, expiry: &ExpiryDecision) -> Result<Committed, Error> {
        self.check_cuts(&expiry.cuts)?;
        if !expiry.touched.is_empty() {
            let added = unreclaimed::add(&*self.disk, &self.dir, &expiry.touched);
            if let Err(error) = added {
                // Without the file all segments are looked at. On a full disk that is all that can be done.
                unreclaimed::forget(&*self.disk, &self.dir).map_err(|_| error)?;
            }
        }
        // Whatever part of this an interruption leaves in the log, nothing goes that should stay: what survives comes
        // before the cut that would take it.
        let mut text = Vec::new();
        for (group, number) in &expiry.survivors {
            push_link(&mut text, b'+', group, *number);
            self.log_when_long(&mut text)?;
        }
        self.log_lines(&mut text)?;
        let told = match expiry.removes_nothing() {
            // Nobody asks: the loops below have nothing to do.
            true => ExpiryState::fresh(),
            false => self.expired.state()?.after(expiry),
        };
        for (group, _) in &expiry.cuts {
            push_cut(&mut text, group, told.cut(group), told.low(group));
            self.log_when_long(&mut text)?;
        }
        for (group, number) in &expiry.gone {
            push_link(&mut text, b'-', group, *number);
            self.log_when_long(&mut text)?;
        }
        let mut last: &[u8] = b"";
        for (group, _) in &expiry.gone {
            if last != group.as_slice() {
                // The low mark may have been one of those.
                push_cut(&mut text, group, told.cut(group), told.low(group));
                self.log_when_long(&mut text)?;
            }
            last = group;
        }
        if let Some(time) = expiry.forget_before {
            text.extend_from_slice(b"/expired/ ");
            article::decimal::push_signed(&mut text, time);
            text.push(b'\n');
        }
        self.log_lines(&mut text)?;
        for (group, position) in &expiry.settled {
            self.expired.state_mut()?.settle(group, *position);
        }
        if self.pending_bytes() == 0 {
            self.expired.flush()?;
        }
        self.commit()
    }

    /// No cut may lie above the next number: articles to come would be gone before they came.
    fn check_cuts(&self, cuts: &[(Vec<u8>, u64)]) -> Result<(), Error> {
        let table = &self.active.table;
        for (group, cut) in cuts {
            if let Some(id) = table.find(group)
                && *cut > table.high(id).saturating_add(1)
            {
                return Err(Error::Damaged {
                    path: self.segments.folder().to_owned(),
                    offset: 0,
                    what: "an overview row has a number that active never gave",
                });
            }
        }
        Ok(())
    }

    fn log_when_long(&mut self, text: &mut Vec<u8>) -> Result<(), Error> {
        if text.len() < PIECE_BYTES {
            return Ok(());
        }
        self.log_lines(text)
    }

    /// Logs lines and makes them count.
    pub(crate) fn log_lines(&mut self, text: &mut Vec<u8>) -> Result<(), Error> {
        if text.is_empty() {
            return Ok(());
        }
        self.make_room(text.len() as u64 + 256)?;
        self.log_text(Kind::LowMarks, text);
        self.expired.state_mut()?.apply(text);
        recover::apply_low_marks(&mut self.active.table, text);
        text.clear();
        Ok(())
    }

    /// Logs copies of active and of what has expired, so that nothing before them is needed for either.
    pub(crate) fn log_state(&mut self) -> Result<(), Error> {
        self.log_active();
        let lines = self.copy_lines()?;
        if lines.len() as u64 > self.art.header.span / SNAPSHOT_PART {
            // As with an active file that is too large for its segments: the old segments stay.
            return Ok(());
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
        Ok(())
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
        for (_, line) in crate::history::lines(&text) {
            if crate::Cancels::parse_line(line).is_some_and(|(position, _)| stays(position)) {
                self.make_room(line.len() as u64 + 256)?;
                self.log_text(Kind::Cancel, &[line, b"\n"].concat());
            }
        }
        // Once for all of it: the syncs of a checkpoint are most of the time for which expire holds the lock.
        self.commit()?;
        self.checkpoint()?;
        Ok(true)
    }

    /// Writes `cancels` anew without those of segments before the oldest that is left, once they are the greater part of it.
    /// Killed in between, the next start makes it again from the log.
    pub(crate) fn prune_cancels(&mut self) -> Result<(), Error> {
        let bases = self.segments.bases()?;
        let oldest = bases.first().copied().unwrap_or(0);
        let text = self.cancels_text()?;
        let stays = |line: &[u8]| {
            crate::Cancels::parse_line(line).is_some_and(|(position, _)| position >= oldest)
        };
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
        Ok(text)
    }

    /// Sees to it that nothing in the segments up to `newest` is needed for active, for what has expired, or by a restart.
    /// False: that cannot be, the segments are too small for the copies.
    pub(crate) fn stand_alone_behind(&mut self, newest: u64) -> Result<bool, Error> {
        if !self.has_copy_behind(newest)? {
            return Ok(false);
        }
        self.commit()?;
        self.checkpoint()?;
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
                Kind::LowMarks => {}
                _ => break,
            }
        }
        Ok(false)
    }
}

fn ends_copy(record: &Record<'_>) -> bool {
    record.line().ends_with(END_OF_COPY)
}
