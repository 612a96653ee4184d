//! A disk that is full to 1 MiB: expire gives back each dead block, and says what stays between living articles.

#![allow(clippy::unwrap_used)] // helpers of tests, too

use crate::program;

use program::Program;
use program::articles::{batch, many};
use program::small_disk::SmallDisk;

const ACTIVE: &str = "comp.short 0 1 y\ncomp.long 0 1 y\n";
const DAY_SECONDS: u64 = 86_400;
/// Free bytes before expire runs.
const FREE_BYTES: u64 = 1 << 20;
/// Bytes of all articles, about.
const ARTICLES_BYTES: usize = 12 << 20;
/// Least part of the dead bytes that must come back, percent.
const BACK_PERCENT_MIN: u64 = 90;

/// How articles lie.
#[derive(Debug)]
struct Pattern {
    /// Dead articles in a row.
    dead: usize,
    /// Living articles in a row.
    living: usize,
    body_bytes: usize,
}

const fn pattern(dead: usize, living: usize, body_bytes: usize) -> Pattern {
    Pattern {
        dead,
        living,
        body_bytes,
    }
}

/// Percent of the dead bytes that came back, and what the run said.
fn came_back(kind: &str, make: &[&str], mib: u64, pattern: &Pattern) -> Option<(u64, String)> {
    let program = Program::new();
    let mounted = SmallDisk::new(&program, kind, mib, make, "loop")?;
    program.write("active.list", ACTIVE.as_bytes());
    program.init("news", "news.example.org");
    program.keep_nothing_free();
    program.set("segment_bytes = \"256 MiB\"", "segment_bytes = \"64 MiB\"");
    program.write(
        "news/explist",
        b"comp.short x 10 -\ncomp.long x 60 -\nall x 30 -\n",
    );
    let turns = ARTICLES_BYTES / ((pattern.dead + pattern.living) * (pattern.body_bytes + 400));
    let articles = (0..turns).flat_map(|turn| {
        let mut row = many(
            &format!("s{turn}"),
            pattern.dead,
            "comp.short",
            pattern.body_bytes,
        );
        row.extend(many(
            &format!("l{turn}"),
            pattern.living,
            "comp.long",
            pattern.body_bytes,
        ));
        row
    });
    let articles: Vec<_> = articles.collect();
    // As a feed brings them, in batches.
    for part in articles.chunks(200) {
        let told = program.rnews(&batch(part));
        assert_eq!(told.status, 0, "{told:?}");
    }
    mounted.fill(FREE_BYTES);
    let before = mounted.free();
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() + 20 * DAY_SECONDS;
    let now = now.to_string();
    let told = program.run(&["expire", "--json", "--dir", "news", "--now", &now]);
    let back = mounted.free().saturating_sub(before);
    let all: usize = articles.iter().map(Vec::len).sum();
    let dead = all * pattern.dead / (pattern.dead + pattern.living);
    Some((
        back * 100 / dead as u64,
        format!("{}: {}", told.status, told.err),
    ))
}

fn comes_back(kind: &str, make: &[&str], mib: u64) {
    for pattern in [
        pattern(20, 20, 1000),
        pattern(20, 40, 1000),
        pattern(200, 200, 1000),
        pattern(1, 1, 30_000),
    ] {
        let Some((percent, said)) = came_back(kind, make, mib, &pattern) else {
            return;
        };
        assert!(
            percent >= BACK_PERCENT_MIN,
            "{pattern:?}: {percent} %; {said}"
        );
    }
    // Nothing is free for a copy of what lives, and no block is dead as a whole.
    let scattered = pattern(1, 2, 1000);
    if let Some((_, said)) = came_back(kind, make, mib, &scattered) {
        let parts = [
            "2: ",
            "too full to write it anew",
            "lie between living ones",
        ];
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    }
}

#[test]
fn of_ext4() {
    comes_back("ext4", &["-q", "-F", "-m", "0"], 64);
}

#[test]
fn of_xfs() {
    comes_back("xfs", &["-q", "-f"], 300);
}
