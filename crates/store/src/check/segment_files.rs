//! Checks one segment: each derived file against `.art`.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::check::empty_tails::{empty_tail, no_data};
use crate::check::offloaded;
use crate::check::put_aside::put_aside;
use crate::expiry::visibility::Visibility;
use crate::history::HistoryLine;
use crate::history::cancels::CancelLine;
use crate::history::compacted::History;
use crate::history::exceptions::Exceptions;
use crate::io::disk::{Disk, File, Open};
use crate::io::map::MapRef;
use crate::io::replace::map_whole;
use crate::log::position::SegmentRange;
use crate::log::record::{Kind, Record};
use crate::log::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::log::segments::{SegmentFile, Segments};
use crate::log::walk::{Step, Walk};
use crate::overview;
use crate::overview::row::push_row_of;
use crate::overview::used_numbers::UsedNumbers;
use crate::progress::Work;
use crate::reclaim::repack;
use crate::report::{LOST_IDS_MAX, Report, names_of};
use crate::segment_repair::offloaded_header::check_header;
use crate::{Error, Position};

/// Data collected from the log.
#[derive(Debug, Default)]
pub struct Seen {
    /// The numbers of each group.
    pub given: HashMap<Vec<u8>, UsedNumbers>,
    /// The lines of `cancels`, by position.
    pub cancels: HashMap<u64, Vec<u8>>,
    /// The progress, in bytes of `.art`.
    pub work: Work,
}

/// The derived files as computed from a segment's `.art`, compared piece by piece with those on the disk.
struct Expected {
    his_map: MapRef,
    his_at: u64,
    his_bad: Option<u64>,
    /// The lines are in the order of their records: the offset in the segment of the last one.
    after: u64,
    range: SegmentRange,
    links: u64,
}

impl Expected {
    fn of(his_map: MapRef, range: SegmentRange) -> Expected {
        let is_sound = History::of_map(&his_map).is_sound();
        Expected {
            his_map,
            his_at: 0,
            his_bad: (!is_sound).then_some(0),
            after: 0,
            range,
            links: 0,
        }
    }

    /// Advances past `line`, of the article at an offset or of another record, and past lines of dead articles before it, whose records may be missing.
    /// Returns true if it was found, or was left out of a compacted history.
    fn finds(&mut self, offset: Option<u64>, line: &[u8], alive: Visibility<'_>) -> bool {
        let history = History::of_map(&self.his_map);
        let (before, range) = ((self.his_at, self.after), self.range);
        loop {
            let rest = history.text().get(self.his_at as usize..);
            let rest = rest.unwrap_or_default();
            if !line.is_empty() && rest.starts_with(line) {
                self.his_at += line.len() as u64;
                self.after = offset.unwrap_or(self.after);
                return true;
            }
            let first = crate::history::lines(rest).next();
            if first.is_none() && line.is_empty() {
                return rest.is_empty();
            }
            // Nothing else tells what a line without a record was.
            let dead_at = |line| {
                let line = HistoryLine::parse(line)?;
                let is_dead = line.is_intact() && alive.is_dead(&line);
                range.offset(line.position.filter(|_| is_dead)?)
            };
            match first.map(|(_, first)| (first.len() as u64 + 1, dead_at(first))) {
                Some((length, Some(dead)))
                    if self.after < dead && offset.is_none_or(|offset| dead < offset) =>
                {
                    self.after = dead;
                    self.his_at += length;
                }
                _ => break,
            }
        }
        (self.his_at, self.after) = before;
        let left_out =
            |line| HistoryLine::parse(line).is_some_and(|line| alive.expired.forgets(&line));
        history.is_compacted() && left_out(line)
    }
}

/// The segment that is checked.
struct Checked<'a> {
    segments: &'a Segments,
    base: u64,
    art_path: PathBuf,
    art: Box<dyn File>,
    alive: Visibility<'a>,
    /// Whether the derived files are repaired.
    repair: bool,
    /// Whether `.art` is repaired. A cache of an object is not.
    can_repair: bool,
}

/// Checks one segment; returns true if `.his` or `.ovr` must be rebuilt.
pub fn check_segment(
    segments: &Segments,
    dir: &Path,
    (base, end): (u64, u64),
    alive: Visibility<'_>,
    seen: &mut Seen,
    report: &mut Report,
    repair: bool,
) -> Result<bool, Error> {
    let art_path = segments.path(base, SegmentFile::Art);
    let at = |source| Error::io("read", &art_path, source);
    match check_header(segments, base) {
        Err(Error::UnknownObject { path, what }) => {
            report.tell(&path, 0, what, false);
            return Ok(false);
        }
        checked => checked?,
    }
    let how = if repair { Open::Write } else { Open::Read };
    let mut art = segments.open(base, SegmentFile::Art, how).map_err(at)?;
    let object = SegmentHeader::read(&*art, &art_path)
        .ok()
        .and_then(|header| header.object);
    if object.is_some() {
        // The file is a cache: nothing in it is repaired.
        art = segments
            .open(base, SegmentFile::Art, Open::Read)
            .map_err(at)?;
        report.offloaded += 1;
        if offloaded::is_lost(segments, (base, object), report, alive)? {
            return Ok(false);
        }
        offloaded::check_cancel_locks(segments, base, report, repair)?;
    }
    let segment = Checked {
        segments,
        base,
        art_path,
        art,
        alive,
        repair,
        can_repair: repair && object.is_none(),
    };
    segment.check_header(report);
    let (ovr_map, is_ovr_missing) = segment.map_derived(SegmentFile::Ovr, report)?;
    let (his_map, is_his_missing) = segment.map_derived(SegmentFile::His, report)?;
    let blocks: Vec<_> = overview::blocks(ovr_map.bytes()).collect();
    let mut derived_bad = is_ovr_missing || is_his_missing;
    derived_bad |= segment.check_blocks(&ovr_map, &blocks, report);
    let range = segments.range(base)?;
    let mut expected = Expected::of(his_map, range);
    let end = end.min(range.end() - base);
    let mut walk = Walk::new(&*segment.art, SEGMENT_HEADER_BYTES, end)
        .map_err(|source| segment.read_error(source))?;
    let done_after = seen.work.done() + segment.art.length().unwrap_or(0);
    let compared = (!derived_bad).then_some(blocks.as_slice());
    let found = segment.check_records(&mut walk, compared, &mut expected, seen, report)?;
    // Holes, and what is damaged, are no records.
    seen.work.advance_to(done_after);
    derived_bad = derived_bad || segment.check_rows(&blocks, &found, &expected, report);
    derived_bad |= segment.check_history(&mut expected, report);
    let history = History::of_map(&expected.his_map);
    derived_bad = derived_bad || segment.check_exceptions(history, report);
    for gap in found.gaps {
        derived_bad |= segment.check_gap(dir, &walk, gap, history, report)?;
    }
    segment.check_table(&walk, report)?;
    segment.check_tail(report)?;
    Ok(derived_bad)
}

/// What the records of a segment have shown.
#[derive(Default)]
struct Found {
    /// The ranges that have no sound records, offsets in `.art`.
    gaps: Vec<(u64, u64)>,
    /// The first article whose rows are not its own, offset in `.art`.
    wrong_rows: Option<u64>,
}

impl Checked<'_> {
    fn read_error(&self, source: io::Error) -> Error {
        Error::io("read", &self.art_path, source)
    }

    fn path(&self, file: SegmentFile) -> PathBuf {
        self.segments.path(self.base, file)
    }

    fn disk(&self) -> &dyn Disk {
        &**self.segments.disk()
    }

    fn check_header(&self, report: &mut Report) {
        let path = &self.art_path;
        let header = SegmentHeader::read(&*self.art, path);
        match header.and_then(|header| header.check_base(self.base, path)) {
            Err(Error::Damaged { offset, what, .. }) => report.tell(path, offset, what, false),
            Err(error) => report.tell(path, 0, error.to_string(), false),
            Ok(()) => {}
        }
    }

    /// Maps a derived file; of a missing one, which it reports, the map is empty. Returns the map, and whether the file is missing.
    fn map_derived(&self, file: SegmentFile, report: &mut Report) -> Result<(MapRef, bool), Error> {
        let path = self.path(file);
        if let Some(map) = map_whole(self.disk(), &path) {
            return Ok((map, false));
        }
        report.tell(&path, 0, "it is missing", self.repair);
        let empty = self.art.map(0);
        Ok((empty.map_err(|source| self.read_error(source))?, true))
    }

    /// Returns true if blocks of `.ovr` are damaged.
    fn check_blocks(
        &self,
        ovr_map: &MapRef,
        blocks: &[overview::Block<'_>],
        report: &mut Report,
    ) -> bool {
        let bytes: usize = blocks.iter().map(|block| block.bytes.len()).sum();
        let are_sound = blocks.iter().all(overview::Block::is_sound);
        if are_sound && bytes == ovr_map.bytes().len() {
            return false;
        }
        let path = self.path(SegmentFile::Ovr);
        report.tell(&path, 0, "a block of rows is damaged", self.repair);
        true
    }

    /// Compares each record with the derived files; with the rows of `blocks` only if these are given.
    fn check_records(
        &self,
        walk: &mut Walk<'_>,
        blocks: Option<&[overview::Block<'_>]>,
        expected: &mut Expected,
        seen: &mut Seen,
        report: &mut Report,
    ) -> Result<Found, Error> {
        let mut found = Found::default();
        let mut row = Vec::new();
        while let Some(step) = walk.next().map_err(|source| self.read_error(source))? {
            let (offset, record) = match step {
                Step::Gap { empty: true, .. } => {
                    report.holes += 1;
                    continue;
                }
                Step::Gap { from, to, .. } => {
                    found.gaps.push((from, to));
                    continue;
                }
                Step::Record(_, record) if record.head.kind == Kind::Hole => {
                    report.holes += 1;
                    continue;
                }
                Step::Record(offset, record) => (offset, record),
            };
            report.bytes += u64::from(record.head.length);
            seen.work.advance(u64::from(record.head.length));
            check_line(
                &self.art_path,
                (self.base, offset),
                &record,
                expected,
                self.alive,
                &mut seen.given,
                report,
            );
            expected.links += kept_links(&record, self.alive);
            if record.head.kind == Kind::Cancel
                && let Some(line) =
                    CancelLine::parse(record.line().strip_suffix(b"\n").unwrap_or_default())
            {
                // Of each position the last line counts.
                let text = record.line().to_vec();
                seen.cancels.insert(line.position.0, text);
            }
            if record.head.kind == Kind::Article
                && let Some(blocks) = blocks
                && !rows_agree(blocks, offset, &record, self.alive, &mut row)
            {
                found.wrong_rows = found.wrong_rows.or(Some(offset));
            }
        }
        Ok(found)
    }

    /// Returns true if `.ovr` has other rows than the records.
    fn check_rows(
        &self,
        blocks: &[overview::Block<'_>],
        found: &Found,
        expected: &Expected,
        report: &mut Report,
    ) -> bool {
        let rows: u64 = blocks
            .iter()
            .flat_map(|block| block.groups())
            .map(|group| {
                // Rows of expired articles may be present or missing.
                let rows = group.range(0, u64::MAX);
                rows.filter(|row| {
                    let position = Position(self.base + u64::from(row.record));
                    self.alive.is_in(group.name, row.number, position)
                })
                .count() as u64
            })
            .sum();
        let links = expected.links;
        let what = match found.wrong_rows {
            Some(offset) => {
                format!("the rows of the article at byte {offset} of .art are not its own")
            }
            None if rows != links => format!("it has {rows} rows, .art tells of {links}"),
            None => return false,
        };
        report.tell(&self.path(SegmentFile::Ovr), 0, what, self.repair);
        true
    }

    /// Returns true if `.his` has other lines than the records.
    fn check_history(&self, expected: &mut Expected, report: &mut Report) -> bool {
        if expected.his_bad.is_none() && !expected.finds(None, b"", self.alive) {
            expected.his_bad = Some(expected.his_at);
        }
        let Some(offset) = expected.his_bad else {
            return false;
        };
        let what = "it does not hold the lines that .art tells of";
        report.tell(&self.path(SegmentFile::His), offset, what, self.repair);
        true
    }

    /// Returns true if `.exp` has other lines than it should.
    fn check_exceptions(&self, history: History<'_>, report: &mut Report) -> bool {
        let path = self.path(SegmentFile::Exp);
        if exceptions_agree(self.disk(), &path, history, self.alive) {
            return false;
        }
        let what = "it does not hold the exceptions that .his tells of";
        report.tell(&path, 0, what, self.repair);
        true
    }

    /// Reports a gap of the log, with the articles that lay there; repaired, their remains go to `bad/`. Returns true if the derived files
    /// must be rebuilt.
    fn check_gap(
        &self,
        dir: &Path,
        walk: &Walk<'_>,
        (from, to): (u64, u64),
        history: History<'_>,
        report: &mut Report,
    ) -> Result<bool, Error> {
        let bytes = to - from;
        if self.art.was_unreadable(from..to) {
            // The disk may have failed for a moment: it is asked again before anything is overwritten.
            let mut again = vec![0; bytes as usize];
            let read = self.art.read_at(&mut again, from);
            read.map_err(|source| self.read_error(source))?;
            if !self.art.was_unreadable(from..to) {
                let what = "the disk did not read it at first, and reads it now: run this again";
                report.tell(&self.art_path, from, what, false);
                return Ok(false);
            }
        }
        let what = match self.art.was_unreadable(from..to) {
            true => format!("{bytes} bytes, of which the disk cannot read some"),
            false => format!("{bytes} bytes are not a sound record"),
        };
        let lay_there = lying(history, self.base, walk.positions((from, to)));
        let lost: Vec<_> = lay_there
            .iter()
            .filter(|line| !self.alive.is_dead(line))
            .collect();
        let what = if lost.is_empty() && !lay_there.is_empty() {
            format!("{what}: only dead articles lay there, nothing is lost")
        } else {
            report.lost += 1;
            let kept = match self.can_repair {
                true => "; what is left of it is kept in bad/, feed it again",
                // Of an object.
                false if self.repair => {
                    "; to keep the others, copy the object in the place of this file, and run this again"
                }
                false => "",
            };
            format!("{what}: {}{kept}", names_of(&lost))
        };
        let room = LOST_IDS_MAX.saturating_sub(report.lost_ids.len());
        let ids = lost.iter().take(room).map(|line| line.id.to_vec());
        report.lost_ids.extend(ids);
        report.tell(&self.art_path, from, what, self.can_repair);
        if self.can_repair {
            put_aside(self.disk(), dir, &self.art_path, &*self.art, (from, to))?;
        }
        Ok(self.can_repair)
    }

    /// Reports a hole at the end of `.art`. A repair has cut it off before.
    fn check_tail(&self, report: &mut Report) -> Result<(), Error> {
        let header = SegmentHeader::read(&*self.art, &self.art_path).ok();
        if self.repair || header.is_none_or(|header| header.object.is_some()) {
            return Ok(());
        }
        let tail = empty_tail(&*self.art).map_err(|source| self.read_error(source))?;
        if let Some(from) = tail {
            let length = self.art.length();
            let length = length.map_err(|source| self.read_error(source))?;
            report.tell(&self.art_path, from, no_data(length - from), false);
        }
        Ok(())
    }

    /// Reports a damaged table of a repacked segment; repaired, the segment is repacked again.
    fn check_table(&self, walk: &Walk<'_>, report: &mut Report) -> Result<(), Error> {
        if !walk.lost_its_table() {
            return Ok(());
        }
        let what = "the table that tells where its articles lie is damaged";
        report.tell(&self.art_path, 0, what, self.can_repair);
        if self.can_repair {
            repack::repack(self.segments, self.base, self.alive, None, Open::Truncate)?;
        }
        Ok(())
    }
}

/// Whether `.exp` has the lines of `.his` that belong there, except perhaps those of dead articles.
fn exceptions_agree(disk: &dyn Disk, path: &Path, his: History<'_>, alive: Visibility<'_>) -> bool {
    let Some(exp) = map_whole(disk, path) else {
        return false;
    };
    let mut wanted = Exceptions::default();
    for line in his.text().split_inclusive(|&b| b == b'\n') {
        wanted.look_at_any(line);
    }
    let lines = |text| crate::history::lines(text).map(|(_, line)| line);
    let there: HashSet<&[u8]> = lines(exp.bytes()).collect();
    let wanted: HashSet<&[u8]> = lines(wanted.lines()).collect();
    let is_dead = |line: &&[u8]| HistoryLine::parse(line).is_some_and(|line| alive.is_dead(&line));
    let is_whole = exp.bytes().is_empty() || exp.bytes().ends_with(b"\n");
    // A compacted history lacks the lines that made some others exceptions.
    is_whole
        && wanted.difference(&there).all(is_dead)
        && (his.is_compacted() || there.is_subset(&wanted))
}

/// The history lines of the articles at these positions of a segment.
fn lying(his: History<'_>, base: u64, (from, to): (u64, u64)) -> Vec<HistoryLine<'_>> {
    crate::history::lines(his.text())
        .filter_map(|(_, line)| HistoryLine::parse(line))
        .filter(|line| {
            let offset = line.position.and_then(|at| at.0.checked_sub(base));
            offset.is_some_and(|offset| (from..to).contains(&offset))
        })
        .collect()
}

fn check_line(
    path: &Path,
    (base, offset): (u64, u64),
    record: &Record<'_>,
    expected: &mut Expected,
    alive: Visibility<'_>,
    given: &mut HashMap<Vec<u8>, UsedNumbers>,
    report: &mut Report,
) {
    if !record.head.kind.has_history_line() {
        return;
    }
    report.lines += 1;
    let article = (record.head.kind == Kind::Article).then_some(offset);
    if !expected.finds(article, record.line(), alive) {
        expected.his_bad = expected.his_bad.or(Some(expected.his_at));
    }
    let Some(line) = HistoryLine::parse(record.line()) else {
        report.tell(path, offset, "its history line is garbled", false);
        return;
    };
    if record.head.kind == Kind::Seen {
        return;
    }
    report.articles += 1;
    if line.position.map(|position| position.0) != Some(base + offset) {
        report.tell(
            path,
            offset,
            "its history line names another position",
            false,
        );
    }
    for (group, number) in line.links() {
        let given = match given.get_mut(group) {
            Some(given) => given,
            None => given.entry(group.to_vec()).or_default(),
        };
        if !given.take(number) {
            let group = String::from_utf8_lossy(group);
            let twice = format!("{group}/{number} was given before");
            report.tell(path, offset, twice, false);
        }
    }
}

/// The links under which an article can still be read.
fn kept_links(record: &Record<'_>, alive: Visibility<'_>) -> u64 {
    let line = HistoryLine::parse(record.line())
        .filter(|line| record.head.kind == Kind::Article && alive.has(line));
    line.map_or(0, |line| {
        line.links()
            .filter(|(group, number)| alive.expired.keeps(group, *number))
            .count() as u64
    })
}

fn rows_agree(
    blocks: &[overview::Block<'_>],
    offset: u64,
    record: &Record<'_>,
    alive: Visibility<'_>,
    row: &mut Vec<u8>,
) -> bool {
    let Some(line) = HistoryLine::parse(record.line()) else {
        return false;
    };
    if alive.is_dead(&line) {
        return true;
    }
    row.clear();
    push_row_of(row, record, line.id);
    line.links().all(|(group, number)| {
        !alive.expired.keeps(group, number)
            || blocks.iter().any(|block| {
                block
                    .find(group)
                    .and_then(|rows| rows.range(number, number).next())
                    .is_some_and(|found| {
                        let text = found
                            .text
                            .iter()
                            .position(|&b| b == b'\t')
                            .and_then(|tab| found.text.get(tab..));
                        u64::from(found.record) == offset && text == Some(row.as_slice())
                    })
            })
    })
}
