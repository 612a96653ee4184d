//! Threads read from one snapshot at the same time, and a clone stays as it is while another catches up.

#![allow(clippy::unwrap_used, clippy::panic)]

use crate::news;

use std::thread;

use news::News;
use store::{Options, Position, Published, Snapshot, Spool};

const ARTICLES: u64 = 60;

fn id(number: u64) -> String {
    format!("<{number}@x>")
}

fn file(news: &News, spool: &mut Spool, numbers: std::ops::Range<u64>) -> Vec<Position> {
    let filed = numbers.map(|number| news.file(spool, &id(number), &["a.b"]));
    let filed = filed.collect();
    spool.commit().unwrap();
    filed
}

/// Everything that the snapshot shows of the group is what was filed, and nothing else.
fn check(snapshot: &Snapshot, filed: &[Position]) {
    let last = filed.len() as u64;
    let mut numbers = Vec::new();
    let range = (1, u64::MAX);
    snapshot
        .numbers(b"a.b", range, usize::MAX, &mut numbers)
        .unwrap();
    assert_eq!(numbers, (1..=last).collect::<Vec<_>>());
    let mut rows = 0;
    let next = snapshot.rows(b"a.b", range, usize::MAX, |run| {
        rows += run.rows;
        // Asked again in the middle of an answer.
        assert_eq!(
            snapshot.position(b"a.b", run.first).unwrap(),
            usize::try_from(run.first - 1)
                .ok()
                .and_then(|at| filed.get(at))
                .copied()
        );
    });
    assert_eq!((next.unwrap().next, rows), (None, last));
    let mut buffer = Vec::new();
    for (number, position) in (1..).zip(filed) {
        assert!(snapshot.has(id(number).as_bytes()).unwrap());
        let found = snapshot.find(id(number).as_bytes()).unwrap().unwrap();
        assert_eq!(found.position, *position);
        assert_eq!(snapshot.position(b"a.b", number).unwrap(), Some(*position));
        let record = snapshot.record(*position, &mut buffer).unwrap().unwrap();
        let line = store::HistoryLine::parse(record.line()).unwrap();
        assert_eq!(line.id, id(number).as_bytes());
    }
    assert!(!snapshot.has(id(last + 1).as_bytes()).unwrap());
}

#[test]
fn by_many_threads() {
    let news = News::new(&["a.b"]);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    let mut filed = file(&news, &mut spool, 1..ARTICLES / 2);
    spool.seal().unwrap();
    filed.extend(file(&news, &mut spool, ARTICLES / 2..ARTICLES));
    let snapshot = Snapshot::open(news.dir()).unwrap();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| check(&snapshot, &filed));
        }
        for clone in std::iter::repeat_with(|| snapshot.clone()).take(4) {
            let filed = &filed;
            scope.spawn(move || check(&clone, filed));
        }
    });
}

#[test]
fn a_clone_stays_as_it_is() {
    let news = News::new(&["a.b"]);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    let published = Published::new();
    spool.publish_to(published.clone());
    let mut snapshots = vec![(
        Snapshot::open_live(news.dir(), published).unwrap(),
        Vec::new(),
    )];
    let mut filed = Vec::new();
    for round in 0..6 {
        let from = filed.len() as u64 + 1;
        filed.extend(file(&news, &mut spool, from..from + 10));
        if round % 2 == 1 {
            spool.seal().unwrap();
            let from = filed.len() as u64 + 1;
            filed.extend(file(&news, &mut spool, from..from + 3));
        }
        if round == 3 {
            spool.cancel(filed[0], id(1).as_bytes()).unwrap();
            spool.commit().unwrap();
            break;
        }
        let (mut newest, _) = snapshots.last().unwrap().clone();
        assert!(newest.catch_up().unwrap());
        snapshots.push((newest, filed.clone()));
        for (snapshot, filed) in &snapshots {
            check(snapshot, filed);
        }
    }
    let (mut newest, _) = snapshots.last().unwrap().clone();
    assert!(newest.catch_up().unwrap());
    assert!(newest.find(id(1).as_bytes()).unwrap().is_none());
    for (snapshot, filed) in &snapshots {
        check(snapshot, filed);
    }
    let mut oldest = snapshots.remove(0).0;
    assert!(oldest.catch_up().unwrap());
    assert_eq!(oldest.position(b"a.b", 1).unwrap(), None);
    assert_eq!(oldest.end(), newest.end());
}
