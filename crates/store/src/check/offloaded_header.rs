//! Checks that the header of a segment whose articles are in the object store names its object.

use std::io;

use crate::Error;
use crate::io::disk::{File, Open};
use crate::log::segment::{SEGMENT_HEADER_BYTES, SegmentHeader, VERSION};
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
