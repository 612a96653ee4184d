//! The repairs of `fsck --repair` for unusable files.

use std::path::{Path, PathBuf};

use crate::check::empty_tails::cut_empty_tails;
use crate::check::kept_histories::Mended;
use crate::expiry::state::ExpiryState;
use crate::expiry::visibility::Visibility;
use crate::history::compacted::{History, thin};
use crate::history::{self, HistoryLine};
use crate::index::Index;
use crate::index::removal::remove_index;
use crate::io::disk::{Disk, File, Open};
use crate::io::replace::{read_whole, replace, sync_parent};
use crate::log::record::Kind;
use crate::log::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::log::segments::{SegmentFile, Segments};
use crate::log::walk::{Step, Walk};
use crate::report::Report;
use crate::segment_repair::derived_files::{Removals, rebuild_derived, rebuild_lost};
use crate::segment_repair::lost_ends::{current_fault, report_lost_ends};
use crate::segment_repair::offloaded_header::check_header;
use crate::spool::Spool;
use crate::spool::active_file::ActiveFile;
use crate::spool::active_from_log::rebuild_active;
use crate::spool::edited_active::{CUT, is_edited, lost_end, lost_groups};
use crate::spool::options::Options;
use crate::spool::recover;
use crate::{Error, Position};

/// The message for a derived file whose `.art` is missing.
pub const ORPHAN: &str = "its .art is missing: all articles of this segment are lost";

/// Repairs what would prevent opening the spool: `active`, headers of segments, missing derived files.
pub fn before_opening(segments: &Segments, dir: &Path, report: &mut Report) -> Result<(), Error> {
    let disk = segments.disk();
    lost_segments(segments, dir, report)?;
    repair_headers(segments, report)?;
    cut_empty_tails(segments, dir, report)?;
    repair_active(segments, dir, report)?;
    let bases = segments.bases()?;
    let Some((_, sealed)) = bases.split_last() else {
        return Ok(());
    };
    let mut lacking = Vec::new();
    for &base in sealed {
        let mut lacks = false;
        for view in [SegmentFile::His, SegmentFile::Ovr] {
            let path = segments.path(base, view);
            if disk.open(&path, Open::Read).is_err() {
                report.tell(&path, 0, "it was missing: rebuilt from .art", true);
                lacks = true;
            }
        }
        if lacks {
            lacking.push(base);
        }
    }
    if !lacking.is_empty() {
        remove_index(&**disk, dir)?;
    }
    rebuild_lost(segments, dir, &lacking).map(drop)
}

/// Reports the articles that only history knows, and moves the files of segments without `.art` to bad/.
///
/// # Errors
/// A file cannot be read or moved.
pub fn lost_segments(segments: &Segments, dir: &Path, report: &mut Report) -> Result<(), Error> {
    let disk = segments.disk();
    report_lost_ends(segments, dir, report)?;
    let bases = segments.bases()?;
    let lost = segments.lost()?;
    let has_history = |base: &&u64| segments.length(**base, SegmentFile::His).is_ok();
    // Those with a history were reported with the ids of their articles.
    report.lost += lost.iter().filter(|base| !has_history(base)).count() as u64;
    if let Ok(Some(Error::Damaged { path, offset, what })) = current_fault(segments, dir)
        && offset == 0
        && base_of(&path).is_some_and(|base| !lost.contains(&base))
    {
        report.lost += 1;
        report.tell(&path, offset, what, true);
    }
    // The history before the rows, by which the next run would know an orphan after an interruption.
    for path in orphans(segments)?.into_iter().rev() {
        let base = base_of(&path).filter(|base| bases.last() > Some(base));
        let is_history = path.extension().is_some_and(|end| end == "his");
        let kept = match base.filter(|_| is_history) {
            Some(base) => keep_gone_ids(segments, dir, base)?,
            None => {
                set_aside(&**disk, dir, &path)?;
                0
            }
        };
        let kept = match kept {
            0 => String::new(),
            kept => format!(", the ids of {kept} that were gone before are kept"),
        };
        report.tell(&path, 0, format!("{ORPHAN}; moved to bad/{kept}"), true);
    }
    Ok(())
}

/// The derived files of segments whose `.art` is lost ([`Segments::lost`]).
pub fn orphans(segments: &Segments) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    for base in segments.lost()? {
        found.push(segments.path(base, SegmentFile::Ovr));
        if segments.length(base, SegmentFile::His).is_ok() {
            found.push(segments.path(base, SegmentFile::His));
        }
    }
    Ok(found)
}

/// The base in the name of a file of a segment.
fn base_of(path: &Path) -> Option<u64> {
    path.file_stem()?.to_str()?.parse().ok()
}

/// Keeps the ids of the articles that were not there any more when the `.art` of a segment was lost: they stay refused. Copies its `.his` to
/// bad/. Returns their number.
fn keep_gone_ids(segments: &Segments, dir: &Path, base: u64) -> Result<u64, Error> {
    let disk = &**segments.disk();
    let path = segments.path(base, SegmentFile::His);
    let text = read_whole(disk, &path)?.unwrap_or_default();
    let expired = match ExpiryState::read(disk, dir)? {
        Some(expired) => expired,
        None => ExpiryState::fold(segments)?,
    };
    let removals = Removals::of_file(disk, dir)?;
    let visibility = Visibility {
        expired: &expired,
        cancelled: &removals.cancelled,
    };
    let (mut gone, mut kept) = (Vec::new(), 0);
    for (_, line) in history::lines(&text) {
        let Some(known) = HistoryLine::parse(line) else {
            continue;
        };
        if !visibility.has(&known) {
            kept += 1;
            gone.extend_from_slice(line);
            gone.push(b'\n');
        }
    }
    let aside = dir.join("bad").join(path.file_name().unwrap_or_default());
    replace(disk, &aside, |file| file.write_at(&text, 0))?;
    // The addresses of the lines change.
    remove_index(disk, dir)?;
    replace(disk, &path, |file| file.write_at(&gone, 0))?;
    Ok(kept)
}

fn set_aside(disk: &dyn Disk, dir: &Path, path: &Path) -> Result<(), Error> {
    let name = path.file_name().unwrap_or_default();
    let aside = dir.join("bad").join(name);
    disk.rename(path, &aside)
        .map_err(|source| Error::io("put aside", path, source))?;
    sync_parent(disk, &aside)?;
    sync_parent(disk, path)
}

/// Refuses what a repair would make worse: no segments at all, although the index knows of some (their disk is not mounted); and a segment whose
/// header is whole and names another one, so that its file has a wrong name.
///
/// # Errors
/// These two; the segments cannot be listed.
pub fn check_segments(segments: &Segments, dir: &Path) -> Result<(), Error> {
    must_have_segments(segments, dir)?;
    for base in segments.bases()? {
        let named = match segments.header(base) {
            Ok(Some(header)) => header.base,
            // Damaged headers are written anew.
            Ok(None) | Err(_) => base,
        };
        if named != base {
            return Err(Error::WrongName {
                path: segments.path(base, SegmentFile::Art),
                right: segments.path(named, SegmentFile::Art),
            });
        }
    }
    Ok(())
}

/// Refuses a news directory without a single segment, although its index knows of some.
///
/// # Errors
/// That; the segments cannot be listed.
pub fn must_have_segments(segments: &Segments, dir: &Path) -> Result<(), Error> {
    let knows_some = || {
        let index = Index::open_to_read(&**segments.disk(), dir, None);
        index.is_ok_and(|index| index.is_some_and(|index| index.published().is_some()))
    };
    if segments.is_empty()? && knows_some() {
        return Err(segments.none_error());
    }
    Ok(())
}

/// Writes damaged headers anew.
pub fn repair_headers(segments: &Segments, report: &mut Report) -> Result<(), Error> {
    let bases = segments.bases()?;
    for (place, &base) in bases.iter().enumerate() {
        repair_header(segments, base, bases.get(place + 1), report)?;
    }
    Ok(())
}

/// The header has only data that the names of the segments have too.
fn repair_header(
    segments: &Segments,
    base: u64,
    next: Option<&u64>,
    report: &mut Report,
) -> Result<(), Error> {
    let path = segments.path(base, SegmentFile::Art);
    let at = |source| Error::io("mend", &path, source);
    let file = segments
        .open(base, SegmentFile::Art, Open::Write)
        .map_err(at)?;
    let told = match SegmentHeader::read(&*file, &path) {
        Ok(_) => return Ok(()),
        Err(Error::Damaged { what, .. }) => what.to_owned(),
        Err(error) => return Err(error),
    };
    match check_header(segments, base) {
        // Whoever reads the segment reports it.
        Err(Error::UnknownObject { .. }) => return Ok(()),
        checked => checked?,
    }
    let length = file.length().map_err(at)?;
    let span = match next {
        Some(next) => next - base,
        None => Options::default()
            .segment_bytes
            .max(length.next_multiple_of(4096)),
    };
    let moved_at = find_table(&*file, base).map_err(at)?;
    let header = SegmentHeader {
        base,
        span,
        moved_at,
        size: span,
        object: None,
    };
    file.write_at(&header.to_bytes(), 0)
        .and_then(|()| file.sync())
        .map_err(at)?;
    report.tell(&path, 0, format!("{told}: rewritten"), true);
    Ok(())
}

/// The offset of a segment's table, valid or not; 0 if it was not repacked.
fn find_table(file: &dyn File, base: u64) -> std::io::Result<u64> {
    let mut walk = Walk::as_it_lies(file, SEGMENT_HEADER_BYTES, u64::MAX)?;
    let mut end = SEGMENT_HEADER_BYTES;
    let mut is_moved = false;
    while let Some(step) = walk.next()? {
        let Step::Record(at, record) = step else {
            continue;
        };
        if record.head.kind == Kind::Relocation {
            return Ok(at);
        }
        end = at + u64::from(record.head.length);
        is_moved |= record.head.kind == Kind::Article
            && HistoryLine::parse(record.line())
                .and_then(|line| line.position)
                .is_some_and(|position| position.0.checked_sub(base) != Some(at));
    }
    // Its articles are not at their positions: the table after the last of them existed, and is damaged too.
    Ok(if is_moved { end } else { 0 })
}

/// Moves a damaged active to bad/ and makes it again from the log, before it is needed.
fn repair_active(segments: &Segments, dir: &Path, report: &mut Report) -> Result<(), Error> {
    let disk = segments.disk();
    let path = dir.join("active");
    let what = match ActiveFile::open(disk, dir) {
        Err(Error::Active { what, .. }) => what,
        Ok(file) => match (file.table.bad_lines(), file.is_cut) {
            ([first, ..], _) => first.to_string(),
            ([], true) if lost_groups(segments, dir, &file.table).is_some() => CUT.to_owned(),
            ([], _) => {
                let is_edited = is_edited(&**disk, dir, &file).unwrap_or(false);
                match lost_end(segments, dir, &file.table).filter(|_| is_edited) {
                    Some(what) => what,
                    None => return Ok(()),
                }
            }
        },
        // If it is missing, opening the spool makes it again.
        Err(_) => return Ok(()),
    };
    let table = rebuild_active(segments, dir)?;
    let aside = dir.join("bad").join("active");
    disk.rename(&path, &aside)
        .map_err(|source| Error::io("put aside", &path, source))?;
    sync_parent(&**disk, &aside)?;
    ActiveFile::create(disk, dir, table)?;
    report.tell(
        &path,
        0,
        format!("{what}: rebuilt from the log; the old one is bad/active"),
        true,
    );
    Ok(())
}

/// Writes the histories of segments without articles anew, and rebuilds the derived files of the segments `bad`. Those of the current one are
/// rebuilt by a replay: without its index the store
/// replays the last segment completely, and makes a new index.
pub fn derived(spool: Spool, bad: &[u64], histories: &[Mended]) -> Result<Spool, Error> {
    let (current, whole) = (spool.current_base(), spool.log_end());
    let (segments, dir, options, lock) = spool.close();
    let disk = segments.disk();
    remove_index(&**disk, &dir)?;
    write_histories(&**disk, histories)?;
    let removals = Removals::of_file(&**disk, &dir)?;
    for &base in bad.iter().filter(|base| **base != current) {
        rebuild_derived(&segments, &dir, base, &removals)?;
    }
    recover::open_known(&segments, &dir, options, lock, Some(whole))
}

/// Leaves lines out of the histories of sealed segments, given by their addresses. Those of other lines stay.
pub fn leave_out(spool: Spool, addresses: &[u64]) -> Result<Spool, Error> {
    let whole = spool.log_end();
    let (segments, dir, options, lock) = spool.close();
    remove_index(&**segments.disk(), &dir)?;
    for base in segments.bases_with(&[SegmentFile::Art, SegmentFile::His])? {
        let range = segments.range(base)?;
        let is_out = |offset: &u64| addresses.binary_search(&(base + offset)).is_ok();
        let has_any = addresses
            .iter()
            .any(|address| range.offset(Position(*address)).is_some());
        if !has_any || base == whole.base {
            continue;
        }
        let map = segments.map_derived(base, SegmentFile::His)?;
        let lines = History::of_map(&map).lines();
        let text = thin(lines.filter(|(offset, _)| !is_out(offset)), |_| true);
        segments.replace(base, SegmentFile::His, |file| file.write_at(&text, 0))?;
    }
    segments.sync()?;
    recover::open_known(&segments, &dir, options, lock, Some(whole))
}

/// Writes the mended histories of segments without articles. The index was removed before: the addresses of the lines change.
pub fn write_histories(disk: &dyn Disk, histories: &[Mended]) -> Result<(), Error> {
    let mut histories = histories.iter();
    histories
        .try_for_each(|Mended { path, text }| replace(disk, path, |file| file.write_at(text, 0)))
}
