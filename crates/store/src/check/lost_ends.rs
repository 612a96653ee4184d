//! The articles that only the history lines know: a segment lost its `.art`, or the end of it.

use std::io::ErrorKind;
use std::path::Path;

use crate::Error;
use crate::check::derived_files::Removals;
use crate::check::offloaded_header::check_header;
use crate::check::report::{LOST_IDS_MAX, Report, names_of};
use crate::expiry::state::ExpiryState;
use crate::expiry::visibility::Visibility;
use crate::history::HistoryLine;
use crate::history::compacted::History;
use crate::index::Index;
use crate::io::disk::{File, Open};
use crate::io::replace::map_whole;
use crate::log::record::{HEADER_BYTES, Head};
use crate::log::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::log::segments::{SegmentFile, Segments};

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
        let lines = crate::history::lines(History::of_map(&map).text());
        let lines = lines.filter_map(|(_, line)| {
            let line = HistoryLine::parse(line)?;
            Some((line.position?.0.checked_sub(base)?, line))
        });
        let mut lost: Vec<(u64, HistoryLine<'_>)> = Vec::new();
        let mut last = None;
        for (offset, line) in lines {
            match offset < end {
                true => last = Some((offset, line)),
                false => lost.push((offset, line)),
            }
        }
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
        let last = last_filed(History::of_map(&map))?.position?;
        let offset = last.0.checked_sub(*base)?;
        let length = file.map_or(0, |file| length_at(&*file, offset));
        (offset >= end || offset + length > end).then(|| Error::Damaged {
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
