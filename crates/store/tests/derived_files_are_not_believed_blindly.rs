//! A derived file that is damaged is made again from the log, and being killed while that is done loses nothing.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::double;
use crate::news;
use crate::story;

use std::time::SystemTime;

use double::{Double, Fault};
use news::News;
use store::{ExpiryDecision, ReclaimPolicy, Snapshot, Spool, reclaim_on};
use story::small;

const ARTICLES: u64 = 60;

/// Articles in several segments, of which every second one has expired and gave its space back.
fn expired(news: &News, double: &Double) {
    let (dir, disk) = (news.dir(), double.disk());
    let mut spool = Spool::open_on(disk.clone(), dir, small()).unwrap();
    let filler = "some words of text ".repeat(2000);
    for number in 1..=ARTICLES {
        news.file_with(&mut spool, &format!("<{number}@x>"), &["a.b"], &filler);
    }
    spool.commit().unwrap();
    let gone = (1..=ARTICLES).step_by(2);
    let expiry = ExpiryDecision {
        gone: gone.map(|number| (b"a.b".to_vec(), number)).collect(),
        touched: Snapshot::open_on(disk.clone(), dir)
            .unwrap()
            .segments()
            .to_vec(),
        ..ExpiryDecision::default()
    };
    spool.expire(&expiry).unwrap();
    drop(spool);
    let eagerness = ReclaimPolicy {
        dead_part: 0.1,
        everywhere: true,
        now: i64::MAX,
    };
    let told = reclaim_on(disk, dir, small(), eagerness).unwrap();
    assert!(told.repacked > 1, "{told:?}");
}

#[test]
fn a_rebuild_that_was_cut_short_remembers_what_has_expired() {
    let news = News::new(&["a.b"]);
    let whole = Double::new(news.dir());
    expired(&news, &whole);
    std::fs::remove_file(news.dir().join("index")).unwrap();
    let mut at = 1;
    loop {
        let copy = tempfile::tempdir().unwrap();
        for inside in ["", "segments", "bad"] {
            std::fs::create_dir_all(copy.path().join(inside)).unwrap();
            for entry in std::fs::read_dir(news.dir().join(inside)).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_file() {
                    std::fs::copy(
                        entry.path(),
                        copy.path().join(inside).join(entry.file_name()),
                    )
                    .unwrap();
                }
            }
        }
        let double = Double::new(copy.path());
        double.fail_at(at, Fault::Eio, false);
        let done = Spool::open_on(double.disk(), copy.path(), small()).map(drop);
        double.heal();
        let spool = Spool::open_on(double.disk(), copy.path(), small()).unwrap();
        for number in 1..=ARTICLES {
            let id = format!("<{number}@x>");
            assert!(
                spool.has(id.as_bytes()).unwrap(),
                "call {at}: {id} is forgotten"
            );
        }
        drop(spool);
        if done.is_ok() && double.failed().is_none() {
            break;
        }
        at += 1;
    }
    assert!(at > 30, "{at}");
}

/// The time of the file stays as it was: nothing but its text tells.
#[test]
fn a_number_is_given_once_though_a_byte_of_active_changed() {
    let news = News::new(&["a.b", "c"]);
    let disk = Double::new(news.dir()).disk();
    let mut spool = Spool::open_on(disk.clone(), news.dir(), small()).unwrap();
    for number in 1..=12 {
        news.file(&mut spool, &format!("<{number}@x>"), &["a.b"]);
    }
    spool.commit().unwrap();
    drop(spool);
    let path = news.dir().join("active");
    let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("a.b 0000000012 "), "{text}");
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, b"0", "a.b 000000001".len() as u64 - 1)
        .unwrap();
    file.set_modified(modified).unwrap();
    let is_as_it_was = |time: SystemTime| time == modified;
    assert!(is_as_it_was(
        std::fs::metadata(&path).unwrap().modified().unwrap()
    ));
    let spool = Spool::open_on(disk, news.dir(), small()).unwrap();
    let group = spool.active().find(b"a.b").unwrap();
    assert_eq!(spool.active().high(group), 12);
    assert!(
        spool.notices().iter().any(|told| told.contains("a.b")),
        "{:?}",
        spool.notices()
    );
}

#[test]
fn what_has_expired_is_told_again_by_the_log() {
    let news = News::new(&["a.b"]);
    let double = Double::new(news.dir());
    expired(&news, &double);
    let path = news.dir().join("expired");
    for length in [0, 5, 30] {
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.truncate(length);
        std::fs::write(&path, bytes).unwrap();
        let reader = Snapshot::open_on(double.disk(), news.dir()).unwrap();
        assert!(reader.article(b"<1@x>", &mut Vec::new()).unwrap().is_none());
        assert!(reader.article(b"<2@x>", &mut Vec::new()).unwrap().is_some());
        // Who reads next finds it whole.
        let report = store::fsck::fsck_on(double.disk(), news.dir(), false).unwrap();
        assert!(report.is_clean(), "{report:?}");
    }
}
