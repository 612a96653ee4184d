//! The records of one state in the log.
//!
//! The text of a record is changes to the state; after a first line `=` it is a whole copy, which replaces everything before it. Each
//! segment begins with a whole copy of every state, so the newest segment is enough.

use std::path::Path;

use crate::Error;
use crate::io::disk::Open;
use crate::io::salvage::Salvage;
use crate::log::record::Kind;
use crate::log::segment::SEGMENT_HEADER_BYTES;
use crate::log::segments::{SegmentFile, Segments};
use crate::log::walk::{Step, Walk};

/// The first line of a whole copy.
pub const WHOLE_COPY: &[u8] = b"=\n";

/// Calls `apply` with the texts that make a state, from the last segment that begins with a whole copy.
pub fn each_text(
    segments: &Segments,
    dir: &Path,
    kind: Kind,
    mut apply: impl FnMut(&[u8]),
) -> Result<(), Error> {
    // What the disk cannot read is left out: filing must not stop for it, and fsck reports it.
    let segments = &Segments::of(&Salvage::of(segments.disk().clone()), dir);
    let bases = segments.bases()?;
    let mut from = 0;
    for (place, &base) in bases.iter().enumerate().rev() {
        if begins_with_copy(segments, base, kind)? {
            from = place;
            break;
        }
    }
    for &base in bases.get(from..).unwrap_or_default() {
        segments.each_record(base, |_, record| {
            if record.head.kind == kind {
                apply(record.line());
            }
        })?;
    }
    Ok(())
}

/// Whether a segment has a whole copy of a state among the copies at its beginning. It has none if its beginning was cut short, if it is the
/// first segment, or if the copy was too large.
fn begins_with_copy(segments: &Segments, base: u64, kind: Kind) -> Result<bool, Error> {
    let path = segments.path(base, SegmentFile::Art);
    let at = |source| Error::io("read", &path, source);
    let file = segments
        .open(base, SegmentFile::Art, Open::Read)
        .map_err(at)?;
    let mut walk = Walk::new(&*file, SEGMENT_HEADER_BYTES, u64::MAX).map_err(at)?;
    while let Some(Step::Record(_, record)) = walk.next().map_err(at)? {
        match record.head.kind {
            found if found == kind && record.line().starts_with(WHOLE_COPY) => {
                return Ok(true);
            }
            other if other.is_state() => {}
            _ => break,
        }
    }
    Ok(false)
}
