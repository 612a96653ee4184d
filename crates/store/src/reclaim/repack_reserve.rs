//! Disk space for the copy of a segment that repacking makes: without it, a full disk could not give back what scattered dead articles use.
//!
//! The file `segments/reserve.new` has the space, as much as the largest segment uses. On a full disk it becomes the file that the copy is written
//! into: its blocks are allocated already, so nobody else gets them meanwhile, and when the copy has replaced the segment, the blocks of that are free
//! for the next reserve.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::io::disk::Open;
use crate::io::free_space::free_bytes;
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

/// Makes a reserve that suffices for each segment, if there is room; a larger one shrinks. Returns its size, bytes.
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
    let wanted = wanted(largest);
    if let Ok(file) = segments.disk().open(&path(segments), Open::Write)
        && file.length().is_ok_and(|length| length > wanted)
    {
        let _ = file.set_length(wanted);
    }
    Ok(grow(segments, largest))
}

/// Makes a reserve that suffices for a segment of so many bytes, if there is room. Returns the size that it should have, bytes.
pub fn grow(segments: &Segments, bytes: u64) -> u64 {
    let wanted = wanted(bytes);
    // Without it, repacking needs free space, as it did before. The next new segment and the next run of expire try again.
    let _ = allocate(segments, wanted);
    wanted
}

/// The size of a reserve for a segment of so many bytes.
fn wanted(bytes: u64) -> u64 {
    match bytes {
        ..SEGMENT_BYTES_MIN => 0,
        SEGMENT_BYTES_MIN..STEP_BYTES => bytes.next_power_of_two(),
        _ => bytes.next_multiple_of(STEP_BYTES),
    }
}

fn allocate(segments: &Segments, wanted: u64) -> std::io::Result<()> {
    if wanted == 0 {
        return Ok(());
    }
    let path = path(segments);
    let file = segments.disk().open(&path, Open::Create)?;
    let (length, allocated) = (file.length()?, file.allocated()?);
    let missing = wanted.saturating_sub(allocated);
    if missing == 0 || free_bytes(segments.folder())?.is_some_and(|free| free < missing) {
        return Ok(());
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
        })
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
        assert_eq!((grow(&segments, 500 << 10), allocated()), (0, 0));
        assert!(!take(&segments, 4096) && !path(&segments).exists());
        assert_eq!((grow(&segments, MIB + 1), allocated()), (2 * MIB, 2));
        assert_eq!((grow(&segments, 9 * MIB), allocated()), (12 * MIB, 12));
        // It does not shrink below what a segment uses.
        let art = segments.path(4096, SegmentFile::Art);
        std::fs::write(&art, vec![7; 3 << 20]).unwrap();
        assert_eq!((fit(&segments).unwrap(), allocated()), (4 * MIB, 4));
        assert!(take(&segments, 4096) && allocated() == 0);
        assert_eq!(fresh_path(&art).metadata().unwrap().len(), 4 * MIB);
        assert_eq!((grow(&segments, 4 * MIB), allocated()), (4 * MIB, 4));
    }
}
