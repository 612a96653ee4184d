//! A little space kept back for expire itself: on a disk that is full to the last byte it could not even log what goes.
//!
//! The file `reserve` in the news directory takes it up; expire gives it up when the disk is full, and makes it again when
//! there is space.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};

/// Its name in the news directory.
const NAME: &str = "reserve";
/// Bytes of it: what expire logs at once, and the views of a segment that it begins.
pub const RESERVE_BYTES: u64 = 2 << 20;

/// Makes the reserve, where there is none and the file system can set space aside.
pub fn keep(dir: &Path) {
    let path = dir.join(NAME);
    if path.exists() {
        return;
    }
    let made = File::create(&path).and_then(|file| {
        fallocate(&file, FallocateFlags::empty(), 0, RESERVE_BYTES).map_err(io::Error::from)
    });
    if made.is_err() {
        // The next run tries again. An empty file would keep nothing back.
        let _ = fs::remove_file(&path);
    }
}

/// Gives it up. False: there is none.
pub fn give_up(dir: &Path) -> bool {
    fs::remove_file(dir.join(NAME)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn it_takes_up_space_until_it_is_given_up() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!give_up(dir.path()));
        keep(dir.path());
        keep(dir.path());
        let told = fs::metadata(dir.path().join(NAME)).unwrap();
        assert!(told.blocks() * 512 >= RESERVE_BYTES);
        assert!(give_up(dir.path()));
        assert!(!dir.path().join(NAME).exists());
    }
}
