//! On btrfs a hole returns no space until its whole extent is free: expire rewrites there, and a second run for the same need removes nothing.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)] // helpers of tests, too

use crate::program;

use program::Program;
use program::articles::{batch, many};
use program::small_disk::SmallDisk;

const ACTIVE: &str = "comp.short 0 1 y\ncomp.long 0 1 y\n";
/// Articles of a group that are filed in a row: a run that is long enough for a hole.
const IN_A_ROW: usize = 100;
const BODY_BYTES: usize = 4000;
const DAY_SECONDS: u64 = 86_400;

fn small_btrfs(program: &Program, options: &str) -> Option<SmallDisk> {
    SmallDisk::new(program, "btrfs", 256, &["-q", "-M"], options)
}

/// Articles that expire after 10 days and after 60, in turn; `keep_free` asks for so many bytes more than are free.
fn filed(options: &str, left: Option<u64>, missing: u64) -> Option<(Program, SmallDisk)> {
    let program = Program::new();
    let mounted = small_btrfs(&program, options)?;
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
    let Some(mounted) = small_btrfs(&program, "loop") else {
        return;
    };
    program.write("active.list", ACTIVE.as_bytes());
    program.init("news", "news.example.org");
    let filler = mounted.at.join("filler");
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
    let free = store::free_bytes_for(&mounted.at, u64::MAX).unwrap();
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
