//! A disk that is full to 1 MiB, or to the last block: expire gives back what is dead, however it lies. Without its reserve it gives back each dead
//! block, and says what stays between living articles.

#![allow(clippy::unwrap_used)] // helpers of tests, too

use crate::program;

use std::os::unix::fs::MetadataExt;

use program::articles::{batch, many};
use program::nntp::{ALL_MAY, Served, listen};
use program::small_disk::SmallDisk;
use program::{Program, Told};

const ACTIVE: &str = "comp.short 0 1 y\ncomp.long 0 1 y\n";
const DAY_SECONDS: u64 = 86_400;
/// Bytes of all articles, about.
const ARTICLES_BYTES: usize = 10 << 20;
/// Bytes of an article besides its body, about.
const HEADER_BYTES: usize = 400;
/// Least part of the dead bytes that must come back, percent.
const BACK_PERCENT_MIN: u64 = 90;

/// How articles lie.
#[derive(Debug, Clone, Copy)]
enum Pattern {
    /// So many dead articles in a row, then so many living ones, with bodies of so many bytes.
    Rows(usize, usize, usize),
    /// A third is dead, and sizes differ.
    Random,
}

use Pattern::{Random, Rows};

/// Each with the space that is free before expire runs, bytes.
const PATTERNS: [(Pattern, u64); 8] = [
    (Rows(20, 20, 1000), 1 << 20),
    (Rows(200, 200, 1000), 1 << 20),
    (Rows(1, 1, 30_000), 1 << 20),
    (Rows(1, 1, 3000), 1 << 20),
    (Rows(1, 2, 3000), 0),
    (Rows(2, 1, 3000), 1 << 20),
    (Rows(1, 1, 1000), 0),
    (Random, 0),
];

/// A disk, as [`SmallDisk::new`] makes it.
#[derive(Debug, Clone, Copy)]
struct Disk {
    kind: &'static str,
    mib: u64,
    make: &'static [&'static str],
}

impl Pattern {
    /// Whether articles are dead, and the bytes of their bodies.
    fn articles(self) -> Vec<(bool, usize)> {
        let mut dice: u64 = 43;
        let mut roll = |sides: u64| {
            dice = dice
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (dice >> 33) % sides
        };
        let (mut all, mut bytes) = (Vec::new(), 0);
        while bytes < ARTICLES_BYTES {
            let article = match self {
                Rows(dead, living, body) => (all.len() % (dead + living) < dead, body),
                Random => (roll(3) == 0, 100 + roll(12_000) as usize),
            };
            bytes += article.1 + HEADER_BYTES;
            all.push(article);
        }
        all
    }
}

/// A news directory on a disk that articles fill up to `left` bytes, and the bytes of the dead ones. `None` where this machine cannot.
fn filled(disk: Disk, pattern: Pattern) -> Option<(Program, SmallDisk, u64)> {
    let program = Program::new();
    let mounted = SmallDisk::new(&program, disk.kind, disk.mib, disk.make, "loop")?;
    program.write("active.list", ACTIVE.as_bytes());
    program.init("news", "news.example.org");
    program.keep_nothing_free();
    program.write(
        "news/explist",
        b"comp.short x 10 -\ncomp.long x 60 -\nall x 30 -\n",
    );
    let mut dead = 0;
    let articles = pattern.articles().into_iter().enumerate();
    let articles = articles.flat_map(|(number, (is_dead, body))| {
        let group = if is_dead { "comp.short" } else { "comp.long" };
        let one = many(&format!("a{number}"), 1, group, body);
        dead += one.iter().filter(|_| is_dead).map(Vec::len).sum::<usize>();
        one
    });
    program.write("batch", &batch(&articles.collect::<Vec<_>>()));
    let told = program.run(&["rnews", "--dir", "news", "batch"]);
    assert_eq!(told.status, 0, "{told:?}");
    Some((program, mounted, dead as u64))
}

fn expire(program: &Program) -> Told {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() + 20 * DAY_SECONDS;
    let now = now.to_string();
    program.run(&["expire", "--force", "--dir", "news", "--now", &now])
}

/// The bytes of the reserve.
fn reserved(program: &Program) -> u64 {
    let reserve = program.path("news/segments").join(store::REPACK_RESERVE);
    reserve.metadata().map_or(0, |data| data.blocks() * 512)
}

fn comes_back(disk: Disk) {
    for (pattern, left) in PATTERNS {
        let Some((program, mounted, dead)) = filled(disk, pattern) else {
            return;
        };
        mounted.fill(left);
        let room = || mounted.free() + reserved(&program);
        let before = room();
        let told = expire(&program);
        let percent = room().saturating_sub(before) * 100 / dead;
        eprintln!("{disk:?}, {pattern:?}, {left} free: {percent} %");
        assert!(
            percent >= BACK_PERCENT_MIN && told.status == 0,
            "{disk:?}, {pattern:?}: {percent} %; {told:?}"
        );
        // The next run can do it again.
        assert!(reserved(&program) >= 4 << 20);
        program.assert_clean();
    }
}

const EXT4: Disk = Disk {
    kind: "ext4",
    mib: 48,
    make: &["-q", "-F", "-m", "0"],
};

#[test]
fn of_ext4() {
    comes_back(EXT4);
}

#[test]
fn of_xfs() {
    comes_back(Disk {
        kind: "xfs",
        mib: 300,
        make: &["-q", "-f"],
    });
}

#[test]
fn of_btrfs() {
    comes_back(Disk {
        kind: "btrfs",
        mib: 160,
        make: &["-q"],
    });
}

/// A thread of the daemon has mapped each segment, and its client is silent: it closes the old files nevertheless.
#[test]
fn beside_a_silent_reader() {
    let Some((program, mounted, dead)) = filled(EXT4, Rows(1, 1, 3000)) else {
        return;
    };
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    let mut client = served.client();
    let mut read = || {
        assert!(client.ask("GROUP comp.long").starts_with("211 "));
        for number in (1..1000).step_by(50) {
            client.say(format!("ARTICLE {number}\r\n"));
            assert!(client.line().starts_with("220 "), "{number}");
            client.lines();
        }
    };
    read();
    mounted.fill(0);
    let before = mounted.free() + reserved(&program);
    let told = expire(&program);
    let after = mounted.free() + reserved(&program);
    let percent = after.saturating_sub(before) * 100 / dead;
    assert!(
        percent >= BACK_PERCENT_MIN && told.status == 0,
        "{percent} %; {told:?}"
    );
    read();
    served.daemon.stop();
    program.assert_clean();
}

/// Nothing is free for a copy of what lives, and no block is dead as a whole.
#[test]
fn and_without_a_reserve_says_what_stays() {
    let Some((program, mounted, _)) = filled(EXT4, Rows(1, 2, 1000)) else {
        return;
    };
    let reserve = program.path("news/segments").join(store::REPACK_RESERVE);
    std::fs::remove_file(reserve).unwrap();
    mounted.fill(1 << 20);
    let told = expire(&program);
    let parts = ["too full to write it anew", "lie between living ones"];
    assert!(
        told.status == 2 && parts.iter().all(|part| told.err.contains(part)),
        "{told:?}"
    );
    program.assert_clean();
}
