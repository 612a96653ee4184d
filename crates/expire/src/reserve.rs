//! Disk space reserved for expire itself: on a completely full disk expire could not even log its decision.
//!
//! The file `reserve` in the news directory takes the space; expire removes it when the disk is full, and creates it again
//! when there is space.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};

/// Name of the file in the news directory.
const NAME: &str = "reserve";
/// Size of the file, bytes: enough for the log of a run and the derived files of a new segment.
pub const RESERVE_BYTES: u64 = 2 << 20;

/// Creates the reserve if it is missing and the file system supports allocation.
pub fn create(dir: &Path) {
    let path = dir.join(NAME);
    if path.exists() {
        return;
    }
    let made = File::create(&path).and_then(|file| {
        fallocate(&file, FallocateFlags::empty(), 0, RESERVE_BYTES).map_err(io::Error::from)
    });
    if made.is_err() {
        // The next run tries again. An empty file would reserve nothing.
        let _ = fs::remove_file(&path);
    }
}

/// Removes the reserve. Returns false if there is none.
pub fn release(dir: &Path) -> bool {
    fs::remove_file(dir.join(NAME)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn it_takes_space_until_it_is_released() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!release(dir.path()));
        create(dir.path());
        create(dir.path());
        let told = fs::metadata(dir.path().join(NAME)).unwrap();
        assert!(told.blocks() * 512 >= RESERVE_BYTES);
        assert!(release(dir.path()));
        assert!(!dir.path().join(NAME).exists());
    }
}
