//! Segments whose `.art` ends with a hole: a damaged number made the file longer than what was filed in it.

use std::path::Path;

use crate::Error;
use crate::index::removal::remove_index;
use crate::io::disk::{BLOCK_BYTES, File, Open};
use crate::log::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::log::segments::{SegmentFile, Segments};
use crate::log::walk::{Step, Walk};
use crate::report::Report;

/// The offset from which on a segment's file is a hole without a record; `None` if there is no such hole of a block or more. Reads the records only if
/// the last block of the file is a hole.
///
/// # Errors
/// The file cannot be read.
pub fn empty_tail(file: &dyn File) -> std::io::Result<Option<u64>> {
    let length = file.length()?;
    let block = BLOCK_BYTES as u64;
    let last = length.saturating_sub(block).max(SEGMENT_HEADER_BYTES);
    if length < last + block || file.next_data(last)? < length {
        return Ok(None);
    }
    let mut walk = Walk::as_it_lies(file, SEGMENT_HEADER_BYTES, u64::MAX)?;
    let mut tail = None;
    while let Some(step) = walk.next()? {
        tail = match step {
            // The hole of dead articles has a record.
            Step::Gap {
                from, empty: true, ..
            } => Some(from),
            Step::Gap { .. } | Step::Record(..) => None,
        };
    }
    Ok(tail.filter(|from| length - from >= block))
}

/// Cuts such holes off, before the store is opened. The index goes first if the segment is the last one: its marks may lie in the hole.
///
/// # Errors
/// A file cannot be read or cut.
pub fn cut_empty_tails(segments: &Segments, dir: &Path, report: &mut Report) -> Result<(), Error> {
    let bases = segments.bases()?;
    for &base in &bases {
        let path = segments.path(base, SegmentFile::Art);
        let at = |doing| {
            let path = path.clone();
            move |source| Error::io(doing, &path, source)
        };
        let file = segments.disk().open(&path, Open::Write);
        let file = file.map_err(at("open"))?;
        // A cache of an object has holes everywhere.
        if SegmentHeader::read(&*file, &path).map_or(true, |header| header.object.is_some()) {
            continue;
        }
        let Some(from) = empty_tail(&*file).map_err(at("read"))? else {
            continue;
        };
        let bytes = file.length().map_err(at("read"))? - from;
        if bases.last() == Some(&base) {
            remove_index(&**segments.disk(), dir)?;
        }
        file.set_length(from)
            .and_then(|()| file.sync())
            .map_err(at("cut"))?;
        report.tell(&path, from, format!("{}: cut off", no_data(bytes)), true);
    }
    Ok(())
}

/// The finding about such a hole of so many bytes.
pub fn no_data(bytes: u64) -> String {
    format!("its last {bytes} bytes hold no data, and nothing was filed there")
}
