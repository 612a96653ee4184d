//! On btrfs a hole returns no space until its whole extent is free: expire rewrites there, and a second run for the same need removes nothing.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)] // helpers of tests, too

use crate::program;

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use program::Program;
use program::articles::{batch, many};

const ACTIVE: &str = "comp.short 0 1 y\ncomp.long 0 1 y\n";
/// Articles of a group that are filed in a row: a run that is long enough for a hole.
const IN_A_ROW: usize = 100;
const BODY_BYTES: usize = 4000;
const DAY_SECONDS: u64 = 86_400;

/// With little space on one, the others' commits decide when it is full.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A small btrfs, unmounted at the end.
struct Mounted(PathBuf, #[allow(dead_code)] MutexGuard<'static, ()>);

impl Mounted {
    /// `None`, and a line that says so, where this machine or this user cannot.
    fn new(program: &Program, options: &str) -> Option<Mounted> {
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let (image, at) = (program.path("image"), program.path("news"));
        let file = std::fs::File::create(&image).unwrap();
        file.set_len(256 << 20).unwrap();
        std::fs::create_dir(&at).unwrap();
        let mut make = Command::new("mkfs.btrfs");
        make.args(["-q", "-M"]).arg(&image);
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "btrfs", "-o", options])
            .args([&image, &at]);
        for command in [&mut make, &mut mount] {
            if !command.output().is_ok_and(|done| done.status.success()) {
                eprintln!("skipped: btrfs (needs root, loop devices and mkfs.btrfs)");
                return None;
            }
        }
        Some(Mounted(at, alone))
    }

    /// Free bytes, when the file system has written what it holds back.
    fn free(&self) -> u64 {
        let dir = std::fs::File::open(&self.0).unwrap();
        rustix::fs::syncfs(&dir).unwrap();
        store::free_bytes(&self.0).unwrap().unwrap()
    }

    /// Allocates all but so many bytes.
    fn fill(&self, left: u64) {
        let filler = std::fs::File::create(self.0.join("filler")).unwrap();
        let bytes = self.free().saturating_sub(left);
        rustix::fs::fallocate(&filler, rustix::fs::FallocateFlags::empty(), 0, bytes).unwrap();
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).output();
    }
}

/// Articles that expire after 10 days and after 60, in turn; `keep_free` asks for so many bytes more than are free.
fn filed(options: &str, left: Option<u64>, missing: u64) -> Option<(Program, Mounted)> {
    let program = Program::new();
    let mounted = Mounted::new(&program, options)?;
    program.write("active.list", ACTIVE.as_bytes());
    program.init("news", "news.example.org");
    program.keep_nothing_free();
    program.set("segment_bytes = \"256 MiB\"", "segment_bytes = \"4 MiB\"");
    program.set(
        "article_bytes_max = \"8 MiB\"",
        "article_bytes_max = \"1 MiB\"",
    );
    program.write(
        "news/explist",
        b"comp.short x 10 -\ncomp.long x 60 -\nall x 30 -\n",
    );
    let articles = (0..20).flat_map(|turn| {
        let group = if turn % 2 == 0 {
            "comp.short"
        } else {
            "comp.long"
        };
        many(&format!("turn{turn}"), IN_A_ROW, group, BODY_BYTES)
    });
    program.write("batch", &batch(&articles.collect::<Vec<_>>()));
    let told = program.run(&["rnews", "--dir", "news", "batch"]);
    assert_eq!(told.status, 0, "{told:?}");
    if let Some(left) = left {
        mounted.fill(left);
    }
    let wanted = mounted.free() + missing;
    let settings = program.read("news/broadsheet.toml")
        + &format!("\n[expiry]\nkeep_free = {wanted}\nmax_fraction = 1.0\n");
    program.write("news/broadsheet.toml", settings.as_bytes());
    Some((program, mounted))
}

/// Runs expire at a day; returns the links that it removed, the bytes that it says are freed, and its status.
fn expire(program: &Program, day: u64) -> (u64, u64, i32) {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() + day * DAY_SECONDS;
    let told = program.run(&[
        "expire",
        "--json",
        "--dir",
        "news",
        "--now",
        &now.to_string(),
    ]);
    let report = told.summary();
    let number = |key: &str| report[key].as_u64().unwrap();
    (number("links"), number("bytes_freed"), told.status)
}

/// The space of removed files counts at once, which btrfs itself counts with its next commit.
#[test]
fn and_sees_what_was_just_removed() {
    let program = Program::new();
    let Some(mounted) = Mounted::new(&program, "loop") else {
        return;
    };
    program.write("active.list", ACTIVE.as_bytes());
    program.init("news", "news.example.org");
    let filler = mounted.0.join("filler");
    let piece = vec![0; 1 << 20];
    let mut file = std::fs::File::create(&filler).unwrap();
    while std::io::Write::write_all(&mut file, &piece).is_ok() {}
    drop(file);
    let text = batch(&many("full", 10, "comp.short", BODY_BYTES));
    program.write("batch", &text);
    let words = ["rnews", "--dir", "news", "batch"];
    let full = program.run(&words);
    assert_eq!(full.status, 2, "{full:?}");
    std::fs::remove_file(&filler).unwrap();
    let free = store::free_bytes_for(&mounted.0, u64::MAX).unwrap();
    assert!(free.is_some_and(|free| free >= 128 << 20), "{free:?}");
    let again = program.run(&words);
    assert_eq!(again.status, 0, "{again:?}");
}

#[test]
fn and_says_what_came_back() {
    let Some((program, mounted)) = filed("loop", None, 3 << 20) else {
        return;
    };
    let before = mounted.free();
    let (links, freed, status) = expire(&program, 20);
    assert_eq!((links, status), (10 * IN_A_ROW as u64, 0));
    let risen = mounted.free().saturating_sub(before);
    assert!(freed >= 4 << 20, "{freed}");
    assert!(
        risen + (256 << 10) >= freed,
        "{freed} freed, {risen} came back"
    );
    assert_eq!(expire(&program, 20), (0, 0, 0), "the second run");
}

/// With 3 MiB free and segments of 4 MiB: whether rewriting finds room or not, no article that has time left goes.
#[test]
fn and_removes_nothing_more_with_little_room() {
    let Some((program, _mounted)) = filed("loop", Some(3 << 20), 3 << 20) else {
        return;
    };
    let (links, _, _) = expire(&program, 20);
    assert_eq!(links, 10 * IN_A_ROW as u64);
    for run in 2..5 {
        assert_eq!(expire(&program, 20).0, 0, "run {run}");
    }
}
