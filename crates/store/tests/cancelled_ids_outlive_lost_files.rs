//! An id of a cancelled article stays known, and the article stays away, when `cancels` and derived files of segments are lost together: the
//! log has the cancels, also of an article whose space was returned.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use crate::news::News;
use crate::story::small;

use std::fs;
use std::path::Path;

use store::{ExpiryDecision, Position, ReclaimPolicy, Snapshot, Spool, fsck, reclaim};

const ARTICLES: u64 = 40;

fn id(number: u64) -> String {
    format!("<{number}@x>")
}

fn is_cancelled(number: u64) -> bool {
    (5..25).contains(&number)
}

/// A sealed segment in which a run of cancelled articles was punched out.
fn punched() -> (News, Vec<Position>) {
    let news = News::new(&["a.b"]);
    let mut spool = Spool::open(news.dir(), small()).unwrap();
    let filler = "filler\n".repeat(2000);
    let positions: Vec<Position> = (0..ARTICLES)
        .map(|number| news.file_with(&mut spool, &id(number), &["a.b"], &filler))
        .collect();
    spool.commit().unwrap();
    spool.seal().unwrap();
    for (number, position) in (0..).zip(&positions).filter(|(n, _)| is_cancelled(*n)) {
        spool.cancel(*position, id(number).as_bytes()).unwrap();
    }
    let touched = ExpiryDecision {
        touched: vec![4096],
        ..ExpiryDecision::default()
    };
    spool.expire(&touched).unwrap();
    drop(spool);
    let told = reclaim(news.dir(), small(), ReclaimPolicy::usual(0.1)).unwrap();
    assert!(told.holes > 0 && told.faults.is_empty(), "{told:?}");
    (news, positions)
}

fn check(dir: &Path, positions: &[Position], what: &str) {
    let clean = fsck(dir, false).unwrap();
    assert!(clean.faults == 0, "{what}: {clean:?}");
    let spool = Spool::open(dir, small()).unwrap();
    for (number, position) in (0..).zip(positions) {
        let id = id(number);
        assert!(spool.has(id.as_bytes()).unwrap(), "{what}: {id}");
        let is_away = spool.cancelled().contains(*position);
        assert_eq!(is_away, is_cancelled(number), "{what}: {id}");
    }
}

#[test]
fn with_any_two_of_them_lost() {
    let name = |suffix: &str| format!("segments/{:020}.{suffix}", 4096);
    for derived in [name("ovr"), name("exp"), "index".to_owned()] {
        for is_cut in [false, true] {
            let (news, positions) = punched();
            let what = format!("{derived}, cancels cut: {is_cut}");
            fs::remove_file(news.dir().join(&derived)).unwrap();
            let cancels = news.dir().join("cancels");
            match is_cut {
                true => fs::write(&cancels, b"").unwrap(),
                false => fs::remove_file(&cancels).unwrap(),
            }
            let repaired = fsck(news.dir(), true).unwrap();
            assert!(repaired.is_clean(), "{what}: {repaired:?}");
            check(news.dir(), &positions, &what);
        }
    }
}

#[test]
fn a_rebuild_without_cancels_keeps_them() {
    let (news, positions) = punched();
    fs::remove_file(news.dir().join("cancels")).unwrap();
    fs::remove_file(news.dir().join("index")).unwrap();
    store::rebuild(news.dir()).unwrap();
    check(news.dir(), &positions, "rebuild");
}

/// The disk refused a write, and the file system came back with zeros there: the length is right.
#[test]
fn zeros_in_cancels_are_not_believed() {
    let (news, positions) = punched();
    let path = news.dir().join("cancels");
    let mut text = fs::read(&path).unwrap();
    let half = text.len() / 2;
    text.splice(3..half, vec![0; half - 3]);
    fs::write(&path, text).unwrap();
    check(news.dir(), &positions, "zeros");
}

/// Only the articles that were there are lost, and may come again.
#[test]
fn without_the_articles_of_a_segment() {
    let (news, _) = punched();
    let path = |suffix: &str| news.dir().join(format!("segments/{:020}.{suffix}", 4096));
    fs::remove_file(path("art")).unwrap();
    let told = fsck(news.dir(), true).unwrap();
    let left = ARTICLES - (0..ARTICLES).filter(|n| is_cancelled(*n)).count() as u64;
    assert!(told.is_clean() && told.lost == 1, "{told:?}");
    assert_eq!(told.lost_ids.len() as u64, left);
    let clean = fsck(news.dir(), false).unwrap();
    assert!(clean.faults == 0, "{clean:?}");
    let spool = Spool::open(news.dir(), small()).unwrap();
    for number in 0..ARTICLES {
        let is_known = spool.has(id(number).as_bytes()).unwrap();
        assert_eq!(is_known, is_cancelled(number), "{number}");
    }
}

/// Whatever one byte of the file becomes, a reader that opens shows no cancelled article.
#[test]
fn a_damaged_line_of_cancels_shows_nothing_to_readers() {
    let (news, positions) = punched();
    let path = news.dir().join("cancels");
    let text = fs::read(&path).unwrap();
    let line = text.iter().position(|byte| *byte == b'\n').unwrap();
    let spoil: [fn(&mut Vec<u8>, usize); 4] = [
        |text, _| text[2] = b'X',
        |text, _| text[2] = 0,
        |text, line| text[line] = b' ',
        |text, line| text.truncate(line - 1),
    ];
    for (way, spoil) in spoil.iter().enumerate() {
        let mut bad = text.clone();
        spoil(&mut bad, line);
        fs::write(&path, bad).unwrap();
        let snapshot = Snapshot::open(news.dir()).unwrap();
        for (number, position) in (0..).zip(&positions) {
            let is_away = snapshot.is_cancelled(*position);
            assert_eq!(is_away, is_cancelled(number), "way {way}: {number}");
        }
        assert_eq!(fs::read(&path).unwrap(), text, "way {way}: made again");
    }
    fs::remove_file(&path).unwrap();
    Snapshot::open(news.dir()).unwrap();
    assert_eq!(fs::read(&path).unwrap(), text);
    check(news.dir(), &positions, "readers");
}

/// One that is open goes on with the removals that it knows.
#[test]
fn an_open_reader_takes_over_no_damaged_cancels() {
    let news = News::new(&["a.b"]);
    let mut spool = Spool::open(news.dir(), small()).unwrap();
    let positions: Vec<Position> = (0..3)
        .map(|number| news.file(&mut spool, &id(number), &["a.b"]))
        .collect();
    spool.commit().unwrap();
    spool.cancel(positions[0], id(0).as_bytes()).unwrap();
    spool.commit().unwrap();
    let mut snapshot = Snapshot::open(news.dir()).unwrap();
    let path = news.dir().join("cancels");
    spool.cancel(positions[1], id(1).as_bytes()).unwrap();
    spool.commit().unwrap();
    let text = fs::read(&path).unwrap();
    let mut bad = text.clone();
    let second = text.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    bad[second] = b'X';
    fs::write(&path, &bad).unwrap();
    let error = snapshot.catch_up().unwrap_err().to_string();
    assert!(error.contains("cancels is damaged at byte"), "{error}");
    assert!(snapshot.is_cancelled(positions[0]));
    fs::write(&path, &text).unwrap();
    snapshot.catch_up().unwrap();
    assert!(snapshot.is_cancelled(positions[1]) && !snapshot.is_cancelled(positions[2]));
}

/// A byte of the line of an article whose record is gone: its number, its size, its time.
#[test]
fn a_damaged_line_of_a_gone_article_is_reported_and_its_id_kept() {
    for (part, damaged) in [("\ta.b/", "\ta.b\x11"), ("~", "\x11"), ("\t1", "\tx")] {
        let (news, positions) = punched();
        let path = news.dir().join(format!("segments/{:020}.his", 4096));
        let text = fs::read_to_string(&path).unwrap();
        let line = text.lines().find(|line| line.starts_with("<10@x>"));
        let line = line.unwrap();
        let spoilt = text.replace(line, &line.replacen(part, damaged, 1));
        fs::write(&path, spoilt).unwrap();
        let told = fsck(news.dir(), false).unwrap();
        assert!(told.faults > 0, "{part}: {told:?}");
        let repaired = fsck(news.dir(), true).unwrap();
        assert!(repaired.is_clean(), "{part}: {repaired:?}");
        check(news.dir(), &positions, part);
    }
}
