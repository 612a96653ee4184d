//! A disk that loses what was not synced: ext4 on a loop device, whose file system is shut down without writing anything more, and mounted
//! again by what its journal has. To the store it is another run of the machine then.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::program::Program;

/// Size of the device.
const SIZE: &str = "1G";

pub struct Lossy {
    image: PathBuf,
    at: PathBuf,
    cutter: PathBuf,
    boots: AtomicU64,
}

fn succeeds(program: &str, words: &[&Path]) -> bool {
    let done = Command::new(program).args(words).output();
    done.is_ok_and(|done| done.status.success())
}

impl Lossy {
    /// Moves the news directory `news` onto such a disk. `None` where this user may not: a reason was printed.
    pub fn under(program: &Program, room: &Path) -> Option<Lossy> {
        let cutter = room.join("cut_power");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/chaos/cut_power.c");
        let lossy = Lossy {
            image: program.path("disk.img"),
            at: program.path("news"),
            boots: AtomicU64::new(0),
            cutter,
        };
        let before = program.path("before");
        let image = &lossy.image;
        let made = succeeds(
            "cc",
            &["-O1".as_ref(), "-o".as_ref(), &lossy.cutter, &source],
        ) && succeeds("truncate", &["-s".as_ref(), SIZE.as_ref(), image])
            && succeeds("mkfs.ext4", &["-q".as_ref(), "-F".as_ref(), image]);
        std::fs::rename(&lossy.at, &before).unwrap();
        std::fs::create_dir(&lossy.at).unwrap();
        if !made || !lossy.mount() {
            std::fs::remove_dir(&lossy.at).unwrap();
            std::fs::rename(&before, &lossy.at).unwrap();
            eprintln!("skipped: lost power (it needs root, cc, mkfs.ext4 and a loop device)");
            return None;
        }
        let copied = Command::new("cp")
            .arg("-a")
            .arg(before.join("."))
            .arg(&lossy.at)
            .status();
        assert!(copied.unwrap().success());
        // The directory of a disk's root is none of ours.
        let _ = std::fs::remove_dir(lossy.at.join("lost+found"));
        Some(lossy)
    }

    fn mount(&self) -> bool {
        succeeds(
            "mount",
            &["-o".as_ref(), "loop".as_ref(), &self.image, &self.at],
        )
    }

    /// From now on nothing reaches the disk.
    pub fn cut(&self) {
        assert!(succeeds(self.cutter.to_str().unwrap(), &[&self.at]));
    }

    /// The machine starts again: what was not synced is gone. Returns the name of this run of the machine, or `None` while a program still
    /// uses the old one.
    pub fn start(&self) -> Option<String> {
        if !succeeds("umount", &[&self.at]) {
            return None;
        }
        // The old one may stay mounted in the mount namespace of another test, and would be mounted again: a copy is another disk.
        let copy = self.image.with_extension("copy");
        let copied = succeeds("cp", &["--sparse=always".as_ref(), &self.image, &copy]);
        assert!(copied, "the disk cannot be copied after a power cut");
        std::fs::rename(&copy, &self.image).unwrap();
        assert!(self.mount(), "the disk cannot be mounted after a power cut");
        Some(self.boot())
    }

    fn boot(&self) -> String {
        let boot = self.boots.fetch_add(1, Ordering::SeqCst) + 1;
        format!("00000000-0000-4000-8000-{boot:012}\n")
    }
}

impl Drop for Lossy {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.at).output();
    }
}
