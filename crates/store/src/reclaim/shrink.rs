//! Reclaims the dead space in a sealed segment that still has visible articles.
//!
//! Long runs of dead records are punched out of `.art`. Scattered ones cannot be, nor any where the file system keeps the space of holes (btrfs): if they
//! exceed a share of the segment, it is repacked instead; a smaller share waits until more articles are dead. Where a repack finds no space, it
//! gets that of the reserve; without one, each dead block is punched first: on btrfs, too, that returns the extents that are dead as a whole.

use crate::expiry::state::remembered_from;
use crate::expiry::survey::Survey;
use crate::history::HistoryLine;
use crate::history::compacted::thin;
use crate::io::disk::{File, Open};
use crate::log::relocation::Relocation;
use crate::log::repack_reserve;
use crate::log::segment::SegmentHeader;
use crate::log::segments::{SegmentFile, Segments};
use crate::offload;
use crate::overview::GroupRows;
use crate::overview::merge::merge_rows;
use crate::reclaim::{punch, repack};
use crate::{Error, Snapshot};

/// The result of shrinking a segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shrunk {
    /// It was repacked.
    pub repacked: bool,
    /// Number of holes made in it.
    pub holes: u64,
    /// Number of runs that stay because the file system does not support holes.
    pub refused: u64,
    /// Dead bytes that stay for now, because they are few and scattered.
    pub held: u64,
    /// The disk was too full to repack it: every dead block was returned, and `held` bytes stay until there is space.
    pub is_unfinished: bool,
    /// Time of arrival before which ids may be forgotten, so that its history can shrink.
    pub due: Option<i64>,
}

/// Shrinks the files of a sealed segment. `dead_part` is the share, 0 to 1, of scattered dead records above which
/// the segment is repacked. `renew` makes the reserve for repacking again.
pub fn shrink(
    segments: &Segments,
    snapshot: &Snapshot,
    base: u64,
    dead_part: f64,
    renew: &dyn Fn(),
) -> Result<Shrunk, Error> {
    let survey = snapshot.survey(base)?;
    let path = segments.path(base, SegmentFile::Art);
    let at = |source| Error::io("shrink", &path, source);
    let open = || {
        segments
            .open(base, SegmentFile::Art, Open::Write)
            .map_err(at)
    };
    let mut file = open()?;
    let header = SegmentHeader::read(&*file, &path)?;
    let found = Dead::find(&survey, snapshot, &*file, &header).map_err(at)?;
    let found = found.ok_or_else(|| Error::Damaged {
        path: path.clone(),
        offset: header.moved_at,
        what: "the table that tells where its articles lie",
    })?;
    let stays_away = header.object.is_some() && found.bytes() <= found.live;
    if header.object.is_some() && !stays_away {
        // More than half of the object is of no use. What is left goes there again with the next run that moves segments away.
        offload::recall(segments, base, &header)?;
        file = open()?;
    }
    survey.was_readable()?;
    let rows = || {
        drop_rows(segments, &survey, snapshot, dead_part)?;
        match found.runs.is_empty() {
            true => Ok(()),
            false => drop_exceptions(segments, &survey, snapshot),
        }
    };
    let mut told = match found.scattered() > found.held_max(dead_part) {
        // An object cannot have holes.
        _ if stays_away => rows().map(|()| Shrunk {
            held: found.bytes(),
            ..Shrunk::default()
        }),
        true => {
            let runs = Some(found.runs.as_slice());
            let repack = |how| repack::repack(segments, base, snapshot.visibility(), runs, how);
            let (mut repacked, with_rows) = std::thread::scope(|threads| {
                let rows = threads.spawn(rows);
                let repacked = repack(Open::Truncate);
                (repacked, rows.join().unwrap_or(Err(Error::Stopped)))
            });
            let is_full = |done: &Result<(), Error>| done.as_ref().is_err_and(Error::is_disk_full);
            let mut told = Shrunk {
                repacked: true,
                ..Shrunk::default()
            };
            let is_reserved = is_full(&repacked) && repack_reserve::take(segments, base);
            if is_reserved {
                repacked = repack(Open::Write);
            }
            if is_full(&repacked) {
                let least = punch::HOLE_BYTES_MIN_ON_FULL_DISK;
                let punched = punch_runs(snapshot, &*file, (&found, least)).map_err(at)?;
                match repack(Open::Truncate) {
                    Err(error) if error.is_disk_full() => {
                        told = Shrunk {
                            is_unfinished: true,
                            ..punched
                        }
                    }
                    done => done?,
                }
            } else {
                repacked?;
            }
            // The space of a repacked segment is free when nobody has it open.
            drop(file);
            if is_reserved {
                renew();
            }
            match is_full(&with_rows) {
                true => rows()?,
                false => with_rows?,
            }
            Ok(told)
        }
        // Holes first: they need no space, so that a full disk has some for the other files.
        false => {
            let least = punch::HOLE_BYTES_MIN;
            let punched = punch_runs(snapshot, &*file, (&found, least)).map_err(at)?;
            rows().map(|()| punched)
        }
    }?;
    // Last: without the lines of dead articles a later run could not tell where they lie.
    if !told.is_unfinished {
        compact_history(segments, &survey, snapshot, (&found.ids, dead_part))?;
    }
    told.due = found.ids.due;
    Ok(told)
}

/// Punches the runs of dead articles out of `.art` that are worth a hole of `least` bytes.
fn punch_runs(
    snapshot: &Snapshot,
    file: &dyn File,
    (found, least): (&Dead, u64),
) -> std::io::Result<Shrunk> {
    let mut told = Shrunk {
        held: found.held(least),
        ..Shrunk::default()
    };
    for &run in found
        .runs
        .iter()
        .filter(|run| punch::worth(**run, least) > 0)
    {
        let punched = punch::punch(file, run, least, snapshot.visibility())?;
        told.holes += punched.holes;
        told.refused += punched.refused;
    }
    Ok(told)
}

/// The dead share of a segment, 0 to 1, about: of its rows, without reading its history.
pub fn dead_part(survey: &Survey, snapshot: &Snapshot) -> f64 {
    let alive = snapshot.visibility();
    let of_group = |rows: GroupRows<'_>| {
        let (first, last) = (rows.number_at(0), rows.last_number());
        let cut = rows.place_of(alive.expired.cut(rows.name));
        let is_here = |number: &u64| rows.range(*number, *number).next().is_some();
        let survivors = alive.expired.survivors_in(rows.name, (first, last));
        let survivors = survivors.filter(is_here);
        let early = alive.expired.early(rows.name);
        let early = early.filter(|number| (first..=last).contains(number) && is_here(number));
        cut.saturating_sub(survivors.count()) + early.count()
    };
    let expired: usize = survey.groups().map(of_group).sum();
    let dead = expired + alive.cancelled.count_from(survey.base());
    dead as f64 / survey.rows().max(1) as f64
}

/// The dead articles of a segment's file.
struct Dead {
    /// From the first dead record of a run to the next visible article. Records of other types may lie between.
    runs: Vec<(u64, u64)>,
    /// Whether the file system returns the space of holes.
    holes_return_space: bool,
    /// Bytes of the visible articles.
    live: u64,
    ids: Ids,
}

/// The ids of a segment.
#[derive(Default)]
struct Ids {
    all: u32,
    /// Those that may be forgotten.
    forgotten: u32,
    /// The time when there will be more of them.
    due: Option<i64>,
}

impl Dead {
    /// Computed from the history lines, without reading the articles. `None` if the table of a repacked segment is damaged.
    fn find(
        survey: &Survey,
        snapshot: &Snapshot,
        file: &dyn File,
        header: &SegmentHeader,
    ) -> std::io::Result<Option<Dead>> {
        let moved = match header.moved_at {
            0 => None,
            at => match Relocation::read(file, at)? {
                Some(moved) => Some(moved),
                None => return Ok(None),
            },
        };
        let end = file.length()?;
        let in_file = |position: u64| match &moved {
            Some(moved) => moved.at_or_behind(position),
            None => position.min(end),
        };
        let mut found = Dead {
            runs: Vec::new(),
            holes_return_space: file.holes_return_space(),
            live: 0,
            ids: Ids::default(),
        };
        // The article before: its start, and whether it is dead.
        let mut last: Option<(u64, bool)> = None;
        let alive = snapshot.visibility();
        for line in survey.lines() {
            // Evaluated once for all: it is most of the work of shrinking.
            let is_kept = alive.expired.keeps_any(&line);
            found.ids.add(&line, is_kept, alive.expired.forget_before());
            let Some(position) = line.position else {
                continue;
            };
            let offset = position.0.saturating_sub(survey.base());
            let at = in_file(offset);
            found.add(last, at);
            last = Some((at, !is_kept || alive.cancelled.contains(position)));
        }
        found.add(last, in_file(u64::from(u32::MAX)));
        Ok(Some(found))
    }

    fn add(&mut self, article: Option<(u64, bool)>, end: u64) {
        let Some((start, dead)) = article.filter(|(start, _)| *start < end) else {
            return;
        };
        match self.runs.last_mut() {
            _ if !dead => self.live += end - start,
            Some(run) if run.1 == start => run.1 = end,
            _ => self.runs.push((start, end)),
        }
    }

    fn bytes(&self) -> u64 {
        self.runs.iter().map(|(start, end)| end - start).sum()
    }

    /// Dead bytes that no usual hole frees.
    fn scattered(&self) -> u64 {
        self.held(punch::HOLE_BYTES_MIN)
    }

    /// Dead bytes that no hole of at least so many bytes frees.
    fn held(&self, least: u64) -> u64 {
        let worth = |run: &(u64, u64)| punch::worth(*run, least);
        match self.holes_return_space {
            true => self.bytes() - self.runs.iter().map(worth).sum::<u64>(),
            false => self.bytes(),
        }
    }

    /// Maximum of scattered dead bytes that stay.
    fn held_max(&self, dead_part: f64) -> u64 {
        (dead_part * (self.live + self.scattered()) as f64) as u64
    }
}

/// Rewrites `.ovr` without the rows of expired articles, if they are a large enough share, or the segment was sealed without merging its blocks.
fn drop_rows(
    segments: &Segments,
    survey: &Survey,
    snapshot: &Snapshot,
    dead_part: f64,
) -> Result<(), Error> {
    let expired = snapshot.expired();
    let kept: Vec<GroupRows<'_>> = survey
        .groups()
        .flat_map(|rows| {
            let in_group = expired.in_group(rows.name);
            rows.runs(|number| in_group.keeps(number))
        })
        .collect();
    let left: usize = kept.iter().map(GroupRows::len).sum();
    let all = survey.rows();
    if survey.is_merged() && all.saturating_sub(left as u64) as f64 <= dead_part * all as f64 {
        return Ok(());
    }
    if !survey.is_whole() {
        // Merging would give damage a valid checksum.
        return Err(Error::Damaged {
            path: segments.path(survey.base(), SegmentFile::Ovr),
            offset: 0,
            what: "its rows are not whole",
        });
    }
    segments.replace(survey.base(), SegmentFile::Ovr, |file| {
        merge_rows(kept, |at, piece| file.write_at(piece, at)).map(drop)
    })
}

impl Ids {
    fn add(&mut self, line: &HistoryLine<'_>, is_kept: bool, forget_before: i64) {
        self.all += 1;
        if is_kept {
            return;
        }
        let from = remembered_from(line);
        if from < forget_before {
            self.forgotten += 1;
        } else {
            self.due = self.due.max(Some(from.saturating_add(1)));
        }
    }
}

/// Rewrites `.his` without the lines that may be forgotten, if they are a large enough share.
fn compact_history(
    segments: &Segments,
    survey: &Survey,
    snapshot: &Snapshot,
    (ids, dead_part): (&Ids, f64),
) -> Result<(), Error> {
    if f64::from(ids.forgotten) <= dead_part * f64::from(ids.all) {
        return Ok(());
    }
    let text = thin(survey.history_lines(), |line| {
        !snapshot.expired().forgets_line(line)
    });
    segments.replace(survey.base(), SegmentFile::His, |file| {
        file.write_at(&text, 0)
    })
}

/// Rewrites `.exp` without expired articles, except those that break the order of arrival or of numbers: a search must skip them.
fn drop_exceptions(segments: &Segments, survey: &Survey, snapshot: &Snapshot) -> Result<(), Error> {
    let expired = snapshot.expired();
    let mut kept = Vec::new();
    let mut dropped = false;
    for (text, line) in survey.exception_lines() {
        if !line.expires.is_absent() && !line.is_late && !expired.keeps_any(&line) {
            dropped = true;
        } else {
            kept.extend_from_slice(text);
            kept.push(b'\n');
        }
    }
    if !dropped {
        return Ok(());
    }
    segments.replace(survey.base(), SegmentFile::Exp, |file| {
        file.write_at(&kept, 0)
    })
}
