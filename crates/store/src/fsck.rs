//! Checks every file of the store against `.art`, and mends what can be mended.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::active_file::ActiveFile;
use crate::disk::{Disk, Open, RealDisk};
use crate::history::HistoryLine;
use crate::overview;
use crate::position::{View, segment_path};
use crate::record::{Commit, Kind, Lengths, Record, begin, finish};
use crate::recover::{rebuild_active, rebuild_views};
use crate::row::push_row_of;
use crate::segment::{SEGMENT_HEADER_BYTES, Step, Walk};
use crate::spool::{Options, Spool, is_line_of};
use crate::{Error, segment};

/// Findings told one by one; more are only counted.
pub const FINDINGS_MAX: usize = 1000;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub path: PathBuf,
    /// Where in it, bytes.
    pub offset: u64,
    /// What is wrong, in a sentence.
    pub what: String,
    /// True when it was mended.
    pub mended: bool,
}

/// What a check found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Segments looked at.
    pub segments: u64,
    /// Sound articles.
    pub articles: u64,
    /// History lines.
    pub lines: u64,
    /// Bytes of sound records.
    pub bytes: u64,
    /// Holes: runs of zeros where expire gave space back.
    pub holes: u64,
    /// What opening mended by itself.
    pub notices: Vec<String>,
    /// What is wrong, the first [`FINDINGS_MAX`].
    pub findings: Vec<Finding>,
    /// How much is wrong in all.
    pub faults: u64,
}

impl Report {
    fn tell(&mut self, path: &Path, offset: u64, what: impl Into<String>, mended: bool) {
        self.faults += 1;
        if self.findings.len() < FINDINGS_MAX {
            self.findings.push(Finding {
                path: path.to_owned(),
                offset,
                what: what.into(),
                mended,
            });
        }
    }

    /// True when nothing is wrong, or all of it was mended.
    pub fn is_clean(&self) -> bool {
        self.faults == 0
            || (self.faults <= FINDINGS_MAX as u64
                && self.findings.iter().all(|finding| finding.mended))
    }
}

/// Checks a news directory; holds its lock meanwhile.
pub fn fsck(dir: &Path, repair: bool) -> Result<Report, Error> {
    fsck_on(Arc::new(RealDisk), dir, repair)
}

/// As [`fsck`], on another disk.
pub fn fsck_on(disk: Arc<dyn Disk>, dir: &Path, repair: bool) -> Result<Report, Error> {
    let mut report = Report::default();
    if repair {
        mend_active(&disk, dir, &mut report)?;
    }
    let mut spool = Spool::open_on(
        disk.clone(),
        dir,
        Options {
            repair,
            ..Options::default()
        },
    )?;
    report.notices = spool.notices.clone();
    let segments = dir.join("segments");
    let mut highs: HashMap<Vec<u8>, u64> = HashMap::new();
    let mut current_views_bad = false;
    for base in segment::list(&*disk, &segments)? {
        let is_current = base == spool.art.header.base;
        let end = if is_current {
            spool.art.growing.end
        } else {
            u64::MAX
        };
        let views_bad = check_segment(
            &disk,
            &segments,
            (base, end),
            &mut highs,
            &mut report,
            repair,
        )?;
        report.segments += 1;
        if views_bad && repair && !is_current {
            rebuild_views(&disk, dir, base)?;
        }
        current_views_bad |= views_bad && is_current;
    }
    if current_views_bad && repair {
        // Without its index the store replays the current segment whole, and makes the index anew.
        drop(spool);
        let index = dir.join("index");
        disk.remove(&index)
            .map_err(|source| Error::io("remove", &index, source))?;
        spool = Spool::open_on(
            disk.clone(),
            dir,
            Options {
                repair,
                ..Options::default()
            },
        )?;
    }
    check_index(&mut spool, &mut report, repair)?;
    check_active(&mut spool, &highs, &mut report, repair)?;
    Ok(report)
}

/// A damaged active is put aside and made again from the log, before anything else needs it.
fn mend_active(disk: &Arc<dyn Disk>, dir: &Path, report: &mut Report) -> Result<(), Error> {
    let path = dir.join("active");
    let what = match ActiveFile::open(disk, dir) {
        Err(Error::Active { what, .. }) => what,
        Ok(file) => match file.table.faults() {
            [] => return Ok(()),
            [first, ..] => first.to_string(),
        },
        // Missing: opening the spool makes it again.
        Err(_) => return Ok(()),
    };
    let table = rebuild_active(disk, &dir.join("segments"))?;
    let aside = dir.join("bad").join("active");
    disk.rename(&path, &aside)
        .map_err(|source| Error::io("put aside", &path, source))?;
    ActiveFile::create(disk, dir, table)?;
    report.tell(
        &path,
        0,
        format!("{what}: made again from the log, the old one is bad/active"),
        true,
    );
    Ok(())
}

/// The views a segment's `.art` tells of, compared piece by piece with those on the disk.
struct Expected {
    his_map: crate::map::MapRef,
    his_at: u64,
    his_bad: Option<u64>,
    links: u64,
}

/// Checks one segment; returns true when `.his` or `.ovr` are to be made again.
fn check_segment(
    disk: &Arc<dyn Disk>,
    segments: &Path,
    (base, end): (u64, u64),
    highs: &mut HashMap<Vec<u8>, u64>,
    report: &mut Report,
    repair: bool,
) -> Result<bool, Error> {
    let path = segment_path(segments, base, View::Art);
    let at = |source| Error::io("read", &path, source);
    let file = disk
        .open(&path, if repair { Open::Write } else { Open::Read })
        .map_err(at)?;
    let (his_path, ovr_path) = (
        segment_path(segments, base, View::His),
        segment_path(segments, base, View::Ovr),
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
    let mut walk = Walk::new(&*file, SEGMENT_HEADER_BYTES, end).map_err(at)?;
    let mut gaps = Vec::new();
    let mut row = Vec::new();
    let mut rows_bad = None;
    while let Some(step) = walk.next().map_err(at)? {
        match step {
            Step::Gap { empty: true, .. } => report.holes += 1,
            Step::Gap { from, to, .. } => gaps.push((from, to)),
            Step::Record(offset, record) => {
                report.bytes += u64::from(record.head.length);
                check_line(&path, (base, offset), &record, &mut expected, highs, report);
                if record.head.kind == Kind::Article
                    && !views_bad
                    && !rows_agree(&blocks, offset, &record, &mut row)
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
        .map(|group| group.len() as u64)
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
    if expected.his_bad.is_none() && expected.his_at != expected.his_map.bytes().len() as u64 {
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
    for (from, to) in gaps {
        let what = format!(
            "{} bytes are not a sound record: an article was lost to damage",
            to - from
        );
        let what = if repair {
            format!("{what}; its bytes are kept in bad/, feed it again")
        } else {
            what
        };
        report.tell(&path, from, what, repair);
        if repair {
            put_aside(disk, segments, &path, &*file, (from, to))?;
            views_bad = true;
        }
    }
    Ok(views_bad)
}

fn map_whole(disk: &dyn Disk, path: &Path) -> Option<crate::map::MapRef> {
    let file = disk.open(path, Open::Read).ok()?;
    file.map(file.length().ok()?).ok()
}

fn check_line(
    path: &Path,
    (base, offset): (u64, u64),
    record: &Record<'_>,
    expected: &mut Expected,
    highs: &mut HashMap<Vec<u8>, u64>,
    report: &mut Report,
) {
    if !record.head.kind.has_history_line() {
        return;
    }
    report.lines += 1;
    let at = expected.his_at as usize;
    let have = expected.his_map.bytes().get(at..at + record.line().len());
    if have != Some(record.line()) {
        expected.his_bad = expected.his_bad.or(Some(expected.his_at));
    }
    expected.his_at += record.line().len() as u64;
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
        expected.links += 1;
        match highs.get_mut(group) {
            Some(high) if *high >= number => {
                let group = String::from_utf8_lossy(group);
                report.tell(
                    path,
                    offset,
                    format!("{group}/{number} was given before"),
                    false,
                );
            }
            Some(high) => *high = number,
            None => {
                highs.insert(group.to_vec(), number);
            }
        }
    }
}

fn rows_agree(
    blocks: &[overview::Block<'_>],
    offset: u64,
    record: &Record<'_>,
    row: &mut Vec<u8>,
) -> bool {
    let Some(line) = HistoryLine::parse(record.line()) else {
        return false;
    };
    row.clear();
    push_row_of(row, record, line.id);
    line.links().all(|(group, number)| {
        blocks.iter().any(|block| {
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

/// Copies damaged bytes to `bad/` and lays a pad record over them, so that the log is whole again.
fn put_aside(
    disk: &Arc<dyn Disk>,
    segments: &Path,
    path: &Path,
    file: &dyn crate::disk::File,
    (from, to): (u64, u64),
) -> Result<(), Error> {
    let at = |source| Error::io("mend", path, source);
    let mut bytes = vec![0; (to - from) as usize];
    file.read_at(&mut bytes, from).map_err(at)?;
    let name = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    let aside = segments
        .with_file_name("bad")
        .join(format!("art.{name}.{from}"));
    let copy = disk
        .open(&aside, Open::Truncate)
        .map_err(|source| Error::io("make", &aside, source))?;
    copy.write_at(&bytes, 0)
        .and_then(|()| copy.sync())
        .map_err(|source| Error::io("write", &aside, source))?;
    let mut pad = Vec::with_capacity(bytes.len());
    let start = begin(&mut pad);
    pad.resize(bytes.len().max(pad.len()), 0);
    finish(
        &mut pad,
        start,
        Kind::Pad,
        Commit { stamp: 0, start },
        Lengths::default(),
    );
    if pad.len() == bytes.len() {
        file.write_at(&pad, from)
            .and_then(|()| file.sync())
            .map_err(at)?;
    }
    Ok(())
}

/// Every history line must be found through the index, at its own address.
fn check_index(spool: &mut Spool, report: &mut Report, repair: bool) -> Result<(), Error> {
    let path = spool.dir.join("index");
    let mut missing = 0u64;
    let mut twice = Vec::new();
    let base = spool.art.header.base;
    let mut check = |address: u64, line: &[u8]| {
        let id = line.split(|&b| b == b'\t').next().unwrap_or_default();
        let believe = |hit: u64| {
            spool
                .text_at(hit)
                .ok()
                .flatten()
                .is_some_and(|text| is_line_of(text, id))
        };
        match spool.index.find(article::message_id::hash(id), believe) {
            Some(hit) if hit == address => {}
            None => missing += 1,
            // Found at another address: the id has two lines.
            Some(_) if twice.len() < FINDINGS_MAX => twice.push((address, id.to_vec())),
            Some(_) => {}
        }
        Ok(())
    };
    spool.older.each_line(&mut check)?;
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
    highs: &HashMap<Vec<u8>, u64>,
    report: &mut Report,
    repair: bool,
) -> Result<(), Error> {
    let path = spool.dir.join("active");
    for fault in spool.active().faults() {
        report.tell(&path, 0, fault.to_string(), false);
    }
    for (name, &high) in highs {
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
