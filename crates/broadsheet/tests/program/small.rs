//! File systems that are soon full.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::Program;

/// The file of [`Small::fill`].
const FILLER: &str = "filler";

/// A small file system in memory, gone at the end.
pub struct Small(PathBuf);

impl Small {
    /// `None` where this user may not.
    pub fn mount(at: &Path, size: &str) -> Option<Small> {
        let options = format!("size={size}");
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs"])
            .arg(at)
            .output();
        done.is_ok_and(|done| done.status.success())
            .then(|| Small(at.to_owned()))
    }

    /// Moves the news directory `news` into a small file system. `None` where this user may not.
    pub fn under(program: &Program, size: &str) -> Option<Small> {
        let (news, copied) = (program.path("news"), program.path("copied"));
        std::fs::rename(&news, &copied).unwrap();
        std::fs::create_dir(&news).unwrap();
        let Some(small) = Small::mount(&news, size) else {
            std::fs::remove_dir(&news).unwrap();
            std::fs::rename(&copied, &news).unwrap();
            eprintln!("skipped: a full disk (no file system may be mounted here)");
            return None;
        };
        let done = Command::new("cp")
            .args(["-a", "copied/.", "news"])
            .current_dir(program.path(""))
            .status();
        assert!(done.unwrap().success());
        Some(small)
    }

    /// Fills it with a file, up to so many KiB.
    pub fn fill(&self, free_kib: u64) {
        let mut filler = File::create(self.0.join(FILLER)).unwrap();
        let piece = vec![0; 1 << 20];
        let mut size = 0;
        while let Ok(count @ 1..) = filler.write(&piece) {
            size += count as u64;
        }
        filler.set_len(size.saturating_sub(free_kib << 10)).unwrap();
    }

    /// Removes that file.
    pub fn make_room(&self) {
        std::fs::remove_file(self.0.join(FILLER)).unwrap();
    }

    pub fn grow(&self, size: &str) {
        let options = format!("remount,size={size}");
        let done = Command::new("mount")
            .args(["-o", &options])
            .arg(&self.0)
            .status();
        assert!(done.unwrap().success());
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
