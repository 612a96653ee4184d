//! An index of the release before, whose ids were hashed without a key, is made again with one when the news directory is opened; and so
//! is an index whose key was lost. Whatever interrupts it, nothing is lost and nothing half made stays.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use crate::double;

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::LazyLock;

use double::{Double, Fault};
use flate2::read::GzDecoder;
use store::{Options, Snapshot, Spool};

/// A news directory as a build of 22 November 2026 left it, 42 ids in two segments: files one after the other, each behind a line
/// `NAME LENGTH`, packed by gzip.
const OLDER: &[u8] = include_bytes!("older_release/index-1.gz");

static UNPACKED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut bytes = Vec::new();
    GzDecoder::new(OLDER).read_to_end(&mut bytes).unwrap();
    bytes
});

fn unpacked() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for inside in ["segments", "bad"] {
        std::fs::create_dir(dir.path().join(inside)).unwrap();
    }
    let mut rest = &UNPACKED[..];
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let line = std::str::from_utf8(&rest[..end]).unwrap();
        let (name, length) = line.split_once(' ').unwrap();
        let (bytes, behind) = rest[end + 1..].split_at(length.parse().unwrap());
        std::fs::write(dir.path().join(name), bytes).unwrap();
        rest = behind;
    }
    dir
}

fn options() -> Options {
    Options {
        segment_bytes: 1 << 20,
        ..Options::default()
    }
}

fn check(spool: &Spool, what: &str) {
    for number in 1..=40 {
        let id = format!("<{number}.Old@NEWS.example>");
        assert!(spool.has(id.as_bytes()).unwrap(), "{what}: {id}");
    }
    for id in [&b"<cancel2@News.Example>"[..], b"<99.Old@News.Example>"] {
        assert!(spool.has(id).unwrap(), "{what}: {id:?}");
    }
    assert!(!spool.has(b"<41.Old@News.Example>").unwrap(), "{what}");
    let cancelled = spool.find(b"<2.Old@News.Example>").unwrap().unwrap();
    assert!(
        spool.cancelled().contains(cancelled.position.unwrap()),
        "{what}"
    );
    let dir = spool.dir();
    let magic = std::fs::read(dir.join("index")).unwrap();
    assert!(magic.starts_with(b"BSindex2"), "{what}");
    for name in ["index.new", "index.key.new"] {
        assert!(!dir.join(name).exists(), "{what}: {name}");
    }
}

fn key(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("index.key")).unwrap()
}

#[test]
fn by_itself_when_it_is_opened() {
    let dir = unpacked();
    let spool = Spool::open(dir.path(), options()).unwrap();
    let told = spool.notices().join("\n");
    assert!(told.contains("of an older release"), "{told}");
    check(&spool, "opened");
    drop(spool);
    let mode = std::fs::metadata(dir.path().join("index.key")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    assert!(store::fsck(dir.path(), false).unwrap().is_clean());
    let made = key(dir.path());
    let spool = Spool::open(dir.path(), options()).unwrap();
    assert_eq!(spool.notices(), [""; 0]);
    assert_eq!(key(dir.path()), made);
}

#[test]
fn also_when_it_is_only_read() {
    let dir = unpacked();
    let reader = Snapshot::open(dir.path()).unwrap();
    assert!(
        reader
            .history_line(b"<7.Old@news.example>")
            .unwrap()
            .is_some()
    );
}

#[test]
fn a_power_cut_meanwhile_loses_nothing() {
    for at in 1.. {
        let dir = unpacked();
        let double = Double::new(dir.path());
        double.fail_at(at, Fault::PowerCut, true);
        let opened = Spool::open_on(double.disk(), dir.path(), options());
        let is_over = opened.is_ok();
        drop(opened);
        let left = double.power_cut(at);
        let double = Double::new(left.path());
        let spool = Spool::open_on(double.disk(), left.path(), options()).unwrap();
        check(&spool, &format!("cut at call {at}"));
        drop(spool);
        let report = store::fsck::fsck_on(double.disk(), left.path(), false).unwrap();
        assert!(report.is_clean(), "cut at call {at}: {report:?}");
        if is_over {
            assert!(at > 20);
            break;
        }
    }
}

#[test]
fn a_disk_that_fails_meanwhile_keeps_nothing_half_made() {
    for fault in [Fault::Enospc, Fault::Eio] {
        for at in 1.. {
            let dir = unpacked();
            let double = Double::new(dir.path());
            double.fail_at(at, fault, false);
            let opened = Spool::open_on(double.disk(), dir.path(), options());
            let what = format!("{fault:?} at call {at}");
            if opened.is_err() {
                assert!(!dir.path().join("index.new").exists(), "{what}");
            }
            let has_failed = double.failed().is_some();
            drop(opened);
            double.heal();
            let spool = Spool::open_on(double.disk(), dir.path(), options()).unwrap();
            check(&spool, &what);
            if !has_failed {
                break;
            }
        }
    }
}

#[test]
fn a_lost_or_changed_key_is_replaced_and_the_index_with_it() {
    let dir = unpacked();
    drop(Spool::open(dir.path(), options()).unwrap());
    let path = dir.path().join("index.key");
    let first = key(dir.path());
    let others = [
        None,
        Some(&b""[..]),
        Some(b"not a key\n"),
        Some(b"00112233445566778899aabbccddeeff\n"),
    ];
    for other in others {
        match other {
            None => std::fs::remove_file(&path).unwrap(),
            Some(text) => std::fs::write(&path, text).unwrap(),
        }
        let spool = Spool::open(dir.path(), options()).unwrap();
        let told = spool.notices().join("\n");
        assert!(told.contains("index.key was lost or changed"), "{told}");
        // Only the index is made again: no article is replayed.
        assert_eq!(spool.taken_up(), 0);
        check(&spool, &format!("{other:?}"));
        assert_ne!(key(dir.path()), first);
    }
    // Who only reads finds it out as well.
    std::fs::remove_file(&path).unwrap();
    let reader = Snapshot::open(dir.path()).unwrap();
    assert!(
        reader
            .history_line(b"<7.Old@news.example>")
            .unwrap()
            .is_some()
    );
}

#[test]
fn what_a_killed_program_was_making_is_removed() {
    let dir = unpacked();
    for name in ["index.new", "index.key.new", "active.new"] {
        std::fs::write(dir.path().join(name), "half").unwrap();
    }
    let spool = Spool::open(dir.path(), options()).unwrap();
    check(&spool, "swept");
    assert!(!dir.path().join("active.new").exists());
}
