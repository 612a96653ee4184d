//! The replay: derived files and states learn the part of the log that they lack.

use crate::Error;
use crate::history::HistoryLine;
use crate::history::cancels::{CancelLine, Cancels};
use crate::io::disk::Open;
use crate::io::replace::{read_whole, replace};
use crate::log::place::LogPlace;
use crate::log::record::{Kind, Record};
use crate::log::walk::{Step, Walk};
use crate::notice::Notice;
use crate::overview::row::push_row_of;
use crate::progress::Work;
use crate::spool::Spool;
use crate::spool::recover::plan::{OldCancels, SegmentPlace, SegmentReplay};
use crate::spool::recover::replayed_groups::ReplayedGroups;

/// Derived lines and rows are written out each time this many bytes of them wait during a replay.
const REPLAY_PIECE_BYTES: usize = 8 << 20;

impl Spool {
    /// Leaves out the cancels of articles behind the end of the log, which lost its end: what is filed at their positions is something else.
    pub(super) fn forget_cancels_behind_end(&mut self) -> Result<(), Error> {
        let end = self.end();
        if self.derived.cancelled.next_from(end).is_none() {
            return Ok(());
        }
        self.derived.flush()?;
        let text = read_whole(&*self.disk, &self.derived.cancels.path)?.unwrap_or_default();
        let is_before =
            |line: &&[u8]| CancelLine::parse(line).is_some_and(|line| line.position < end);
        let lines = text.split_inclusive(|&byte| byte == b'\n');
        let kept: Vec<&[u8]> = lines.filter(is_before).collect();
        self.put_cancels(&kept.concat())
    }

    /// Replays the current segment from its `end` on, and cuts what a torn commit left. What is doubtful is written again:
    /// a sync of it may have failed, and the next would not tell. Returns the articles.
    pub(super) fn replay(
        &mut self,
        replay: &SegmentReplay,
        groups: &mut ReplayedGroups,
        work: &mut Work,
    ) -> Result<u64, Error> {
        self.derived.cut()?;
        let path = self.art.append.path.clone();
        let at = |doing| {
            let path = path.clone();
            move |source| Error::io(doing, &path, source)
        };
        let file = self.disk.open(&path, Open::Read).map_err(at("open"))?;
        let known = replay.known;
        let mut end = self.sound_end(&*file, replay)?;
        if self.options.follows_log && replay.place == SegmentPlace::Newest {
            end = self.end_of_entries(&*file, self.art.append.end, end)?;
        }
        let mut walk = Walk::new(&*file, self.art.append.end, end).map_err(at("read"))?;
        let mut articles = 0;
        while let Some(step) = walk.next().map_err(at("read"))? {
            if let Step::Record(offset, record) = step {
                work.advance(u64::from(record.head.length));
                self.states.replay(record.head.kind);
                articles += u64::from(record.head.kind == Kind::Article);
                self.commit_sequence = self.commit_sequence.max(record.head.commit_sequence);
                self.apply(offset, &record)?;
                if offset >= known.settled {
                    self.apply_to_state(offset, &record, groups)?;
                }
                if self.derived.pending_bytes() > REPLAY_PIECE_BYTES {
                    self.derived.flush()?;
                }
            }
        }
        self.derived.flush()?;
        if self.art.append.length()? != end {
            self.art.append.cut(end)?;
        }
        if let Some(from) = known.doubtful {
            let is_verified = self.art.append.write_again(from, end)?;
            if !is_verified {
                let path = self.art.append.path.clone();
                self.notices.push(Notice::Unverified(path));
            }
        }
        // From now on these articles count as filed, so they must be on the disk before anything says so.
        self.art.append.sync()?;
        self.art.append.end = end;
        Ok(articles)
    }

    /// Makes the derived files know one record of the current segment.
    fn apply(&mut self, offset: u64, record: &Record<'_>) -> Result<(), Error> {
        if record.head.kind.has_history_line() {
            let Some(line) = HistoryLine::parse(record.line()) else {
                return Ok(());
            };
            if record.head.kind == Kind::Article {
                self.derived.rows.add(offset as u32, line.links(), |out| {
                    push_row_of(out, record, line.id);
                });
            }
            let address = self.art.header.base + self.derived.next_line();
            match line.arrival {
                Some(arrival) if record.head.kind == Kind::Article => {
                    self.derived
                        .push_filed(record.line(), arrival, (line.expires, line.is_late));
                }
                _ => self.derived.push_line(record.line()),
            }
            self.remember_address(self.hash(line.id)?, address)?;
        }
        if record.head.kind == Kind::Cancel
            && let Some(line) =
                CancelLine::parse(record.line().strip_suffix(b"\n").unwrap_or_default())
        {
            self.derived.push_cancel(&line);
        }
        Ok(())
    }

    /// Makes `active` and `expired` know it.
    fn apply_to_state(
        &mut self,
        offset: u64,
        record: &Record<'_>,
        groups: &mut ReplayedGroups,
    ) -> Result<(), Error> {
        if record.head.kind == Kind::LowMarks {
            self.expired.state_mut()?.apply(record.line());
        }
        let place = LogPlace {
            base: self.art.header.base,
            offset,
        };
        groups.apply(&mut self.active.table, &self.segments, place, record)
    }

    /// Makes `cancels` again from the log.
    pub(crate) fn rewrite_cancels(&mut self) -> Result<(), Error> {
        let text = self.collect_cancels(OldCancels::None)?;
        self.put_cancels(&text)?;
        self.publish()
    }

    /// The cancels of every segment, for a file that is gone, or may lack some.
    pub(super) fn collect_cancels(&mut self, old: OldCancels) -> Result<Vec<u8>, Error> {
        let known = match old {
            OldCancels::StandIn => read_whole(&*self.disk, &self.derived.cancels.path)?,
            OldCancels::None => None,
        };
        let known = known.filter(|text| Cancels::first_bad(text).is_none());
        let (mut older, mut newer, mut is_partial) = (Vec::new(), Vec::new(), false);
        for base in self.segments.bases()? {
            let before = newer.len();
            let each = |line: CancelLine<'_>| line.push(&mut newer);
            match Cancels::each_of_segment(&self.segments, base, each) {
                Err(error) if error.is_of_object_store() && known.is_some() => {
                    newer.truncate(before);
                    older.append(&mut newer);
                    is_partial = true;
                }
                done => done?,
            }
        }
        Ok(match known.filter(|_| is_partial) {
            Some(known) => Cancels::of_parts(&older, &known, &newer),
            None => newer,
        })
    }

    /// Puts a file with these lines in the place of `cancels`: until then the old one is whole.
    pub(super) fn put_cancels(&mut self, lines: &[u8]) -> Result<(), Error> {
        let (mut known, mut text) = (Cancels::default(), Vec::new());
        for (_, line) in crate::history::lines(lines) {
            if let Some(line) = CancelLine::parse(line)
                && known.apply(&line)
            {
                line.push(&mut text);
            }
        }
        replace(&*self.disk, &self.derived.cancels.path, |file| {
            file.write_at(&text, 0)
        })?;
        self.derived.adopt_cancels(&*self.disk, &text)
    }
}
