//! An index whose key was lost or changed is made again with another key when the news directory is opened. Whatever interrupts that,
//! nothing is lost and nothing half made stays.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use crate::double;
use crate::news;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use double::{Double, Fault};
use news::News;
use store::{Expires, Options, Snapshot, Spool};

/// A news directory with 42 ids in two segments, without the key of its index.
fn without_key() -> News {
    let news = News::new(&["a.b"]);
    let filler = "x".repeat(40_000);
    let mut spool = Spool::open(news.dir(), options()).unwrap();
    for number in 1..=40 {
        let id = format!("<{number}.Old@News.Example>");
        news.file_with(&mut spool, &id, &["a.b"], &filler);
    }
    spool.commit().unwrap();
    let position = spool.find(b"<2.Old@News.Example>").unwrap().unwrap();
    let position = position.position.unwrap();
    spool.cancel(position, b"<2.Old@News.Example>").unwrap();
    for id in [&b"<cancel2@News.Example>"[..], b"<99.Old@News.Example>"] {
        spool.remember(id, 1000, Expires::Absent).unwrap();
    }
    spool.commit().unwrap();
    drop(spool);
    assert_eq!(
        std::fs::read_dir(news.dir().join("segments"))
            .unwrap()
            .filter(|entry| {
                entry
                    .as_ref()
                    .unwrap()
                    .path()
                    .extension()
                    .is_some_and(|end| end == "art")
            })
            .count(),
        2
    );
    std::fs::remove_file(news.dir().join("index.key")).unwrap();
    news
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
    for name in ["index.new", "index.key.new"] {
        assert!(!dir.join(name).exists(), "{what}: {name}");
    }
}

fn key(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("index.key")).unwrap()
}

#[test]
fn by_itself_when_it_is_opened() {
    let dir = without_key();
    let spool = Spool::open(dir.dir(), options()).unwrap();
    let told = spool.notices().join("\n");
    assert!(told.contains("index.key was lost"), "{told}");
    check(&spool, "opened");
    drop(spool);
    let mode = std::fs::metadata(dir.dir().join("index.key")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    assert!(store::fsck(dir.dir(), false).unwrap().is_clean());
    let made = key(dir.dir());
    let spool = Spool::open(dir.dir(), options()).unwrap();
    assert_eq!(spool.notices(), [""; 0]);
    assert_eq!(key(dir.dir()), made);
}

#[test]
fn also_when_it_is_only_read() {
    let dir = without_key();
    let reader = Snapshot::open(dir.dir()).unwrap();
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
        let dir = without_key();
        let double = Double::new(dir.dir());
        double.fail_at(at, Fault::PowerCut, true);
        let opened = Spool::open_on(double.disk(), dir.dir(), options());
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
            let dir = without_key();
            let double = Double::new(dir.dir());
            double.fail_at(at, fault, false);
            let opened = Spool::open_on(double.disk(), dir.dir(), options());
            let what = format!("{fault:?} at call {at}");
            if opened.is_err() {
                assert!(!dir.dir().join("index.new").exists(), "{what}");
            }
            let has_failed = double.failed().is_some();
            drop(opened);
            double.heal();
            let spool = Spool::open_on(double.disk(), dir.dir(), options()).unwrap();
            check(&spool, &what);
            if !has_failed {
                break;
            }
        }
    }
}

#[test]
fn a_lost_or_changed_key_is_replaced_and_the_index_with_it() {
    let dir = without_key();
    drop(Spool::open(dir.dir(), options()).unwrap());
    let path = dir.dir().join("index.key");
    let first = key(dir.dir());
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
        let spool = Spool::open(dir.dir(), options()).unwrap();
        let told = spool.notices().join("\n");
        assert!(told.contains("index.key was lost or changed"), "{told}");
        // Only the index is made again: no article is replayed.
        assert_eq!(spool.taken_up(), 0);
        check(&spool, &format!("{other:?}"));
        assert_ne!(key(dir.dir()), first);
    }
    // Who only reads finds it out as well.
    std::fs::remove_file(&path).unwrap();
    let reader = Snapshot::open(dir.dir()).unwrap();
    assert!(
        reader
            .history_line(b"<7.Old@news.example>")
            .unwrap()
            .is_some()
    );
}

#[test]
fn what_a_killed_program_was_making_is_removed() {
    let dir = without_key();
    for name in ["index.new", "index.key.new", "active.new"] {
        std::fs::write(dir.dir().join(name), "half").unwrap();
    }
    let spool = Spool::open(dir.dir(), options()).unwrap();
    check(&spool, "swept");
    assert!(!dir.dir().join("active.new").exists());
}
