//! Disk space that is kept for the way out of a full disk: on a completely full one not even a decision that frees space could be written.
//!
//! A file in the news directory takes the space. Who has to write although the disk is full removes the file, and makes it again when there
//! is space.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate, statvfs};

use crate::Error;
use crate::io::free_space::free_bytes;
use crate::io::regular;

/// Space that expire keeps for its decision, bytes: enough for the log of a run and the derived files of a new segment.
pub const RESERVE_BYTES: u64 = 2 << 20;
/// Most space that a node of a cluster keeps, bytes.
pub const NODE_RESERVE_BYTES_MAX: u64 = 64 << 20;
/// A node keeps at most this part of its file system.
const NODE_PART: u64 = 64;
/// A node makes its reserve again when so many times its size is free.
const FREE_TIMES: u64 = 4;

/// A file that keeps space.
#[derive(Debug)]
pub struct Reserve {
    path: PathBuf,
    bytes: u64,
    /// Free space without which it is not made, bytes.
    free_least: u64,
}

impl Reserve {
    /// The reserve of expire: space for its decision.
    pub fn of_expire(dir: &Path) -> Reserve {
        Reserve {
            path: dir.join("reserve"),
            bytes: RESERVE_BYTES,
            free_least: 0,
        }
    }

    /// The reserve of a node of a cluster: space for what the log still has in front of the decision of an expire.
    pub fn of_node(dir: &Path) -> Reserve {
        let whole = statvfs(dir).map_or(0, |told| told.f_blocks.saturating_mul(told.f_frsize));
        let bytes = NODE_RESERVE_BYTES_MAX.min(whole / NODE_PART);
        Reserve {
            path: dir.join("reserve.node"),
            bytes,
            free_least: bytes.saturating_mul(FREE_TIMES),
        }
    }

    /// Does it, and on a full disk again with the reserved space.
    ///
    /// # Errors
    /// Those of `attempt`.
    pub fn with<T>(&self, attempt: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
        match attempt() {
            Err(error) if error.is_disk_full() && self.release() => attempt(),
            done => done,
        }
    }

    /// Its size, bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether so little space is free that the file would not be made.
    pub fn is_short(&self) -> bool {
        self.has_less_than(self.free_least)
    }

    /// Whether so little space is free that expire could not write its decision.
    pub fn is_very_short(&self) -> bool {
        self.has_less_than(RESERVE_BYTES)
    }

    fn has_less_than(&self, bytes: u64) -> bool {
        let free = self.path.parent().and_then(|dir| free_bytes(dir).ok()?);
        free.is_some_and(|free| free < bytes)
    }

    /// Makes the file if it is missing, there is room, and the file system supports allocation.
    pub fn create(&self) {
        // A kill may have left an empty file.
        let told = fs::metadata(&self.path);
        let is_made = told.is_ok_and(|told| told.blocks().saturating_mul(512) >= self.bytes);
        if self.bytes == 0 || is_made || self.is_short() {
            return;
        }
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true);
        let made = regular::open_with(&self.path, options).and_then(|file| {
            fallocate(&file, FallocateFlags::empty(), 0, self.bytes).map_err(io::Error::from)
        });
        if made.is_err() {
            // The next run tries again. An empty file would reserve nothing.
            let _ = fs::remove_file(&self.path);
        }
    }

    /// Removes the file. Returns false if there is none.
    pub fn release(&self) -> bool {
        fs::remove_file(&self.path).is_ok()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn it_takes_space_until_it_is_released() {
        let dir = tempfile::tempdir().unwrap();
        for reserve in [Reserve::of_expire(dir.path()), Reserve::of_node(dir.path())] {
            assert!(!reserve.release());
            fs::File::create(&reserve.path).unwrap();
            reserve.create();
            reserve.create();
            let told = fs::metadata(&reserve.path).unwrap();
            assert!(told.blocks() * 512 >= reserve.bytes());
            assert!(reserve.release());
            assert!(!reserve.path.exists());
        }
    }

    #[test]
    fn it_takes_no_space_that_is_short() {
        let dir = tempfile::tempdir().unwrap();
        let reserve = Reserve {
            free_least: u64::MAX,
            ..Reserve::of_expire(dir.path())
        };
        assert!(reserve.is_short());
        reserve.create();
        assert!(!reserve.path.exists());
    }
}
