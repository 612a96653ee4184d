//! Checks that the header of a segment names its object, that the object store has the articles, and names them if it has lost them; and the Cancel-Locks of these articles.

use std::io;
use std::num::NonZeroU64;

use crate::Error;
use crate::check::report::{LOST_IDS_MAX, Report};
use crate::check::segment_files::{map_whole, names_of};
use crate::expiry::visibility::Visibility;
use crate::history::HistoryLine;
use crate::history::compacted::History;
use crate::io::disk::{File, Open};
use crate::log::segment::{SEGMENT_HEADER_BYTES, SegmentHeader, VERSION};
use crate::log::segments::{SegmentFile, Segments};
use crate::log::walk::{Step, Walk};
use crate::offload::cancel_locks;
use crate::offload::object_name::ObjectName;
use crate::offload::objects;

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
    let mut version = [0; 2];
    let names_object = file.read_at(&mut version, 8).map_err(at)? == version.len()
        && version == VERSION.to_le_bytes();
    // It may be damaged, too. Where the Cancel-Locks lie and records are missing, they are away, or their move was interrupted.
    let has_locks = segments.length(base, SegmentFile::Clk).is_ok();
    if names_object || has_locks && has_gap(&*file).map_err(at)? {
        let what = format!(
            "{what}, and the name of the object that has its articles is lost: copy segments/{base:020}-*.art from the object store in its place"
        );
        return Err(Error::UnknownObject { path, what });
    }
    Ok(())
}

/// Whether records are missing in a file.
fn has_gap(file: &dyn File) -> io::Result<bool> {
    let mut walk = Walk::as_it_lies(file, SEGMENT_HEADER_BYTES, u64::MAX)?;
    while let Some(step) = walk.next()? {
        if matches!(step, Step::Gap { .. }) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the object of a segment is missing, or has another length. Reports it then, with its visible articles.
///
/// # Errors
/// [`Error::ObjectStore`].
pub fn is_lost(
    segments: &Segments,
    (base, object): (u64, Option<NonZeroU64>),
    report: &mut Report,
    alive: Visibility<'_>,
) -> Result<bool, Error> {
    let Some(name) = object.map(|sum| ObjectName { base, sum }) else {
        return Ok(false);
    };
    let length = objects::of(segments.directory())?.length(name)?;
    if length == Some(segments.art_bytes(base).0) {
        return Ok(false);
    }
    let his = map_whole(&**segments.disk(), &segments.path(base, SegmentFile::His));
    let his = his.unwrap_or_default();
    let lines = crate::history::lines(History::of_map(&his).text());
    let lines = lines.filter_map(|(_, line)| HistoryLine::parse(line));
    let lost: Vec<HistoryLine<'_>> = lines.filter(|line| alive.has(line)).collect();
    let what = match length {
        None => format!("the object store does not have {name}"),
        Some(_) => format!("{name} in the object store has another length"),
    };
    let lost: Vec<&HistoryLine<'_>> = lost.iter().collect();
    let path = segments.path(base, SegmentFile::Art);
    let names = names_of(&lost);
    let told = format!("{what}; {names}");
    report.tell(&path, 0, told, false);
    report.lost += lost.len() as u64;
    let room = LOST_IDS_MAX.saturating_sub(report.lost_ids.len());
    let ids = lost.iter().take(room).map(|line| line.id.to_vec());
    report.lost_ids.extend(ids);
    Ok(true)
}

/// Checks that the Cancel-Locks of a segment are there and whole; in a repair, makes them again from the articles.
///
/// # Errors
/// [`Error::ObjectStore`]; the file cannot be read or written.
pub fn check_cancel_locks(
    segments: &Segments,
    base: u64,
    report: &mut Report,
    repair: bool,
) -> Result<(), Error> {
    let Some(what) = cancel_locks::fault(segments, base)? else {
        return Ok(());
    };
    report.tell(&segments.path(base, SegmentFile::Clk), 0, what, repair);
    if repair {
        cancel_locks::write(segments, base)?;
        segments.sync()?;
    }
    Ok(())
}
