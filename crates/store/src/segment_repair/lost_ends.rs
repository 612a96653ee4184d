//! The articles that only the history lines know: a segment lost its `.art`, or the end of it.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::Path;

use crate::Error;
use crate::expiry::state::ExpiryState;
use crate::expiry::visibility::Visibility;
use crate::history::HistoryLine;
use crate::history::compacted::History;
use crate::index::Index;
use crate::io::disk::{File, Open};
use crate::io::replace::map_whole;
use crate::log::position::SegmentRange;
use crate::log::record::{HEADER_BYTES, Head};
use crate::log::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::log::segments::{SegmentFile, Segments};
use crate::log::walk::{Step, Walk};
use crate::report::{LOST_IDS_MAX, Report, names_of};
use crate::segment_repair::derived_files::Removals;
use crate::segment_repair::offloaded_header::check_header;

/// Reports the visible articles whose records lay behind the end of `.art`, or in a missing one, before their history lines go. Opening the
/// store, or moving the files to bad/, does that next.
pub fn report_lost_ends(segments: &Segments, dir: &Path, report: &mut Report) -> Result<(), Error> {
    let disk = &**segments.disk();
    let expired = ExpiryState::read(disk, dir)?.unwrap_or_default();
    let cancelled = Removals::of_file(disk, dir).unwrap_or_default().cancelled;
    let alive = Visibility {
        expired: &expired,
        cancelled: &cancelled,
    };
    for base in segments.bases_with(&[SegmentFile::Ovr])? {
        let Some((file, mut end)) = end_of(segments, base) else {
            continue;
        };
        let Some(map) = map_whole(disk, &segments.path(base, SegmentFile::His)) else {
            continue;
        };
        let range = segments.range(base)?;
        let (last, mut lost) = split_at_end(History::of_map(&map), range, (file.as_deref(), end));
        if let (Some((offset, line)), Some(file)) = (last, &file)
            && offset + length_at(&**file, offset) > end
        {
            // Its own end is behind that of the file.
            end = offset;
            lost.insert(0, (offset, line));
        }
        let lost: Vec<&HistoryLine<'_>> = lost
            .iter()
            .map(|(_, line)| line)
            .filter(|line| alive.has(line))
            .collect();
        if lost.is_empty() {
            continue;
        }
        report.lost += 1;
        let room = LOST_IDS_MAX.saturating_sub(report.lost_ids.len());
        let ids = lost.iter().take(room).map(|line| line.id.to_vec());
        report.lost_ids.extend(ids);
        let path = segments.path(base, SegmentFile::Art);
        report.tell(
            &path,
            end,
            format!("it ends here: {}", names_of(&lost)),
            true,
        );
    }
    Ok(())
}

/// A history line, and the offset in the segment that its position names.
type Placed<'h> = (u64, HistoryLine<'h>);

/// The last line of a history whose record begins before the end of `.art`, and the lines behind it, whose records lay behind the end. A line with a
/// position of another segment, one with a later line before the end, and one whose article has a record behind the last line are damaged, and tell of
/// no lost article.
pub fn split_at_end<'h>(
    history: History<'h>,
    range: SegmentRange,
    (file, end): (Option<&dyn File>, u64),
) -> (Option<Placed<'h>>, Vec<Placed<'h>>) {
    let mut last = None;
    let mut behind = Vec::new();
    for (_, text) in crate::history::lines(history.text()) {
        let placed =
            HistoryLine::parse(text).and_then(|line| Some((range.offset(line.position?)?, line)));
        match placed {
            Some(placed) if placed.0 < end => {
                last = Some(placed);
                behind.clear();
            }
            Some(placed) => behind.push(placed),
            None => {}
        }
    }
    if let Some(file) = file.filter(|_| !behind.is_empty()) {
        let from = last.map_or(SEGMENT_HEADER_BYTES, |(offset, _)| offset);
        // What cannot be read is not there.
        let there = ids_from(file, from).unwrap_or_default();
        behind.retain(|(_, line)| !there.contains(line.id));
    }
    (last, behind)
}

/// The ids in the records of a file from an offset on.
fn ids_from(file: &dyn File, from: u64) -> std::io::Result<HashSet<Vec<u8>>> {
    let mut ids = HashSet::new();
    let mut walk = Walk::as_it_lies(file, from, u64::MAX)?;
    while let Some(step) = walk.next()? {
        if let Step::Record(_, record) = step
            && record.head.kind.has_history_line()
            && let Some(line) = HistoryLine::parse(record.line())
        {
            ids.insert(line.id.to_vec());
        }
    }
    Ok(ids)
}

/// The sealed segments whose `.art` ends before the end of their last article, each as an error. Reads the last history line of each.
///
/// # Errors
/// The directory cannot be read.
pub fn cut_files(segments: &Segments) -> Result<Vec<Error>, Error> {
    let bases = segments.bases()?;
    let Some((_, sealed)) = bases.split_last() else {
        return Ok(Vec::new());
    };
    let fault = |base: &u64| {
        let (file, end) = end_of(segments, *base)?;
        let map = map_whole(&**segments.disk(), &segments.path(*base, SegmentFile::His))?;
        let history = History::of_map(&map);
        let is_before = |offset: u64| {
            let length = file.as_ref().map_or(0, |file| length_at(&**file, offset));
            offset < end && offset + length <= end
        };
        let next = bases.iter().find(|next| *next > base).copied();
        let range = segments.range_before(*base, next);
        let last = range.offset(last_filed(history)?.position?);
        if last.is_some_and(is_before) {
            return None;
        }
        // The number in the last line may be damaged.
        let (last, behind) = split_at_end(history, range, (file.as_deref(), end));
        let is_cut = last.is_some_and(|(offset, _)| !is_before(offset));
        (is_cut || !behind.is_empty()).then(|| Error::Damaged {
            path: segments.path(*base, SegmentFile::Art),
            offset: end,
            what: "it ends before its last article",
        })
    };
    Ok(sealed.iter().filter_map(fault).collect())
}

/// The error about the segment that the index calls the current one, if its `.art` is missing or ends before what was committed. Asks only a mark
/// that a power cut cannot have taken back.
///
/// # Errors
/// The index or the segments cannot be read.
pub fn current_fault(segments: &Segments, dir: &Path) -> Result<Option<Error>, Error> {
    // Before the segments: the mark may move on meanwhile, and its segment stays.
    let Some(index) = Index::open_to_read(&**segments.disk(), dir, None)? else {
        return Ok(None);
    };
    let mark = index.applied(segments.run_id());
    let Some(mark) = mark.or(index.checkpoint()) else {
        return Ok(None);
    };
    let damaged = |offset, what| {
        Some(Error::Damaged {
            path: segments.path(mark.base, SegmentFile::Art),
            offset,
            what,
        })
    };
    Ok(match segments.length(mark.base, SegmentFile::Art) {
        Err(error) if error.kind() == ErrorKind::NotFound => damaged(0, CURRENT_MISSING),
        Ok(end) if end < mark.art_end => damaged(end, "it ends before what was committed"),
        _ => None,
    })
}

/// What is said of a missing segment that the index calls the current one.
const CURRENT_MISSING: &str = "it is missing, and articles were filed into it last: put it back, or all its articles are lost";

/// The segments of which only the history is left, although expire did not remove their last article: each as an error. Reads the last line of
/// each such history.
///
/// # Errors
/// The segments, what has expired or what was removed cannot be read.
pub fn lost_but_history(segments: &Segments, dir: &Path) -> Result<Vec<Error>, Error> {
    let disk = &**segments.disk();
    // In this order: expire forgets cancels after it has removed segments, and removes them after it has said what has expired.
    let cancelled = Removals::of_file(disk, dir)?.cancelled;
    let (whole, lost) = (segments.bases()?, segments.lost()?);
    let mut bases = segments.bases_with(&[SegmentFile::His])?;
    let oldest = whole.first().copied().unwrap_or(0);
    bases.retain(|base| {
        *base > oldest && whole.binary_search(base).is_err() && !lost.contains(base)
    });
    let Some(expired) = ExpiryState::read(disk, dir)? else {
        return Ok(Vec::new());
    };
    let alive = Visibility {
        expired: &expired,
        cancelled: &cancelled,
    };
    let fault = |base: &u64| {
        let map = map_whole(disk, &segments.path(*base, SegmentFile::His))?;
        let last = last_filed(History::of_map(&map))?;
        alive.has(&last).then(|| segments.lost_error(*base))
    };
    Ok(bases.iter().filter_map(fault).collect())
}

/// The last line of an article.
fn last_filed(history: History<'_>) -> Option<HistoryLine<'_>> {
    let mut lines = history.text().rsplit(|byte| *byte == b'\n');
    lines.find_map(|line| HistoryLine::parse(line).filter(|line| line.position.is_some()))
}

/// The file with the records of a segment, and its end; 0 where it is missing. `None`: the articles do not lie at their positions, or not here.
fn end_of(segments: &Segments, base: u64) -> Option<(Option<Box<dyn File>>, u64)> {
    let path = segments.path(base, SegmentFile::Art);
    if matches!(
        check_header(segments, base),
        Err(Error::UnknownObject { .. })
    ) {
        return None;
    }
    let file = match segments.open(base, SegmentFile::Art, Open::Read) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Some((None, 0)),
        Err(_) => return None,
    };
    let length = file.length().ok()?;
    if length >= SEGMENT_HEADER_BYTES {
        let header = SegmentHeader::read(&*file, &path).ok()?;
        if header.moved_at != 0 || header.object.is_some() {
            return None;
        }
    }
    Some((Some(file), length))
}

/// The bytes of the record at an offset; 0 if they cannot be told.
fn length_at(file: &dyn File, offset: u64) -> u64 {
    let mut head = [0; HEADER_BYTES];
    let got = file.read_at(&mut head, offset);
    let head = got.ok().and_then(|_| Head::parse(&head));
    head.map_or(0, |head| u64::from(head.length))
}
