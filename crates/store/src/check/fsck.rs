//! Checks every file of the store against `.art`, and mends what can be mended.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use crate::check::derived_files::look_at;
use crate::expiry::state::ExpiryState;
use crate::expiry::visibility::Visibility;
use crate::history::HistoryLine;
use crate::history::cancels::Cancels;
use crate::history::compacted::History;
use crate::history::exceptions::Exceptions;
use crate::history::lookup::{Histories, is_line_of};
use crate::io::disk::{Disk, Open, RealDisk};
use crate::io::lock::Lock;
use crate::io::salvage::Salvage;
use crate::log::record::{Kind, Record};
use crate::log::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::log::segments::{SegmentFile, Segments, base_of};
use crate::log::walk::{Step, Walk};
use crate::overview;
use crate::overview::row::push_row_of;
use crate::overview::used_numbers::UsedNumbers;
use crate::spool::{Options, Spool};
use crate::{Error, Position, check::repair, reclaim::repack, spool::recover};

pub use crate::check::report::{FINDINGS_MAX, Finding, LOST_IDS_MAX, Report};

/// Lost articles that one message names.
const LOST_NAMED: usize = 10;

/// Checks a news directory; holds its lock meanwhile.
pub fn fsck(dir: &Path, repair: bool) -> Result<Report, Error> {
    fsck_on(Arc::new(RealDisk), dir, repair)
}

/// As [`fsck`], on another disk.
pub fn fsck_on(disk: Arc<dyn Disk>, dir: &Path, repair: bool) -> Result<Report, Error> {
    let plain = Segments::find(&disk, dir)?;
    // What cannot be read is damage, too.
    let disk = Salvage::of(disk);
    let segments = Segments::of(&disk, dir);
    let mut report = Report::default();
    let options = Options {
        repair,
        ..Options::default()
    };
    // What expire removes would look like damage.
    let _no_expire = Lock::take_named(dir, "lock.expire", options.patience.is_none())?;
    let lock = Lock::take(dir, options.patience)?;
    if repair {
        repair::before_opening(&segments, dir, &mut report)?;
    }
    let expired_path = dir.join("expired");
    let expired_bad =
        map_whole(&*disk, &expired_path).is_some() && ExpiryState::read(&*disk, dir)?.is_none();
    // Where a segment with cancels is lost, opening makes the file again without them.
    let cancels = map_whole(&*disk, &dir.join("cancels"));
    let cancels = cancels.map_or_else(Vec::new, |map| map.bytes().to_vec());
    // A replay ends the log where a commit was torn: unless it is to repair, it must not take a bad sector for that.
    let opened_on = if repair { &segments } else { &plain };
    let mut spool = recover::open(opened_on, dir, options, lock)?;
    if expired_bad {
        report.tell(
            &expired_path,
            0,
            "it is damaged; the log tells what has expired",
            repair,
        );
        if repair {
            spool.expired.state_mut()?;
            spool.expired.flush()?;
        }
    }
    report.notices = spool.notices.clone();
    let mut seen = Seen::default();
    let mut bad = Vec::new();
    for base in segments.bases()? {
        if base > spool.art.header.base {
            // Its making was cut short before anything was filed in it; the next one takes its place.
            continue;
        }
        let is_current = base == spool.art.header.base;
        let end = if is_current {
            spool.art.append.end
        } else {
            u64::MAX
        };
        if check_segment(
            &segments,
            dir,
            (base, end),
            Visibility {
                expired: spool.expired.state()?,
                cancelled: &spool.derived.cancelled,
            },
            &mut seen,
            &mut report,
            repair,
        )? {
            bad.push(base);
        }
        report.segments += 1;
    }
    // First, as views that are made again keep the ids of cancelled articles.
    check_cancels(&mut spool, &seen, &cancels, &mut report, repair)?;
    if repair && !bad.is_empty() {
        spool = repair::views(spool, &bad)?;
    }
    for path in repair::orphans(&segments)? {
        report.tell(&path, 0, repair::ORPHAN, false);
    }
    if repair || bad.is_empty() {
        check_index(&mut spool, &mut report, repair)?;
    }
    check_active(&mut spool, &seen.given, &mut report, repair)?;
    if repair {
        spool.checkpoint()?;
        repair::list_lost(&*disk, dir, &report)?;
    }
    Ok(report)
}

/// What the log tells, gathered on the way.
#[derive(Debug, Default)]
struct Seen {
    /// The numbers of each group.
    given: HashMap<Vec<u8>, UsedNumbers>,
    /// The lines of `cancels`, by position.
    cancels: HashMap<u64, Vec<u8>>,
}

/// The views a segment's `.art` tells of, compared piece by piece with those on the disk.
struct Expected {
    his_map: crate::io::map::MapRef,
    his_at: u64,
    his_bad: Option<u64>,
    links: u64,
}

impl Expected {
    /// Goes past `line`, and past lines of dead articles in front of it, whose records may be gone. True when it was there,
    /// or was left out of a thinned history.
    fn finds(&mut self, line: &[u8], alive: Visibility<'_>) -> bool {
        let history = History::of_map(&self.his_map);
        let before = self.his_at;
        loop {
            let rest = history.text().get(self.his_at as usize..);
            let rest = rest.unwrap_or_default();
            if !line.is_empty() && rest.starts_with(line) {
                self.his_at += line.len() as u64;
                return true;
            }
            let first = crate::history::lines(rest).next();
            if first.is_none() && line.is_empty() {
                return rest.is_empty();
            }
            let is_dead = |line| HistoryLine::parse(line).is_some_and(|line| alive.is_dead(&line));
            match first {
                Some((_, first)) if is_dead(first) => self.his_at += first.len() as u64 + 1,
                _ => break,
            }
        }
        self.his_at = before;
        let left_out =
            |line| HistoryLine::parse(line).is_some_and(|line| alive.expired.forgets(&line));
        history.is_compacted() && left_out(line)
    }
}

/// Checks one segment; returns true when `.his` or `.ovr` are to be made again.
fn check_segment(
    segments: &Segments,
    dir: &Path,
    (base, end): (u64, u64),
    alive: Visibility<'_>,
    seen: &mut Seen,
    report: &mut Report,
    repair: bool,
) -> Result<bool, Error> {
    let disk = segments.disk();
    let path = segments.path(base, SegmentFile::Art);
    let at = |source| Error::io("read", &path, source);
    let how = if repair { Open::Write } else { Open::Read };
    let file = segments.open(base, SegmentFile::Art, how).map_err(at)?;
    if let Err(error) = SegmentHeader::read(&*file, &path) {
        report.tell(&path, 0, error.to_string(), false);
    }
    let (his_path, ovr_path) = (
        segments.path(base, SegmentFile::His),
        segments.path(base, SegmentFile::Ovr),
    );
    let ovr_map = map_whole(&**disk, &ovr_path);
    let his_map = map_whole(&**disk, &his_path);
    for (map, view) in [(&ovr_map, &ovr_path), (&his_map, &his_path)] {
        if map.is_none() {
            report.tell(view, 0, "it is missing", repair);
        }
    }
    let mut views_bad = ovr_map.is_none() || his_map.is_none();
    let empty = || file.map(0).map_err(at);
    let ovr_map = ovr_map.map_or_else(empty, Ok)?;
    let blocks: Vec<_> = overview::blocks(ovr_map.bytes()).collect();
    let ovr_bad = blocks.iter().any(|block| !block.is_sound())
        || blocks.iter().map(|block| block.bytes.len()).sum::<usize>() != ovr_map.bytes().len();
    if ovr_bad {
        report.tell(&ovr_path, 0, "a block of rows is damaged", repair);
        views_bad = true;
    }
    let mut expected = Expected {
        his_map: his_map.map_or_else(empty, Ok)?,
        his_at: 0,
        his_bad: None,
        links: 0,
    };
    if !History::of_map(&expected.his_map).is_sound() {
        expected.his_bad = Some(0);
    }
    let mut walk = Walk::new(&*file, SEGMENT_HEADER_BYTES, end).map_err(at)?;
    let mut gaps = Vec::new();
    let mut row = Vec::new();
    let mut rows_bad = None;
    while let Some(step) = walk.next().map_err(at)? {
        match step {
            Step::Gap { empty: true, .. } => report.holes += 1,
            Step::Gap { from, to, .. } => gaps.push((from, to)),
            Step::Record(_, record) if record.head.kind == Kind::Hole => report.holes += 1,
            Step::Record(offset, record) => {
                report.bytes += u64::from(record.head.length);
                check_line(
                    &path,
                    (base, offset),
                    &record,
                    &mut expected,
                    alive,
                    &mut seen.given,
                    report,
                );
                expected.links += kept_links(&record, alive);
                if record.head.kind == Kind::Cancel
                    && let Some((position, _)) = Cancels::parse_line(record.line())
                {
                    seen.cancels.insert(position, record.line().to_vec());
                }
                if record.head.kind == Kind::Article
                    && !views_bad
                    && !rows_agree(&blocks, offset, &record, alive, &mut row)
                {
                    rows_bad = rows_bad.or(Some(offset));
                }
            }
        }
    }
    if let Some(offset) = rows_bad {
        report.tell(
            &ovr_path,
            0,
            format!("the rows of the article at byte {offset} of .art are not its own"),
            repair,
        );
        views_bad = true;
    }
    let rows: u64 = blocks
        .iter()
        .flat_map(|block| block.groups())
        .map(|group| {
            // Of what has expired there may be rows or not.
            let rows = group.range(0, u64::MAX);
            rows.filter(|row| {
                let position = Position(base + u64::from(row.record));
                alive.is_in(group.name, row.number, position)
            })
            .count() as u64
        })
        .sum();
    if !views_bad && rows != expected.links {
        report.tell(
            &ovr_path,
            0,
            format!("it has {rows} rows, .art tells of {}", expected.links),
            repair,
        );
        views_bad = true;
    }
    if expected.his_bad.is_none() && !expected.finds(b"", alive) {
        expected.his_bad = Some(expected.his_at);
    }
    if let Some(offset) = expected.his_bad {
        report.tell(
            &his_path,
            offset,
            "it does not hold the lines that .art tells of",
            repair,
        );
        views_bad = true;
    }
    let exp_path = segments.path(base, SegmentFile::Exp);
    if !views_bad
        && !exceptions_agree(
            &**disk,
            &exp_path,
            History::of_map(&expected.his_map),
            alive,
        )
    {
        report.tell(
            &exp_path,
            0,
            "it does not hold the exceptions that .his tells of",
            repair,
        );
        views_bad = true;
    }
    for (from, to) in gaps {
        let bytes = to - from;
        let what = match file.was_unreadable(from..to) {
            true => format!("{bytes} bytes, of which the disk cannot read some"),
            false => format!("{bytes} bytes are not a sound record"),
        };
        let history = History::of_map(&expected.his_map);
        let lay_there = lying(history, base, walk.positions((from, to)));
        let lost: Vec<_> = lay_there
            .iter()
            .filter(|line| !alive.is_dead(line))
            .collect();
        let what = if lost.is_empty() && !lay_there.is_empty() {
            format!("{what}: only dead articles lay there, nothing is lost")
        } else {
            report.lost += 1;
            let kept = match repair {
                true => "; what is left of it is kept in bad/, feed it again",
                false => "",
            };
            format!("{what}: {}{kept}", names_of(&lost))
        };
        let room = LOST_IDS_MAX.saturating_sub(report.lost_ids.len());
        let ids = lost.iter().take(room).map(|line| line.id.to_vec());
        report.lost_ids.extend(ids);
        report.tell(&path, from, what, repair);
        if repair {
            repair::put_aside(&**disk, dir, &path, &*file, (from, to))?;
            views_bad = true;
        }
    }
    if walk.lost_its_table() {
        report.tell(
            &path,
            0,
            "the table that tells where its articles lie is damaged",
            repair,
        );
        if repair {
            repack::repack(segments, base, alive, None)?;
        }
    }
    Ok(views_bad)
}

/// True when `.exp` has the lines of `.his` that belong there, but perhaps for those of dead articles.
fn exceptions_agree(disk: &dyn Disk, path: &Path, his: History<'_>, alive: Visibility<'_>) -> bool {
    let Some(exp) = map_whole(disk, path) else {
        return false;
    };
    let mut wanted = Exceptions::default();
    for line in his.text().split_inclusive(|&b| b == b'\n') {
        look_at(&mut wanted, line);
    }
    let lines = |text| crate::history::lines(text).map(|(_, line)| line);
    let there: HashSet<&[u8]> = lines(exp.bytes()).collect();
    let wanted: HashSet<&[u8]> = lines(wanted.lines()).collect();
    let is_dead = |line: &&[u8]| HistoryLine::parse(line).is_some_and(|line| alive.is_dead(&line));
    let is_whole = exp.bytes().is_empty() || exp.bytes().ends_with(b"\n");
    // Of a thinned history the lines are gone that some others came too early for.
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

/// Which articles were lost, the first of them by name.
fn names_of(lost: &[&HistoryLine<'_>]) -> String {
    let names: Vec<_> = lost
        .iter()
        .take(LOST_NAMED)
        .map(|line| {
            let (id, links) = [line.id, line.links]
                .map(|bytes| String::from_utf8_lossy(bytes))
                .into();
            format!("{id} ({links})")
        })
        .collect();
    match (names.as_slice(), lost.len().saturating_sub(names.len())) {
        ([], _) => "an article was lost to damage".to_owned(),
        (names, 0) => format!("lost to damage: {}", names.join(", ")),
        (names, more) => format!("lost to damage: {} and {more} more", names.join(", ")),
    }
}

fn map_whole(disk: &dyn Disk, path: &Path) -> Option<crate::io::map::MapRef> {
    let file = disk.open(path, Open::Read).ok()?;
    file.map(file.length().ok()?).ok()
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
    if !expected.finds(record.line(), alive) {
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

/// Links under which an article can still be read.
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

/// Every cancel of the log must be in `cancels`, and no other but those of segments that are gone.
fn check_cancels(
    spool: &mut Spool,
    seen: &Seen,
    before: &[u8],
    report: &mut Report,
    repair: bool,
) -> Result<(), Error> {
    let append = &spool.derived.cancels;
    let path = append.path.clone();
    let at = |source| Error::io("read", &path, source);
    let mut text = vec![0; append.length()? as usize];
    let got = append.file.read_at(&mut text, 0).map_err(at)?;
    text.truncate(got);
    let bases = spool.segments.bases()?;
    let mut there = HashSet::new();
    let mut bad = None;
    for (offset, line) in crate::history::lines(&text) {
        let right = Cancels::parse_line(line).is_some_and(|(position, _)| {
            there.insert(position);
            match seen.cancels.get(&position) {
                Some(told) => told.strip_suffix(b"\n") == Some(line),
                None => !has_article(spool, &bases, position),
            }
        });
        if !right {
            bad = bad.or(Some(offset));
        }
    }
    // Records of cancels were lost to damage: what they cancelled may have been given back, so it must not come to life.
    let mut again: Vec<(Position, &[u8])> = Vec::new();
    let before = if repair { before } else { b"" };
    for (_, line) in crate::history::lines(before) {
        if let Some((position, id)) = Cancels::parse_line(line)
            && !seen.cancels.contains_key(&position)
            && has_article(spool, &bases, position)
            && spool.find(id)?.and_then(|line| line.position) == Some(Position(position))
        {
            again.push((Position(position), id));
        }
    }
    if !again.is_empty() {
        bad = bad.or(Some(0));
    }
    // Those of segments that are gone may be missing.
    let is_missing =
        |position: &u64| !there.contains(position) && has_article(spool, &bases, *position);
    let is_whole = text.is_empty() || text.ends_with(b"\n");
    if bad.is_none() && (!is_whole || seen.cancels.keys().any(is_missing)) {
        bad = Some(text.len() as u64);
    }
    if let Some(offset) = bad {
        if repair {
            spool.rewrite_cancels()?;
            for (position, id) in again {
                spool.cancel(position, id)?;
            }
            spool.commit()?;
        }
        report.tell(
            &path,
            offset,
            "it does not hold the cancels that .art tells of",
            repair,
        );
    }
    Ok(())
}

/// True when a position lies in a segment that is there.
fn has_article(spool: &Spool, bases: &[u64], position: u64) -> bool {
    base_of(bases, position).is_some_and(|base| {
        let opened = spool.segments.open_art(base, Open::Read);
        opened.is_ok_and(|(_, header)| position - base < header.span)
    })
}

/// Every history line must be found through the index, at its own address.
fn check_index(spool: &mut Spool, report: &mut Report, repair: bool) -> Result<(), Error> {
    let path = spool.dir.join("index");
    let mut missing = 0u64;
    let mut twice = Vec::new();
    let base = spool.art.header.base;
    let mut check = |address: u64, line: &[u8]| {
        if spool.is_forgotten(line)? {
            return Ok(());
        }
        let id = line.split(|&b| b == b'\t').next().unwrap_or_default();
        let believe = |hit: u64| {
            spool.text_at(hit).ok().flatten().is_some_and(|text| {
                is_line_of(text, id) && !spool.is_forgotten(text).unwrap_or(false)
            })
        };
        let found = match spool.index.find(id, believe) {
            // The disk cannot read where it would be.
            Err(Error::Damaged { .. }) => None,
            found => found?,
        };
        match found {
            Some(hit) if hit == address => {}
            None => missing += 1,
            // Found at another address: the id has two lines.
            Some(_) if twice.len() < FINDINGS_MAX => twice.push((address, id.to_vec())),
            Some(_) => {}
        }
        Ok(())
    };
    spool.sealed.each_line(&mut check)?;
    for (offset, line) in spool.derived.lines() {
        check(base + offset, line)?;
    }
    for (address, id) in twice {
        report.tell(
            &path,
            address,
            format!("{} is in history twice", String::from_utf8_lossy(&id)),
            false,
        );
    }
    if missing > 0 {
        if repair {
            spool.rebuild_index()?;
        }
        report.tell(
            &path,
            0,
            format!("{missing} ids of history are not found through it"),
            repair,
        );
    }
    Ok(())
}

/// No group's high mark may be below a number given in it.
fn check_active(
    spool: &mut Spool,
    given: &HashMap<Vec<u8>, UsedNumbers>,
    report: &mut Report,
    repair: bool,
) -> Result<(), Error> {
    let path = spool.dir.join("active");
    for fault in spool.active().bad_lines() {
        report.tell(&path, 0, fault.to_string(), false);
    }
    for (name, given) in given {
        let high = given.high();
        let Some(id) = spool.active().find(name) else {
            continue;
        };
        let told = spool.active().high(id);
        if told < high {
            let name = String::from_utf8_lossy(name);
            report.tell(
                &path,
                0,
                format!("{name}: the high mark is {told}, but {high} was given"),
                repair,
            );
            if repair {
                spool.active_mut().set_high(id, high);
            }
        }
    }
    if repair { spool.publish() } else { Ok(()) }
}
