//! Disk space for the copy of a segment that repacking makes: without it, a full disk could not give back what scattered dead articles use.
//!
//! The file `segments/reserve.new` has the space, as much as the largest segment uses. On a full disk it becomes the file that the copy is written
//! into: its blocks are allocated already, so nobody else gets them meanwhile, and when the copy has replaced the segment, the blocks of that are free
//! for the next reserve.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::io::disk::Open;
use crate::io::free_space::free_bytes_for;
use crate::io::replace::fresh_path;
use crate::log::segments::{SegmentFile, Segments};

/// A smaller segment needs no reserve, bytes.
const SEGMENT_BYTES_MIN: u64 = 512 << 10;
/// The reserve is a multiple of so many bytes, or a power of two below: a growing segment enlarges it now and then.
const STEP_BYTES: u64 = 4 << 20;
/// The reserve is allocated in so many pieces.
const PIECES: u64 = 32;
/// Without a pause between commits, a segment grows to at most this part of its disk, so that the reserve is no larger.
const DISK_PARTS: u64 = 16;

/// The name in the folder of the segments: as that of each unfinished file, it ends with `.new`.
pub const NAME: &str = "reserve.new";

fn path(segments: &Segments) -> PathBuf {
    segments.folder().join(NAME)
}

/// The size of a reserve that suffices for each segment, bytes. A larger one shrinks.
///
/// # Errors
/// The segments cannot be listed.
pub fn fit(segments: &Segments) -> Result<u64, Error> {
    let bases = segments.bases()?;
    let used = bases.iter().map(|base| segments.art_bytes(*base).1);
    let mut largest = used.max().unwrap_or(0);
    if largest >= SEGMENT_BYTES_MIN {
        // The current segment grows to its size.
        let newest = bases.last().copied().unwrap_or(0);
        let header = segments.header(newest).ok().flatten();
        largest = largest.max(header.map_or(0, |header| header.size));
    }
    let wanted = size_for(largest);
    if let Ok(file) = segments.disk().open(&path(segments), Open::Write)
        && file.length().is_ok_and(|length| length > wanted)
    {
        let _ = file.set_length(wanted);
    }
    Ok(wanted)
}

/// The size of a reserve for a segment of so many bytes.
pub fn size_for(bytes: u64) -> u64 {
    match bytes {
        ..SEGMENT_BYTES_MIN => 0,
        SEGMENT_BYTES_MIN..STEP_BYTES => bytes.next_power_of_two(),
        _ => bytes.next_multiple_of(STEP_BYTES),
    }
}

/// Makes a reserve of so many bytes, if there is room. Returns whether there is one: without it, repacking needs free space.
pub fn make(segments: &Segments, wanted: u64) -> bool {
    wanted == 0 || allocate(segments, wanted).unwrap_or(false)
}

fn allocate(segments: &Segments, wanted: u64) -> std::io::Result<bool> {
    let path = path(segments);
    let file = segments.disk().open(&path, Open::Create)?;
    let (length, allocated) = (file.length()?, file.allocated()?);
    let missing = wanted.saturating_sub(allocated);
    if missing == 0 {
        return Ok(true);
    }
    if free_bytes_for(segments.folder(), missing)?.is_some_and(|free| free < missing) {
        return Ok(false);
    }
    // On btrfs, an extent that the copy ends in stays whole.
    let piece = wanted / PIECES;
    let mut ends = (1..=PIECES)
        .map(|number| number * piece)
        .filter(|end| *end > allocated);
    ends.try_for_each(|end| file.allocate(end))
        .or_else(|error| {
            // What was allocated in vain goes back at once.
            file.set_length(length)?;
            Err(error)
        })?;
    Ok(file.allocated()? >= wanted)
}

/// Makes the reserve the file that the copy of a segment is written into. Returns false if there is none.
pub fn take(segments: &Segments, base: u64) -> bool {
    let copy = fresh_path(&segments.path(base, SegmentFile::Art));
    segments.disk().rename(&path(segments), &copy).is_ok()
}

/// Largest size of a segment that is filed into without a pause, bytes.
pub fn without_pause_max(folder: &Path) -> u64 {
    let facts = rustix::fs::statvfs(folder);
    let whole = facts.map_or(0, |disk| disk.f_blocks.saturating_mul(disk.f_frsize));
    match whole {
        // The file system does not report it.
        0 => u64::MAX,
        whole => whole / DISK_PARTS,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::MetadataExt;
    use std::sync::Arc;

    use super::*;
    use crate::io::disk::{Disk, RealDisk};

    #[test]
    fn it_is_as_large_as_the_largest_segment_and_becomes_a_copy() {
        const MIB: u64 = 1 << 20;
        let dir = tempfile::tempdir().unwrap();
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let segments = Segments::of(&disk, dir.path());
        std::fs::create_dir(segments.folder()).unwrap();
        let allocated = || {
            let data = path(&segments).metadata();
            data.map_or(0, |data| data.blocks() * 512 / MIB)
        };
        let make = |bytes| (make(&segments, size_for(bytes)), allocated());
        assert_eq!(make(500 << 10), (true, 0));
        assert!(!take(&segments, 4096) && !path(&segments).exists());
        assert_eq!(make(MIB + 1), (true, 2));
        assert_eq!(make(9 * MIB), (true, 12));
        assert_eq!(make(1 << 60), (false, 12));
        // It does not shrink below what a segment uses.
        let art = segments.path(4096, SegmentFile::Art);
        std::fs::write(&art, vec![7; 3 << 20]).unwrap();
        assert_eq!((fit(&segments).unwrap(), allocated()), (4 * MIB, 4));
        assert!(take(&segments, 4096) && allocated() == 0);
        assert_eq!(fresh_path(&art).metadata().unwrap().len(), 4 * MIB);
        assert_eq!(make(4 * MIB), (true, 4));
    }
}
