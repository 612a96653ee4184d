//! The replay: derived files and states learn the part of the log that they lack.

use crate::Error;
use crate::history::HistoryLine;
use crate::history::cancels::{CancelLine, Cancels};
use crate::history::sealed::SealedHistory;
use crate::index::watermark::Watermark;
use crate::index::{self, Index};
use crate::io::append_file::renew;
use crate::io::disk::Open;
use crate::io::replace::{read_whole, replace};
use crate::log::record::{Kind, Record};
use crate::log::segments::SegmentFile;
use crate::log::walk::{Step, Walk};
use crate::overview::row::push_row_of;
use crate::progress::Work;
use crate::spool::Spool;
use crate::spool::derived::Derived;
use crate::spool::recover::lost_end;
use crate::spool::recover::open_art;
use crate::spool::recover::replayed_groups::ReplayedGroups;
use crate::spool::recover::start::{Known, Start, art_length};

/// Derived lines and rows are written out each time this many bytes of them wait during a replay.
const REPLAY_PIECE_BYTES: usize = 8 << 20;
/// The end of the notice that tells how many articles were replayed.
pub const TAKEN_UP: &str = "taken up again from the log after an interruption";

impl Spool {
    /// Replays what the derived files lack, through all later segments. Returns whether `active` was edited, as the groups of the log tell.
    pub(super) fn catch_up(&mut self, mut start: Start, had_cancels: bool) -> Result<bool, Error> {
        if start.sure && self.ends_agree()? && self.end_in_lines(&start.mark)? {
            return Ok(false);
        }
        if let Some(whole) = start.whole.filter(|_| lost_end::is_listed(self.options)) {
            lost_end::list_behind(&self.segments, &self.dir, whole, &mut self.notices)?;
        }
        let mut from = start.mark;
        let length = self.art.append.length()?;
        if length < from.art_end {
            if !self.options.repair {
                let path = self.art.append.path.clone();
                return Err(Error::Damaged {
                    path,
                    offset: length,
                    what: "it ends before what was committed to it",
                });
            }
            self.notices.push(format!(
                "{} lost its tail from byte {length} on",
                self.art.append.path.display()
            ));
            from = Watermark {
                cancels_end: from.cancels_end,
                ..Start::at(from.base).mark
            };
            start.anew |= start.sure;
        }
        let mut is_anew = false;
        if self.derived.his.length()? < from.his_end
            || self.derived.exp.length()? < from.exp_end
            || !self.derived.overview_ends_at(from.ovr_end)?
        {
            self.notices.push(format!(
                "the derived files of segment {:020} did not fit: made again from .art",
                from.base
            ));
            is_anew = true;
        } else if !self.end_in_lines(&start.mark)? {
            self.notices.push(format!(
                "segments/{:020}.his or .exp ends with bytes that are no history lines of the segment, as a file system can leave them after a power cut: \
                 made again from .art",
                from.base
            ));
            is_anew = true;
        }
        if is_anew {
            from = Watermark {
                cancels_end: from.cancels_end,
                ..Start::at(from.base).mark
            };
            start.anew |= start.sure;
        }
        let cancels_known = start.cancels_known && self.derived.were_cancels_whole;
        let mut cancels = None;
        if !cancels_known {
            from.cancels_end = 0;
            if start.cancels_known {
                self.notices
                    .push("cancels was damaged: made again from the log".into());
            }
            let collected = self.collect_cancels(had_cancels);
            if collected.is_err() && !had_cancels {
                // The next start must not take the file that this one made for the whole one.
                let _ = self.disk.remove(&self.derived.cancels.path);
            }
            cancels = Some(collected?);
        }
        if start.anew {
            self.begin_anew(&from, cancels_known)?;
        }
        self.derived = Derived::open(&self.segments, &self.dir, self.art.header, &from)?;
        if let Some(text) = cancels {
            self.put_cancels(&text)?;
        }
        self.art.append.end = from.art_end;
        let bases: Vec<u64> = self
            .segments
            .bases()?
            .into_iter()
            .filter(|&base| base > from.base)
            .collect();
        let mut groups = ReplayedGroups::default();
        let known = start.in_segment(from.base);
        let bytes = |base: &u64| art_length(&self.segments, *base).unwrap_or(0);
        let mut work = Work::begin("reading the log", || {
            let later: u64 = bases.iter().map(bytes).sum();
            later + bytes(&from.base).saturating_sub(from.art_end)
        });
        let mut articles = self.replay(bases.is_empty(), known, &mut groups, &mut work)?;
        for (place, &base) in bases.iter().enumerate() {
            self.derived.merge_overview(&*self.disk)?;
            self.derived.sync()?;
            let cancels_end = self.derived.cancels.end;
            let mark = Watermark {
                cancels_end,
                ..Start::at(base).mark
            };
            self.art = open_art(&self.segments, &mark, self.options)?;
            self.derived = Derived::open(&self.segments, &self.dir, self.art.header, &mark)?;
            self.sealed = SealedHistory::new(&self.segments, base);
            articles += self.replay(
                place + 1 == bases.len(),
                start.in_segment(base),
                &mut groups,
                &mut work,
            )?;
        }
        drop(work);
        self.forget_cancels_behind()?;
        let is_edited = groups.finish(&mut self.active.table);
        self.states.finish_replay(start.anew)?;
        if start.anew {
            self.restore_group_files()?;
        }
        if self.options.follows_log && !start.sure {
            self.take_state_from_log()?;
        }
        if !start.sure {
            // Where a number in it did not change it may still not be on the disk.
            self.active.rewrite()?;
        }
        // A file put in its place just before the interruption may not be there for good yet.
        self.segments.sync()?;
        self.disk
            .sync_directory(&self.dir)
            .map_err(|source| Error::io("sync", &self.dir, source))?;
        // Before anything is filed: the log may be shorter than it was.
        self.index.note_replay(self.end().0);
        self.publish()?;
        self.checkpoint()?;
        if !self.index.is_placed() {
            self.index.publish(&*self.disk)?;
        }
        self.taken_up = articles;
        if articles > 0 {
            let what = match articles {
                1 => "1 article was".to_owned(),
                _ => format!("{articles} articles were"),
            };
            self.notices.push(format!("{what} {TAKEN_UP}"));
        }
        Ok(is_edited)
    }

    /// Leaves out the cancels of articles behind the end of the log, which lost its end: what is filed at their positions is something else.
    fn forget_cancels_behind(&mut self) -> Result<(), Error> {
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

    /// Puts new files in the place of the derived files of the segment, and begins a new index.
    fn begin_anew(&mut self, from: &Watermark, cancels_known: bool) -> Result<(), Error> {
        for file in SegmentFile::DERIVED {
            renew(&*self.disk, &self.segments.path(from.base, file), 0)?;
        }
        if cancels_known {
            renew(&*self.disk, &self.dir.join("cancels"), from.cancels_end)?;
        }
        if self.index.is_placed() {
            let key = *self.index.key()?;
            let path = self.dir.join(index::FILE);
            self.index = Index::of_lines(&*self.disk, &path, (key, None), |put| {
                self.sealed.each_line(put)
            })?;
        }
        Ok(())
    }

    fn ends_agree(&self) -> Result<bool, Error> {
        let ends = [
            &self.art.append,
            &self.derived.his,
            &self.derived.ovr,
            &self.derived.cancels,
            &self.derived.exp,
        ];
        if !self.derived.were_cancels_whole {
            return Ok(false);
        }
        for append in ends {
            if append.length()? != append.end {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether the history lines up to a mark end in lines; fsck, which compares all of them, does not ask.
    fn end_in_lines(&self, mark: &Watermark) -> Result<bool, Error> {
        Ok(self.options.is_fsck || self.derived.end_in_lines((mark.base, mark.art_end))?)
    }

    /// Replays the current segment from its `end` on, and cuts what a torn commit left. What is doubtful is written again:
    /// a sync of it may have failed, and the next would not tell. Returns the articles.
    fn replay(
        &mut self,
        last: bool,
        known: Known,
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
        let mut end = self.sound_end(&*file, last, known)?;
        if self.options.follows_log && last {
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
                self.notices.push(format!(
                    "{}: a sync failed, or the file system was mounted again, and the end of the log was written again; the file system does not let \
                     the disk itself be read, so that nothing verifies that the disk has it",
                    self.art.append.path.display()
                ));
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
        let place = (self.art.header.base, offset);
        groups.apply(&mut self.active.table, &self.segments, place, record)
    }

    /// Makes `cancels` again from the log.
    pub(crate) fn rewrite_cancels(&mut self) -> Result<(), Error> {
        let text = self.collect_cancels(false)?;
        self.put_cancels(&text)?;
        self.publish()
    }

    /// The cancels of every segment, for a file that is gone, or may lack some. If it `is_kept`, it stands in for segments that the object store does
    /// not give.
    fn collect_cancels(&mut self, is_kept: bool) -> Result<Vec<u8>, Error> {
        let known = match is_kept {
            true => read_whole(&*self.disk, &self.derived.cancels.path)?,
            false => None,
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
    fn put_cancels(&mut self, lines: &[u8]) -> Result<(), Error> {
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
