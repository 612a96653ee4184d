//! Checks that the object store has the articles of a segment, and names them if it has lost them; and the Cancel-Locks of these articles.

use std::num::NonZeroU64;

use crate::Error;
use crate::expiry::visibility::Visibility;
use crate::history::HistoryLine;
use crate::history::compacted::History;
use crate::io::replace::map_whole;
use crate::log::segments::{SegmentFile, Segments};
use crate::offload::cancel_locks;
use crate::offload::object_name::ObjectName;
use crate::offload::objects;
use crate::report::{LOST_IDS_MAX, Report, names_of};

/// Whether the object of a segment is missing, or has another length. Reports it then, with its visible articles. An object that cannot be used
/// is reported, too, and its articles are not lost.
///
/// # Errors
/// [`Error::ObjectStore`] if the store does not answer.
pub fn is_lost(
    segments: &Segments,
    (base, object): (u64, Option<NonZeroU64>),
    report: &mut Report,
    alive: Visibility<'_>,
) -> Result<bool, Error> {
    let Some(name) = object.map(|sum| ObjectName { base, sum }) else {
        return Ok(false);
    };
    let length = match objects::of(segments.directory())?.length(name) {
        Err(error) if error.is_of_one_object() => {
            let path = segments.path(base, SegmentFile::Art);
            report.tell(&path, 0, error.to_string(), false);
            return Ok(true);
        }
        length => length?,
    };
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
