//! The articles that only the history lines know: a segment lost its `.art`, or the end of it.

use std::path::Path;

use crate::Error;
use crate::check::derived_files::Removals;
use crate::check::offloaded_header::check_header;
use crate::check::report::{LOST_IDS_MAX, Report, names_of};
use crate::expiry::state::ExpiryState;
use crate::expiry::visibility::Visibility;
use crate::history::HistoryLine;
use crate::history::compacted::History;
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
        let text = History::of_map(&map).text();
        let mut lines = text.rsplit(|byte| *byte == b'\n');
        let last = lines.find_map(|line| HistoryLine::parse(line)?.position)?;
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
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some((None, 0)),
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
