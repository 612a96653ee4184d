//! A derived file that is damaged is made again from the log, and being killed while that is done loses nothing.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use crate::double;
use crate::news;
use crate::story;

use std::time::SystemTime;

use double::{Double, Fault};
use news::News;
use store::{
    ExpiryDecision, Filing, Options, OverviewFields, Piece, ReclaimPolicy, Snapshot, Spool,
    reclaim_on,
};
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

/// After a power cut a file system may show blocks of another file, or zeros, at the end of a file (ext4 with `data=writeback`).
#[test]
fn history_lines_that_end_with_another_file_are_made_again() {
    let news = News::new(&["a.b"]);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    for number in 1..=ARTICLES * 6 {
        let id = format!("<{number}@x>");
        let group = spool.active().find(b"a.b").unwrap();
        let number = spool.active_mut().take_number(group).unwrap();
        let header = format!("Path: x!u\nSubject: {id}\nMessage-ID: {id}\n\n");
        spool
            .append(&Filing {
                id: id.as_bytes(),
                arrival: 1000,
                expires: Some(5000).into(),
                is_late: false,
                links: &[(b"a.b", number)],
                sites: b"",
                header: &[Piece::Native(header.as_bytes())],
                body: Piece::Native(b"text\n"),
                left_out: None,
                overview: OverviewFields {
                    subject: id.as_bytes(),
                    id: id.as_bytes(),
                    ..OverviewFields::default()
                },
            })
            .unwrap();
    }
    spool.commit().unwrap();
    drop(spool);
    let path = |end: &str| {
        let name = format!("segments/00000000000000004096.{end}");
        news.dir().join(name)
    };
    let mut rows = std::fs::read(path("ovr")).unwrap();
    rows.extend_from_within(..);
    for view in ["his", "exp"] {
        let right = std::fs::read(path(view)).unwrap();
        assert!(right.len() > 8192 && rows.len() > right.len());
        let last_block = right.len() - right.len() % 4096;
        let zeros = vec![0; rows.len()];
        for (other, from) in [
            (&rows, last_block),
            (&zeros, last_block),
            (&rows, 0),
            (&zeros, right.len() - 1),
            (&rows, last_block - 4096),
        ] {
            let what = format!("{view} from {from}, {}", other.len());
            let mut bytes = right.clone();
            bytes[from..].copy_from_slice(&other[from..right.len()]);
            std::fs::write(path(view), &bytes).unwrap();
            let spool = Spool::open(news.dir(), Options::default()).unwrap();
            let notices = spool.notices().join("\n");
            assert!(
                notices.contains("ends with bytes that are no history lines"),
                "{what}: {notices}"
            );
            for number in 1..=ARTICLES * 6 {
                let id = format!("<{number}@x>");
                assert!(spool.has(id.as_bytes()).unwrap(), "{what}: {id}");
            }
            drop(spool);
            assert_eq!(std::fs::read(path(view)).unwrap(), right, "{what}");
            let spool = Spool::open(news.dir(), Options::default()).unwrap();
            assert!(spool.notices().is_empty(), "{what}: {:?}", spool.notices());
        }
    }
    assert!(store::fsck(news.dir(), false).unwrap().is_clean());
}
