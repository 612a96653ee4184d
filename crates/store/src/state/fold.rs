//! The records of one state in the log.
//!
//! The text of a record is changes to the state; after a first line `=` it is a whole copy, which replaces everything before it. Each
//! segment begins with a whole copy of every state, so the newest segment is enough.

use std::path::Path;

use crate::Error;
use crate::io::disk::Open;
use crate::io::replace::read_whole;
use crate::log::record::Kind;
use crate::log::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::log::segments::{SegmentFile, Segments};
use crate::log::walk::{Step, Walk};

/// The first line of a whole copy.
pub const WHOLE_COPY: &[u8] = b"=\n";

/// Calls `apply` with the texts that make a state, from the last segment that begins with a whole copy. Earlier releases logged no
/// such records: behind their last segment, the file counts as a whole copy.
pub fn each_text(
    segments: &Segments,
    dir: &Path,
    (kind, file): (Kind, &str),
    mut apply: impl FnMut(&[u8]),
) -> Result<(), Error> {
    let bases = segments.bases()?;
    let mut from = 0;
    for (place, &base) in bases.iter().enumerate().rev() {
        match beginning(segments, base, kind)? {
            Beginning::Copy => {
                from = place;
                break;
            }
            Beginning::EarlierRelease => {
                let text = read_whole(&**segments.disk(), &dir.join(file))?;
                let text = text.unwrap_or_default();
                // A power cut may have torn the last line.
                let end = memchr::memrchr(b'\n', &text).map_or(0, |at| at + 1);
                apply(&[WHOLE_COPY, text.get(..end).unwrap_or_default()].concat());
                from = place + 1;
                break;
            }
            Beginning::Other => {}
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

/// The beginning of a segment, as far as one state is concerned.
enum Beginning {
    /// A whole copy, among those of other states.
    Copy,
    /// An earlier release began the segment and logged no such states.
    EarlierRelease,
    /// No copy: its beginning was cut short, it is the first segment, or the copy was too large.
    Other,
}

fn beginning(segments: &Segments, base: u64, kind: Kind) -> Result<Beginning, Error> {
    let path = segments.path(base, SegmentFile::Art);
    let at = |source| Error::io("read", &path, source);
    let file = segments
        .open(base, SegmentFile::Art, Open::Read)
        .map_err(at)?;
    // A damaged header says nothing; fsck reports it.
    if SegmentHeader::read(&*file, &path).is_ok_and(|header| !header.logs_states) {
        return Ok(Beginning::EarlierRelease);
    }
    let mut walk = Walk::new(&*file, SEGMENT_HEADER_BYTES, u64::MAX).map_err(at)?;
    while let Some(Step::Record(_, record)) = walk.next().map_err(at)? {
        match record.head.kind {
            found if found == kind && record.line().starts_with(WHOLE_COPY) => {
                return Ok(Beginning::Copy);
            }
            other if other.is_state() => {}
            _ => break,
        }
    }
    Ok(Beginning::Other)
}
