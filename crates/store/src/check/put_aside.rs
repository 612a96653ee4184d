//! Takes damaged bytes out of the log.

use std::path::Path;

use crate::Error;
use crate::io::disk::{Disk, File, Open};
use crate::io::replace::sync_parent;
use crate::log::record::{ALIGN, Commit, HEADER_BYTES, Kind, Lengths, begin, finish};

/// Copies damaged bytes to `bad/` and overwrites them by a pad record, so that the log is valid again. Also at the end of the file, which
/// may grow by that: it is never truncated, since readers may have mapped it.
pub fn put_aside(
    disk: &dyn Disk,
    dir: &Path,
    path: &Path,
    file: &dyn File,
    (from, to): (u64, u64),
) -> Result<(), Error> {
    let at = |source| Error::io("mend", path, source);
    let length = file.length().map_err(at)?;
    let mut bytes = vec![0; (to - from) as usize];
    let whole = bytes.len().next_multiple_of(ALIGN).max(HEADER_BYTES);
    let padded = if to >= length { whole } else { bytes.len() };
    file.read_at(&mut bytes, from).map_err(at)?;
    let name = path
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned())
        .unwrap_or_default();
    let aside = dir.join("bad").join(format!("art.{name}.{from}"));
    let copy = disk
        .open(&aside, Open::Truncate)
        .map_err(|source| Error::io("make", &aside, source))?;
    copy.write_at(&bytes, 0)
        .and_then(|()| copy.sync())
        .map_err(|source| Error::io("write", &aside, source))?;
    // Before the original is overwritten.
    sync_parent(disk, &aside)?;
    file.write_at(&pad(padded), from)
        .and_then(|()| file.sync())
        .map_err(at)
}

/// A pad record of this many bytes; zeros (a hole) if none fits.
fn pad(length: usize) -> Vec<u8> {
    let mut pad = Vec::with_capacity(length);
    if length >= HEADER_BYTES && length.is_multiple_of(ALIGN) {
        let start = begin(&mut pad);
        pad.resize(length, 0);
        // Commit sequence 0: it belongs to no commit.
        let commit = Commit {
            commit_sequence: 0,
            start,
        };
        finish(&mut pad, start, Kind::Pad, commit, Lengths::default());
    } else {
        pad.resize(length, 0);
    }
    pad
}
