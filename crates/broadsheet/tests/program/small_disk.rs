//! A small file system for the news directory `news` of a test, unmounted with the test, also when it panics.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{FallocateFlags, fallocate, syncfs};

use super::Program;

/// With little space on one, the commits of others decide when it is full.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const BLOCK_BYTES: u64 = 4096;

pub struct SmallDisk {
    pub at: PathBuf,
    _alone: MutexGuard<'static, ()>,
}

impl SmallDisk {
    /// Makes one of a kind and a size, with these words for `mkfs.KIND` and options for mount. `None`, and a line that says so, where this machine
    /// or this user cannot.
    pub fn new(
        program: &Program,
        kind: &str,
        mib: u64,
        make: &[&str],
        options: &str,
    ) -> Option<SmallDisk> {
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let (image, at) = (program.path("image"), program.path("news"));
        File::create(&image).unwrap().set_len(mib << 20).unwrap();
        std::fs::create_dir(&at).unwrap();
        let mut mkfs = Command::new(format!("mkfs.{kind}"));
        mkfs.args(make).arg(&image);
        let mut mount = Command::new("mount");
        mount.args(["-t", kind, "-o", options]).args([&image, &at]);
        for command in [&mut mkfs, &mut mount] {
            if !command.output().is_ok_and(|done| done.status.success()) {
                eprintln!("skipped: {kind} (needs root, loop devices and mkfs.{kind})");
                return None;
            }
        }
        // `init` accepts an empty directory.
        let _ = std::fs::remove_dir(at.join("lost+found"));
        Some(SmallDisk { at, _alone: alone })
    }

    /// Free bytes, when the file system has written what it holds back.
    pub fn free(&self) -> u64 {
        syncfs(File::open(&self.at).unwrap()).unwrap();
        store::free_bytes(&self.at).unwrap().unwrap()
    }

    /// Allocates all but so many bytes, or about: of what is free, btrfs needs some itself.
    pub fn fill(&self, left: u64) {
        let filler = File::create(self.at.join("filler")).unwrap();
        let (mut length, mut piece) = (0, self.free());
        while piece >= BLOCK_BYTES {
            let bytes = piece.min(self.free().saturating_sub(left));
            let bytes = bytes - bytes % BLOCK_BYTES;
            let flags = FallocateFlags::empty();
            if bytes > 0 && fallocate(&filler, flags, length, bytes).is_ok() {
                length += bytes;
            } else {
                piece /= 2;
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).output();
    }
}
