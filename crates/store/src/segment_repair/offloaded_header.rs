//! Checks that the header of a segment whose articles are in the object store names its object.

use std::path::PathBuf;

use crate::Error;
use crate::history::HistoryLine;
use crate::history::compacted::History;
use crate::io::disk::{File, Open};
use crate::io::replace::map_whole;
use crate::log::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::log::segments::{SegmentFile, Segments};
use crate::log::walk::{Step, Walk};

/// Fails if the header of a segment is damaged and its articles are in the object store: the header alone names the object, so nothing can be
/// computed from the articles, and the other files of the segment must stay.
///
/// # Errors
/// [`Error::UnknownObject`]; the file cannot be read.
pub fn check_header(segments: &Segments, base: u64) -> Result<(), Error> {
    let path = segments.path(base, SegmentFile::Art);
    let at = |source| Error::io("read", &path, source);
    let file = segments.disk().open(&path, Open::Read).map_err(at)?;
    let header = SegmentHeader::read(&*file, &path);
    let what = match header.and_then(|header| header.check_base(base, &path)) {
        Err(Error::Damaged { what, .. }) => what,
        _ => return Ok(()),
    };
    let names_object = SegmentHeader::names_object(&*file).map_err(at)?;
    // It may be damaged, too. Where the Cancel-Locks lie and records are missing, they are away, or their move was interrupted.
    let has_locks = segments.length(base, SegmentFile::Clk).is_ok();
    if names_object || has_locks && !has_all_records(segments, base, &*file)? {
        return Err(unknown_object(path, base, what));
    }
    Ok(())
}

fn unknown_object(path: PathBuf, base: u64, what: &str) -> Error {
    let what = format!(
        "{what}, and the name of the object that has its articles is lost: copy segments/{base:020}-*.art from the object store in its place (if the object is lost, too, docs/book/offload.md says how to give its articles up)"
    );
    Error::UnknownObject { path, what }
}

/// Whether a file has the records up to the last article of its history, without a gap.
fn has_all_records(segments: &Segments, base: u64, file: &dyn File) -> Result<bool, Error> {
    let his = map_whole(&**segments.disk(), &segments.path(base, SegmentFile::His));
    let his = his.unwrap_or_default();
    let lines = crate::history::lines(History::of_map(&his).text());
    let positions = lines.filter_map(|(_, line)| HistoryLine::parse(line)?.position);
    let last = positions.map(|position| position.0).max();
    let path = segments.path(base, SegmentFile::Art);
    let at = |source| Error::io("read", &path, source);
    let mut walk = Walk::as_it_lies(file, SEGMENT_HEADER_BYTES, u64::MAX).map_err(at)?;
    let mut end = 0;
    while let Some(step) = walk.next().map_err(at)? {
        match step {
            Step::Record(offset, _) => end = base + offset,
            Step::Gap { .. } => return Ok(false),
        }
    }
    Ok(last.is_none_or(|last| last <= end))
}
