//! Who goes along the log from a position meets every article filed since, once, in order: over sealed segments, over
//! segments that were written anew, and what was filed after it looked first.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use crate::news;

use std::ops::ControlFlow;

use news::{News, article};
use store::{Options, Position, ReclaimPolicy, Snapshot, Spool};

/// Positions from one on, up to so many, and where to go on.
fn walk(reader: &Snapshot, from: Position, most: usize) -> (Vec<Position>, Position) {
    let mut met = Vec::new();
    let mut next = from;
    let flow = reader
        .each_article((from, reader.end()), |logged| {
            assert!(logged.position >= next, "in order");
            next = logged.next;
            met.push(logged.position);
            if met.len() < most {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })
        .unwrap();
    assert_eq!(flow.is_break(), met.len() == most);
    (met, next)
}

fn file(news: &News, spool: &mut Spool, numbers: std::ops::Range<u32>) -> Vec<Position> {
    let filed = numbers
        .map(|number| {
            let position = news.file(spool, &format!("<{number}@x>"), &["a"]);
            if number % 3 == 0 {
                spool.commit().unwrap();
            }
            position
        })
        .collect();
    spool.commit().unwrap();
    filed
}

#[test]
fn every_article_is_met_once() {
    let news = News::new(&["a"]);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    let mut filed = file(&news, &mut spool, 0..20);
    spool.seal().unwrap();
    filed.extend(file(&news, &mut spool, 20..40));
    spool.seal().unwrap();
    filed.extend(file(&news, &mut spool, 40..50));

    let mut reader = Snapshot::open(news.dir()).unwrap();
    assert_eq!(walk(&reader, reader.oldest(), 1000).0, filed);
    for step in [1, 7, 20, 49] {
        let mut met = Vec::new();
        let mut from = Position(0);
        loop {
            let (some, next) = walk(&reader, from, step);
            if some.is_empty() {
                break;
            }
            met.extend(some);
            from = next;
        }
        assert_eq!(met, filed, "{step} at a time");
    }

    assert!(!reader.catch_up().unwrap(), "nothing is new");
    let (_, end) = walk(&reader, Position(0), 1000);
    let more = file(&news, &mut spool, 50..55);
    assert!(walk(&reader, end, 1000).0.is_empty(), "not looked at yet");
    assert!(reader.catch_up().unwrap());
    assert_eq!(walk(&reader, end, 1000).0, more);
}

#[test]
fn what_was_written_anew_keeps_its_positions() {
    let news = News::new(&["a"]);
    let options = Options {
        segment_bytes: 1 << 20,
        ..Options::default()
    };
    let mut spool = Spool::open(news.dir(), options).unwrap();
    let filed = file(&news, &mut spool, 0..400);
    let mut reader = Snapshot::open(news.dir()).unwrap();
    let mut buffer = Vec::new();
    assert!(reader.record(filed[1], &mut buffer).unwrap().is_some());
    for (number, position) in (0..).zip(&filed) {
        if number % 2 == 0 {
            let id = format!("<{number}@x>");
            spool.cancel(*position, id.as_bytes()).unwrap();
        }
    }
    spool.commit().unwrap();
    spool.seal().unwrap();
    drop(spool);
    let eagerness = ReclaimPolicy {
        dead_part: 0.1,
        everywhere: true,
        now: i64::MAX,
    };
    let reclaimed = store::reclaim(news.dir(), options, eagerness).unwrap();
    assert!(reclaimed.repacked > 0, "{reclaimed:?}");
    // The map of the old file may still be read; it is the same article.
    let found = reader.record(filed[3], &mut buffer).unwrap();
    assert_eq!(found.unwrap().wire_article().len(), {
        let mut wire = Vec::new();
        ::article::wire::push_wire(&mut wire, article("<3@x>").as_bytes());
        wire.len()
    });

    assert!(reader.catch_up().unwrap());
    let left: Vec<Position> = filed.iter().copied().skip(1).step_by(2).collect();
    assert_eq!(walk(&reader, reader.oldest(), 1000).0, left);
    assert_eq!(walk(&reader, filed[101], 3).0, left[50..53]);
    assert_eq!(
        walk(&reader, filed[100], 3).0,
        left[50..53],
        "one that is gone"
    );
    for (number, position) in (0..).zip(&filed) {
        let id = format!("<{number}@x>");
        match reader.record(*position, &mut buffer).unwrap() {
            Some(record) => {
                let mut native = Vec::new();
                record.push_native(&mut native);
                assert_eq!(native, article(&id).as_bytes());
                assert!(number % 2 == 1);
            }
            None => assert!(number % 2 == 0),
        }
    }
}
