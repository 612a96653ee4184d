//! The id of an erased article stays known after a power cut, and when the history of its segment is lost: a peer that offers the article again is refused.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::double::Double;
use crate::news::News;

use store::{Options, RemovalNote, RemovedBy, Spool};

const CUTS: u64 = 20;

#[test]
fn of_an_article_in_a_segment_that_was_just_sealed() {
    for seed in 0..CUTS {
        let news = News::new(&["a.b"]);
        let double = Double::new(news.dir());
        let mut spool = Spool::open_on(double.disk(), news.dir(), Options::default()).unwrap();
        let positions: Vec<_> = (0..5)
            .map(|number| news.file(&mut spool, &format!("<{number}@x>"), &["a.b"]))
            .collect();
        spool.commit().unwrap();
        spool.seal().unwrap();
        spool.commit().unwrap();
        let note = RemovalNote {
            by: RemovedBy::Erasure,
            text: b"",
            seconds: 1,
            until: i64::MIN,
        };
        let erased = spool.erase(positions[2], b"<2@x>", note).unwrap();
        assert!(erased.bytes > 0 && erased.rows == 1);
        drop(spool);

        let left = double.power_cut(seed);
        let after = Double::new(left.path());
        let spool = Spool::open_on(after.disk(), left.path(), Options::default()).unwrap();
        for number in 0..5 {
            assert!(
                spool.has(format!("<{number}@x>").as_bytes()).unwrap(),
                "{seed}"
            );
        }
    }
}

#[test]
fn whose_history_was_lost() {
    let news = News::new(&["a.b"]);
    let dir = news.dir();
    let mut spool = Spool::open(dir, Options::default()).unwrap();
    let positions: Vec<_> = (0..5)
        .map(|number| news.file(&mut spool, &format!("<{number}@x>"), &["a.b"]))
        .collect();
    spool.commit().unwrap();
    let note = RemovalNote {
        by: RemovedBy::Erasure,
        text: b"",
        seconds: 1,
        until: i64::MIN,
    };
    spool.erase(positions[2], b"<2@x>", note).unwrap();
    drop(spool);
    let history = std::fs::read_dir(dir.join("segments")).unwrap();
    let mut history: Vec<_> = history
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|suffix| suffix == "his"))
        .collect();
    history.sort();

    let all_are_known = |how: &str| {
        let spool = Spool::open(dir, Options::default()).unwrap();
        for number in 0..5 {
            let id = format!("<{number}@x>");
            assert!(spool.has(id.as_bytes()).unwrap(), "{id}, {how}");
        }
        drop(spool);
        let report = store::fsck(dir, false).unwrap();
        assert!(report.findings.is_empty(), "{how}: {:?}", report.findings);
    };
    // A start without an index.
    std::fs::remove_file(&history[0]).unwrap();
    std::fs::remove_file(dir.join("index")).unwrap();
    all_are_known("start");
    std::fs::remove_file(&history[0]).unwrap();
    store::fsck(dir, true).unwrap();
    all_are_known("fsck --repair");
    std::fs::write(&history[0], b"").unwrap();
    store::rebuild(dir).unwrap();
    all_are_known("history rebuild");
}

#[test]
fn and_only_a_disk_that_was_read_is_called_verified() {
    for hides_disk in [false, true] {
        let news = News::new(&["a.b"]);
        let double = Double::new(news.dir());
        if hides_disk {
            double.hide_disk();
        }
        let mut spool = Spool::open_on(double.disk(), news.dir(), Options::default()).unwrap();
        let position = news.file(&mut spool, "<1@x>", &["a.b"]);
        spool.commit().unwrap();
        let note = RemovalNote {
            by: RemovedBy::Erasure,
            text: b"",
            seconds: 1,
            until: i64::MIN,
        };
        let erased = spool.erase(position, b"<1@x>", note).unwrap();
        assert!(erased.bytes > 0);
        assert_eq!(erased.is_verified, !hides_disk);
    }
}
