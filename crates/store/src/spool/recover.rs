//! Opening a news directory, and making the derived files agree with the log.
//!
//! Three cases. The index says that its marks are from this run of the machine, and every file ends where the marks say:
//! nothing to do. The files are longer (a program was killed) or the marks are from an earlier run (the power
//! failed): the log is replayed from the last mark that is sure. No index: it is made again from the history
//! lines, and the last segment is replayed whole.

use std::path::Path;

use groups::{Active, AddGroupError, Flag};

use article::decimal;
use article::message_id::HashKey;

pub use crate::check::derived_files::rebuild_derived;

use crate::expiry::state::ExpiryStateFile;
use crate::history::HistoryLine;
use crate::history::cancels::Cancels;
use crate::history::sealed::SealedHistory;
use crate::index::watermark::Watermark;
use crate::index::{self, Index};
use crate::io::append_file::renew;
use crate::io::disk::{Disk, Open};
use crate::io::lock::Lock;
use crate::log::art::Art;
use crate::log::record::{Kind, Record};
use crate::log::segment::{FIRST_BASE, SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::log::segments::{SegmentFile, Segments};
use crate::log::walk::{Step, Walk};
use crate::overview::row::push_row_of;
use crate::spool::active_file::ActiveFile;
use crate::spool::derived::Derived;
use crate::spool::{Options, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN, Spool};
use crate::{Error, Position, index::key, reclaim::unreclaimed};

/// Derived lines and rows are written out each time this many bytes of them wait during a replay.
const REPLAY_PIECE_BYTES: usize = 8 << 20;

/// What is being made when a program that holds the lock is killed.
const UNFINISHED: [&str; 3] = ["index.new", "index.key.new", "active.new"];

/// Opens the news directory `dir`.
pub fn open(
    segments: &Segments,
    dir: &Path,
    mut options: Options,
    lock: Lock,
) -> Result<Spool, Error> {
    options.segment_bytes = options
        .segment_bytes
        .clamp(SEGMENT_BYTES_MIN, SEGMENT_BYTES_MAX)
        .next_multiple_of(4096);
    let disk = segments.disk().clone();
    let boot = disk.boot_id();
    let index_path = dir.join(index::FILE);
    let mut notices = Vec::new();
    remove_unfinished(&*disk, dir)?;
    // An index without a mark is one whose making was cut short, by an older release.
    let mut found = Index::open(&*disk, &index_path, Open::Write)?
        .filter(|index| index.applied(boot).or(index.checkpoint()).is_some());
    let is_newest_lost = options.repair && !knows_segment(segments, &found)?;
    if is_newest_lost {
        found = None;
    }
    let start = match &found {
        Some(index) => Start::of(index, boot, &mut notices),
        None => Start::from_last(segments, dir, (options, is_newest_lost), &mut notices)?,
    };
    let active = open_active(segments, dir, &mut notices)?;
    notices.extend(
        active
            .table
            .bad_lines()
            .iter()
            .map(|fault| format!("{fault}: mend it, or run `broadsheet fsck --repair`")),
    );
    let key = key_of_index(&*disk, dir, found.as_ref(), options, &mut notices)?;
    let art = open_art(segments, &start.mark, options)?;
    let derived = Derived::open(segments, dir, art.header, &start.mark)?;
    let sealed = SealedHistory::new(segments, start.mark.base);
    let mut index = match found {
        Some(index) => index,
        // It gets its name when it is whole: if this is interrupted, it is made again from the beginning.
        None => Index::of_lines(&*disk, &index_path, (key, None), |put| {
            sealed.each_line(put)
        })?,
    };
    let is_of_another_key = !index.is_made_with(&key);
    index.set_key(key);
    let checkpointed = index
        .checkpoint()
        .filter(|mark| mark.base == start.mark.base)
        .map_or(SEGMENT_HEADER_BYTES, |mark| mark.art_end);
    let expired = ExpiryStateFile::new(&disk, dir);
    let mut spool = Spool {
        disk,
        dir: dir.to_owned(),
        segments: segments.clone(),
        options,
        boot,
        active,
        index,
        art,
        derived,
        sealed,
        expired,
        commit_sequence: 0,
        checkpointed,
        is_poisoned: false,
        notices,
        taken_up: 0,
        lock,
        publisher: None,
    };
    let is_edited = spool.active_is_edited(start.sure)?;
    if spool.expired.is_missing() {
        // A new news directory, or a lost file: made again from the log.
        if spool.index.published().is_some() {
            spool
                .notices
                .push("expired was missing: made again from the log".into());
        }
        let nothing_expired = spool.expired.state_mut()?.is_fresh();
        spool.expired.flush()?;
        if nothing_expired {
            unreclaimed::write(&*spool.disk, dir, &unreclaimed::Due::new())?;
        }
    }
    if is_of_another_key {
        // Its marks are good: nothing else has to be made again.
        spool.rebuild_index()?;
    }
    let caught_up = spool.catch_up(start);
    if caught_up.is_err() {
        spool.index.abandon(&*spool.disk);
    }
    caught_up?;
    if is_edited {
        spool.take_up_active()?;
    }
    Ok(spool)
}

/// Removes what a program that was killed had not finished. All these are written by who holds the lock.
fn remove_unfinished(disk: &dyn Disk, dir: &Path) -> Result<(), Error> {
    for name in UNFINISHED {
        let path = dir.join(name);
        match disk.remove(&path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io("remove", &path, source));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The key that ids are hashed with. Where there is none, a new one: of a new news directory, of one whose index an older release
/// made, or of one whose key was lost.
fn key_of_index(
    disk: &dyn Disk,
    dir: &Path,
    index: Option<&Index>,
    options: Options,
    notices: &mut Vec<String>,
) -> Result<HashKey, Error> {
    let key = match key::read(disk, dir) {
        Err(_) if options.repair => None,
        key => key?,
    };
    let is_right = |key: &HashKey| index.is_none_or(|index| index.is_made_with(key));
    if index.is_some_and(Index::is_unkeyed) {
        notices.push("the index is of an older release: made again, with a secret key".into());
    } else if !key.as_ref().is_some_and(is_right) && index.is_some() {
        notices.push("index.key was lost or changed: the index is made again with another".into());
    }
    match key {
        Some(key) => Ok(key),
        None => key::make(disk, dir),
    }
}

/// False when the segment that the index calls the current one is gone.
fn knows_segment(segments: &Segments, index: &Option<Index>) -> Result<bool, Error> {
    let bases = segments.bases()?;
    let marks = index
        .iter()
        .flat_map(|index| [index.published(), index.checkpoint()]);
    Ok(marks.flatten().all(|mark| bases.contains(&mark.base)))
}

/// Where the replay begins.
struct Start {
    mark: Watermark,
    /// The mark was set in this run of the machine: what is before it needs no look.
    sure: bool,
    /// The file `cancels` is good up to the mark; else the whole log is asked.
    cancels_known: bool,
    /// The index and the views of the segment are made anew, in the place of the old ones: somebody may have mapped those.
    anew: bool,
    /// Up to here the log was whole once.
    whole: Option<Place>,
    /// From here on the log was written in this run of the machine, and nobody knows whether the disk has it.
    doubtful: Option<Place>,
    /// Up to here `active` and `expired` know the log.
    settled: Option<Place>,
}

/// A segment's base and an offset in it.
type Place = (u64, u64);

fn place(mark: Watermark) -> Place {
    (mark.base, mark.art_end)
}

impl Start {
    fn at(base: u64) -> Start {
        let mark = Watermark {
            sequence: 1,
            base,
            art_end: SEGMENT_HEADER_BYTES,
            his_end: 0,
            ovr_end: 0,
            cancels_end: 0,
            exp_end: 0,
            newest: 0,
        };
        Start {
            mark,
            sure: false,
            cancels_known: true,
            anew: false,
            whole: None,
            doubtful: None,
            settled: None,
        }
    }

    /// As the index tells.
    fn of(index: &Index, boot: [u64; 2], notices: &mut Vec<String>) -> Start {
        let published = index.published().filter(|_| index.is_of(boot));
        let (applied, checkpoint) = (index.applied(boot), index.checkpoint());
        let start = Start::at(FIRST_BASE);
        let start = match (applied, published, checkpoint) {
            (Some(mark), ..) => Start {
                mark,
                sure: true,
                ..start
            },
            (None, Some(published), _) if index.is_doubted(boot) => {
                notices.push(
                    "an earlier sync failed or was cut short: what is derived from .art is made anew".into(),
                );
                let cancels_end = checkpoint.map_or(0, |mark| mark.cancels_end);
                Start {
                    mark: Watermark {
                        cancels_end,
                        ..Start::at(published.base).mark
                    },
                    cancels_known: checkpoint.is_some(),
                    anew: true,
                    ..start
                }
            }
            (None, _, checkpoint) => Start {
                mark: checkpoint.unwrap_or(start.mark),
                ..start
            },
        };
        let synced = index.synced().map(place);
        let is_perhaps_of_this_run = published.is_some() || boot == [0, 0];
        let first = (start.mark.base, SEGMENT_HEADER_BYTES);
        Start {
            whole: synced.max(published.map(place)),
            doubtful: is_perhaps_of_this_run.then(|| synced.unwrap_or(first)),
            settled: applied.or(checkpoint).map(place),
            ..start
        }
    }

    /// What there is to know of the segment at `base`.
    fn in_segment(&self, base: u64) -> Known {
        let upto = |place: Option<Place>| match place {
            Some((there, end)) if there == base => end,
            Some((there, _)) if there > base => u64::MAX,
            _ => 0,
        };
        Known {
            whole: upto(self.whole.filter(|(there, _)| *there == base)),
            doubtful: self
                .doubtful
                .and_then(|(there, from)| match there.cmp(&base) {
                    std::cmp::Ordering::Less => Some(SEGMENT_HEADER_BYTES),
                    std::cmp::Ordering::Equal => Some(from),
                    std::cmp::Ordering::Greater => None,
                }),
            settled: upto(self.settled),
        }
    }

    /// There is no index: a new news directory, or a lost file.
    fn from_last(
        segments: &Segments,
        dir: &Path,
        (options, is_newest_lost): (Options, bool),
        notices: &mut Vec<String>,
    ) -> Result<Start, Error> {
        let mut bases = segments.bases()?;
        let begin = |base| {
            let header = SegmentHeader::plain(base, options.segment_bytes);
            segments.create(header)
        };
        let Some(&last) = bases.last() else {
            begin(FIRST_BASE)?;
            return Ok(Start::at(FIRST_BASE));
        };
        let length = art_length(segments, last)?;
        if length <= SEGMENT_HEADER_BYTES {
            // The sync of its header may have failed.
            begin(last)?;
        }
        let sealed_end = end_if_sealed(segments, last, is_newest_lost)?;
        if let Some(end) = sealed_end {
            begin(end)?;
        }
        let current = sealed_end.unwrap_or(last);
        bases.retain(|&base| base < current);
        notices.push("the index was missing or damaged: made again from the history lines".into());
        for base in bases {
            if !can_be_read(segments, base) {
                let (_, damaged) = rebuild_derived(segments, dir, base)?;
                notices.push(format!(
                    "segments/{base:020}.his was missing or could not be read: made again from .art"
                ));
                notices.extend(damaged);
            }
        }
        Ok(Start {
            cancels_known: false,
            anew: true,
            ..Start::at(current)
        })
    }
}

/// What is known of one segment: offsets in it, as [`Start`] has them.
#[derive(Debug, Clone, Copy)]
struct Known {
    whole: u64,
    doubtful: Option<u64>,
    settled: u64,
}

/// True when the history of a segment is there and the disk can read all of it.
fn can_be_read(segments: &Segments, base: u64) -> bool {
    let map = segments
        .open(base, SegmentFile::His, Open::Read)
        .and_then(|file| file.map(file.length()?));
    map.is_ok_and(|map| {
        let lines = memchr::memchr_iter(b'\n', map.bytes()).count();
        std::hint::black_box(lines);
        map.unreadable_from().is_none()
    })
}

/// Where the last segment ends, if the current one behind it is lost: what was sealed may have been punched or written anew,
/// and nothing is filed into it any more.
fn end_if_sealed(
    segments: &Segments,
    last: u64,
    is_newest_lost: bool,
) -> Result<Option<u64>, Error> {
    let path = segments.path(last, SegmentFile::Art);
    let file = segments
        .open(last, SegmentFile::Art, Open::Read)
        .map_err(|source| Error::io("read", &path, source))?;
    // Without a header it may be the newest, whose making was cut short; if not, opening it tells.
    let header = SegmentHeader::read(&*file, &path).ok();
    let sealed = header.filter(|header| is_newest_lost || header.moved_at != 0);
    Ok(sealed.map(|header| last + header.span))
}

/// The length of an `.art` file, bytes.
fn art_length(segments: &Segments, base: u64) -> Result<u64, Error> {
    segments
        .length(base, SegmentFile::Art)
        .map_err(|source| Error::io("read", &segments.path(base, SegmentFile::Art), source))
}

/// Opens the `.art` file of a mark. Where the file was not even given its header, its creation was cut short and
/// nothing was ever committed to it: it is made again.
fn open_art(segments: &Segments, mark: &Watermark, options: Options) -> Result<Art, Error> {
    let path = segments.path(mark.base, SegmentFile::Art);
    let fault = match Art::open(segments, mark.base, mark.art_end) {
        Err(fault @ Error::Damaged { .. }) => fault,
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            return Err(Error::Damaged {
                path,
                offset: 0,
                what: "it is missing",
            });
        }
        other => return other,
    };
    let length = art_length(segments, mark.base)?;
    let is_last = segments.bases()?.last() == Some(&mark.base);
    if !is_last || length > SEGMENT_HEADER_BYTES || mark.art_end > SEGMENT_HEADER_BYTES {
        return Err(fault);
    }
    let header = SegmentHeader::plain(mark.base, options.segment_bytes);
    segments.create(header)?;
    Art::open(segments, mark.base, mark.art_end)
}

/// Opens active; when it is missing, makes it again from the log.
fn open_active(
    segments: &Segments,
    dir: &Path,
    notices: &mut Vec<String>,
) -> Result<ActiveFile, Error> {
    let disk = segments.disk();
    match ActiveFile::open(disk, dir) {
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            let table = rebuild_active(segments, dir)?;
            notices.push("active was missing: made again from the log".into());
            ActiveFile::create(disk, dir, table)
        }
        other => other,
    }
}

/// The active table as the log tells it: the last whole copy, then every change and every number since.
pub fn rebuild_active(segments: &Segments, dir: &Path) -> Result<Active, Error> {
    let mut table = None;
    let mut from = 0;
    let bases = segments.bases()?;
    for (place, &base) in bases.iter().enumerate().rev() {
        let mut has_copy = false;
        segments.each_record(base, |_, record| {
            has_copy |= record.head.kind == Kind::Active
        })?;
        if has_copy {
            from = place;
            break;
        }
    }
    for &base in bases.get(from..).unwrap_or_default() {
        segments.each_record(base, |_, record| match (record.head.kind, &mut table) {
            (Kind::Active, _) => {
                table = Active::parse(record.line().to_vec()).ok().or(table.take())
            }
            (_, Some(table)) => apply_to_active(table, record),
            _ => {}
        })?;
    }
    table.ok_or_else(|| Error::Active {
        path: dir.join("active"),
        what:
            "missing, and the log has no copy of it: give one with `broadsheet init --active FILE`"
                .into(),
    })
}

fn apply_to_active(table: &mut Active, record: &Record<'_>) {
    match record.head.kind {
        Kind::Article => raise_high_marks(table, record.line()),
        Kind::LowMarks => apply_low_marks(table, record.line()),
        Kind::Group => apply_group_line(table, record.line()),
        Kind::Seen | Kind::Cancel | Kind::Active | Kind::Pad | Kind::Relocation | Kind::Hole => {}
    }
}

fn raise_high_marks(table: &mut Active, line: &[u8]) {
    let Some(line) = HistoryLine::parse(line) else {
        return;
    };
    for (name, number) in line.links() {
        if let Some(id) = table.find(name)
            && table.high(id) < number
        {
            table.set_high(id, number);
        }
    }
}

/// Raises low marks from lines of `group low` or `group cut low`; other lines are for [`crate::ExpiryState`].
pub fn apply_low_marks(table: &mut Active, text: &[u8]) {
    for line in text.split(|&b| b == b'\n') {
        let mut words = line.split(|&b| b == b' ');
        let (Some(name), Some(cut)) = (words.next(), words.next().and_then(decimal::parse)) else {
            continue;
        };
        let low = words.next().and_then(decimal::parse).unwrap_or(cut);
        if let Some(id) = table.find(name)
            && table.low(id) < low
        {
            table.set_low(id, low);
        }
    }
}

fn apply_group_line(table: &mut Active, text: &[u8]) {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    // A change that cannot be made again (the group is there, or gone) was made by hand meanwhile.
    if let Some(name) = text.strip_prefix(b"- ") {
        let _ = apply_group(table, name, (0, 1), None);
    } else if let Some(line) = text.strip_prefix(b"+ ") {
        let Ok(one) = Active::parse([line, b"\n"].concat()) else {
            return;
        };
        for id in one.ids() {
            let _ = apply_group(
                table,
                one.name(id),
                (one.high(id), one.low(id)),
                Some(one.flag(id)),
            );
        }
    }
}

/// Adds a group with its numbers, or changes the flag of one that is there; without a flag, removes it. Doing it
/// twice changes nothing.
pub fn apply_group(
    table: &mut Active,
    name: &[u8],
    (high, low): (u64, u64),
    flag: Option<Flag<'_>>,
) -> Result<(), AddGroupError> {
    match (table.find(name), flag) {
        (Some(id), Some(flag)) => table.set_flag(id, flag),
        (Some(id), None) => table.remove(id),
        (None, Some(flag)) => table.add_numbered(name, high, low, flag).map(drop),
        (None, None) => Ok(()),
    }
}

impl Spool {
    /// Replays what the derived files lack, through all later segments.
    fn catch_up(&mut self, mut start: Start) -> Result<(), Error> {
        if start.sure && self.ends_agree()? {
            return Ok(());
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
        if self.derived.his.length()? < from.his_end
            || self.derived.exp.length()? < from.exp_end
            || !self.derived.overview_ends_at(from.ovr_end)?
        {
            self.notices.push(format!(
                "the views of segment {:020} did not fit: made again from .art",
                from.base
            ));
            from = Watermark {
                cancels_end: from.cancels_end,
                ..Start::at(from.base).mark
            };
            start.anew |= start.sure;
        }
        let cancels_known =
            start.cancels_known && self.derived.cancels.length()? >= from.cancels_end;
        if !cancels_known {
            from.cancels_end = 0;
        }
        if start.anew {
            self.begin_anew(&from)?;
        }
        self.derived = Derived::open(&self.segments, &self.dir, self.art.header, &from)?;
        if !cancels_known {
            if start.cancels_known {
                self.notices
                    .push("cancels had lost its tail: made again from the log".into());
            }
            self.collect_cancels()?;
        }
        self.art.append.end = from.art_end;
        let bases: Vec<u64> = self
            .segments
            .bases()?
            .into_iter()
            .filter(|&base| base > from.base)
            .collect();
        let mut articles = self.replay(bases.is_empty(), start.in_segment(from.base))?;
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
            articles += self.replay(place + 1 == bases.len(), start.in_segment(base))?;
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
        self.publish()?;
        self.checkpoint()?;
        if !self.index.is_placed() {
            self.index.publish(&*self.disk)?;
        }
        self.taken_up = articles;
        if articles > 0 {
            self.notices.push(format!(
                "{articles} articles were taken up again from the log after an interruption"
            ));
        }
        Ok(())
    }

    /// Puts new files in the place of the views of the segment, and begins a new index.
    fn begin_anew(&mut self, from: &Watermark) -> Result<(), Error> {
        for file in SegmentFile::DERIVED {
            renew(&*self.disk, &self.segments.path(from.base, file), 0)?;
        }
        renew(&*self.disk, &self.dir.join("cancels"), from.cancels_end)?;
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
        for append in ends {
            if append.length()? != append.end {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Replays the current segment from its `end` on, and cuts what a torn commit left. What is doubtful is written again:
    /// a sync of it may have failed, and the next would not tell. Returns the articles.
    fn replay(&mut self, last: bool, known: Known) -> Result<u64, Error> {
        self.derived.cut()?;
        let path = self.art.append.path.clone();
        let at = |doing| {
            let path = path.clone();
            move |source| Error::io(doing, &path, source)
        };
        let file = self.disk.open(&path, Open::Read).map_err(at("open"))?;
        let end = self.sound_end(&*file, last, known.whole)?;
        let mut walk = Walk::new(&*file, self.art.append.end, end).map_err(at("read"))?;
        let mut articles = 0;
        while let Some(step) = walk.next().map_err(at("read"))? {
            if let Step::Record(offset, record) = step {
                articles += u64::from(record.head.kind == Kind::Article);
                self.commit_sequence = self.commit_sequence.max(record.head.commit_sequence);
                self.apply(offset, &record)?;
                if offset >= known.settled {
                    self.apply_to_state(&record)?;
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
            self.art.append.write_again(from, end)?;
        }
        // From now on these articles count as filed, so they must be on the disk before anything says so.
        self.art.append.sync()?;
        self.art.append.end = end;
        Ok(articles)
    }

    /// Where the committed records of a segment end. A gap with a later commit behind it is damage and stays (fsck
    /// tells of it); a gap that no later commit follows is a commit that was torn, and ends the log. Up to `whole` it was whole once.
    fn sound_end(
        &mut self,
        file: &dyn crate::io::disk::File,
        last: bool,
        whole: u64,
    ) -> Result<u64, Error> {
        let path = self.art.append.path.clone();
        let at = |source| Error::io("read", &path, source);
        let mut walk = Walk::new(file, self.art.append.end, u64::MAX).map_err(at)?;
        let mut end = self.art.append.end;
        let mut torn_from = None;
        let mut commit = None;
        while let Some(step) = walk.next().map_err(at)? {
            match step {
                // Behind what the disk cannot read lies what was whole once; a torn commit can be read.
                Step::Gap { from, to, .. } if file.was_unreadable(from..to) => {
                    end = to;
                    self.notices.push(damage_notice(&path, from));
                }
                Step::Gap { from, to, empty } if from < whole => {
                    // Whether or not a later commit tells so.
                    end = to.min(whole);
                    if !empty {
                        self.notices.push(damage_notice(&path, from));
                    }
                }
                Step::Gap { from, .. } => torn_from = torn_from.or(Some(from)),
                // Laid over damage by fsck.
                Step::Record(offset, record)
                    if record.head.kind == Kind::Pad && record.head.commit_sequence == 0 =>
                {
                    end = offset + u64::from(record.head.length);
                }
                Step::Record(offset, record) => {
                    let commit_start = offset.saturating_sub(u64::from(record.head.commit_back));
                    if torn_from.is_some_and(|from| commit_start <= from) {
                        continue;
                    }
                    // Left over from an attempt that failed and was made again at the same place.
                    if commit.is_some_and(|(start, commit_sequence)| {
                        start == commit_start && commit_sequence != record.head.commit_sequence
                    }) {
                        torn_from = torn_from.or(Some(offset));
                        continue;
                    }
                    commit = Some((commit_start, record.head.commit_sequence));
                    if let Some(from) = torn_from.take() {
                        self.notices.push(damage_notice(&path, from));
                    }
                    end = offset + u64::from(record.head.length);
                }
            }
        }
        // A sealed segment is whole: what cannot be read there is damage, not a torn commit.
        Ok(if last {
            end
        } else {
            file.length().map_err(at)?
        })
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
                        .push_filed(record.line(), arrival, line.expires);
                }
                _ => self.derived.push_line(record.line()),
            }
            self.remember_address(line.id, address)?;
        }
        if record.head.kind == Kind::Cancel
            && let Some((position, id)) =
                Cancels::parse_line(record.line().strip_suffix(b"\n").unwrap_or_default())
        {
            self.derived.push_cancel(Position(position), id);
        }
        Ok(())
    }

    /// Makes `active` and `expired` know it.
    fn apply_to_state(&mut self, record: &Record<'_>) -> Result<(), Error> {
        if record.head.kind == Kind::LowMarks {
            self.expired.state_mut()?.apply(record.line());
        }
        apply_to_active(&mut self.active.table, record);
        Ok(())
    }

    /// Makes `cancels` again from the log.
    pub(crate) fn rewrite_cancels(&mut self) -> Result<(), Error> {
        self.derived.cancelled = Cancels::default();
        self.collect_cancels()?;
        self.publish()
    }

    /// Cancels of every segment: the file that held them is gone.
    fn collect_cancels(&mut self) -> Result<(), Error> {
        let mut found = Vec::new();
        for base in self.segments.bases()? {
            self.segments.each_record(base, |_, record| {
                let line = record.line().strip_suffix(b"\n").unwrap_or_default();
                if record.head.kind == Kind::Cancel
                    && let Some((position, id)) = Cancels::parse_line(line)
                {
                    found.push((Position(position), id.to_vec()));
                }
            })?;
        }
        self.derived.cancels.cut(0)?;
        for (position, id) in found {
            self.derived.push_cancel(position, &id);
        }
        Ok(())
    }
}

/// True of what [`damage_notice`] tells.
pub(crate) fn is_damage_notice(notice: &str) -> bool {
    notice.ends_with(": run `broadsheet fsck`")
}

pub(crate) fn damage_notice(path: &Path, from: u64) -> String {
    format!(
        "{} is damaged at byte {from}: run `broadsheet fsck`",
        path.display()
    )
}
