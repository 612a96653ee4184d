//! Low marks: the lowest article that can be read, over segments, cancels and what has expired. Raising them takes
//! nothing away.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use crate::news;

use news::News;
use store::{ExpiryDecision, LowMark, Options, SEGMENT_BYTES_MIN, Snapshot, Spool};

fn small() -> Options {
    Options {
        segment_bytes: SEGMENT_BYTES_MIN,
        ..Options::default()
    }
}

/// The lowest number of each group that a reader sees.
fn lowest_seen(reader: &Snapshot, group: &str) -> Option<u64> {
    let mut lowest = None;
    reader
        .overview(group.as_bytes(), (0, u64::MAX), |row| {
            lowest.get_or_insert(row.number);
            Ok(())
        })
        .unwrap();
    lowest
}

fn told(news: &News) -> Vec<(String, u64, bool)> {
    let reader = Snapshot::open(news.dir()).unwrap();
    let tell = |mark: LowMark| {
        let name = String::from_utf8(mark.group).unwrap();
        let seen = lowest_seen(&reader, &name);
        assert_eq!(mark.is_empty, seen.is_none(), "{name}");
        assert_eq!(mark.lowest, seen.unwrap_or(mark.high + 1), "{name}");
        (name, mark.lowest, mark.is_empty)
    };
    reader
        .low_marks(reader.active())
        .unwrap()
        .into_iter()
        .map(tell)
        .collect()
}

fn of(group: &str, lowest: u64, is_empty: bool) -> (String, u64, bool) {
    (group.to_owned(), lowest, is_empty)
}

#[test]
fn over_segments_cancels_and_expiry() {
    let news = News::new(&["a", "b", "none"]);
    let mut spool = Spool::open(news.dir(), small()).unwrap();
    let filler = "x".repeat(200_000);
    let mut positions = Vec::new();
    for number in 1..=12 {
        let groups: &[&str] = if number % 2 == 0 { &["a", "b"] } else { &["a"] };
        positions.push(news.file_with(&mut spool, &format!("<{number}@x>"), groups, &filler));
    }
    spool.commit().unwrap();
    assert_eq!(
        told(&news),
        [of("a", 1, false), of("b", 1, false), of("none", 1, true)]
    );
    assert!(Snapshot::open(news.dir()).unwrap().segments().len() > 1);

    for number in [1, 2] {
        spool
            .cancel(positions[number - 1], format!("<{number}@x>").as_bytes())
            .unwrap();
    }
    spool.commit().unwrap();
    assert_eq!(
        told(&news),
        [of("a", 3, false), of("b", 2, false), of("none", 1, true)]
    );

    let expiry = ExpiryDecision {
        cuts: vec![(b"b".to_vec(), 7)],
        gone: vec![(b"a".to_vec(), 3)],
        ..ExpiryDecision::default()
    };
    spool.expire(&expiry).unwrap();
    assert_eq!(
        told(&news),
        [of("a", 4, false), of("b", 7, true), of("none", 1, true)]
    );
}

#[test]
fn raising_takes_nothing_away_and_outlives_the_loss_of_active() {
    let news = News::new(&["a", "b"]);
    let mut spool = Spool::open(news.dir(), small()).unwrap();
    for number in 1..=5 {
        news.file(&mut spool, &format!("<{number}@x>"), &["a"]);
    }
    for number in 1..=8 {
        news.file(&mut spool, &format!("<b{number}@x>"), &["b"]);
    }
    spool
        .set_low_marks(&[(b"a", 4), (b"b", 9), (b"unknown", 3)])
        .unwrap();
    spool.set_low_marks(&[(b"a", 2)]).unwrap();
    spool.commit().unwrap();
    let low = |spool: &Spool, group: &str| {
        let active = spool.active();
        active.low(active.find(group.as_bytes()).unwrap())
    };
    assert_eq!((low(&spool, "a"), low(&spool, "b")), (4, 9));
    assert_eq!(spool.expired().unwrap().cut(b"a"), 0);
    drop(spool);
    assert_eq!(
        lowest_seen(&Snapshot::open(news.dir()).unwrap(), "a"),
        Some(1)
    );

    std::fs::remove_file(news.dir().join("active")).unwrap();
    let repair = Options {
        repair: true,
        ..small()
    };
    let spool = Spool::open(news.dir(), repair);
    let spool = match spool {
        Ok(spool) => spool,
        Err(_) => {
            store::fsck::fsck(news.dir(), true).unwrap();
            Spool::open(news.dir(), small()).unwrap()
        }
    };
    assert_eq!((low(&spool, "a"), low(&spool, "b")), (4, 9));
    assert_eq!(spool.active().high(spool.active().find(b"a").unwrap()), 5);
}

#[test]
fn segments_may_go_after_the_reader_was_opened() {
    let news = News::new(&["a"]);
    let mut spool = Spool::open(news.dir(), small()).unwrap();
    let filler = "x".repeat(200_000);
    for number in 1..=12 {
        news.file_with(&mut spool, &format!("<{number}@x>"), &["a"], &filler);
    }
    spool.commit().unwrap();
    let reader = Snapshot::open(news.dir()).unwrap();
    let expiry = ExpiryDecision {
        cuts: vec![(b"a".to_vec(), 13)],
        forget_before: Some(i64::MAX),
        touched: reader.segments().to_vec(),
        ..ExpiryDecision::default()
    };
    spool.expire(&expiry).unwrap();
    drop(spool);
    let reclaimed = store::reclaim(news.dir(), small(), store::ReclaimPolicy::usual(0.3)).unwrap();
    assert!(reclaimed.segments > 0, "{reclaimed:?}");
    let marks = reader.low_marks(reader.active()).unwrap();
    assert!(marks[0].lowest > 1, "{marks:?}");
    assert_eq!(told(&news), [of("a", 13, true)]);
}

/// Where articles go by their Expires alone, no cut says so: the low mark rises all the same, and the count is that of what is left.
#[test]
fn what_expired_early_is_neither_counted_nor_below_the_low_mark() {
    let news = News::new(&["a", "b"]);
    let mut spool = Spool::open(news.dir(), small()).unwrap();
    let filler = "x".repeat(50_000);
    for number in 1..=38 {
        news.file_with(&mut spool, &format!("<{number}@x>"), &["a"], &filler);
    }
    for number in 1..=4 {
        news.file(&mut spool, &format!("<b{number}@x>"), &["b"]);
    }
    spool.commit().unwrap();
    let reader = Snapshot::open(news.dir()).unwrap();
    assert!(reader.segments().len() > 1, "the rows are in several files");
    // All but 20 and the last seven; of b the second only.
    let gone = (1..=31).filter(|number| *number != 20);
    let gone = gone.map(|number| (b"a".to_vec(), number));
    let expiry = ExpiryDecision {
        gone: gone.chain([(b"b".to_vec(), 2)]).collect(),
        ..ExpiryDecision::default()
    };
    spool.expire(&expiry).unwrap();
    let tell = |snapshot: &Snapshot| {
        ["a", "b"].map(|group| {
            let id = snapshot.active().find(group.as_bytes()).unwrap();
            (snapshot.count(id).unwrap(), snapshot.marks(id))
        })
    };
    let expected = [(8, (20, 38)), (3, (1, 4))];
    assert_eq!(tell(&Snapshot::open(news.dir()).unwrap()), expected);
    let low = |spool: &Spool| spool.active().low(spool.active().find(b"a").unwrap());
    assert_eq!(low(&spool), 20);
    // 20 goes, too.
    let expiry = ExpiryDecision {
        gone: vec![(b"a".to_vec(), 20)],
        ..ExpiryDecision::default()
    };
    spool.expire(&expiry).unwrap();
    drop(spool);
    assert_eq!(
        tell(&Snapshot::open(news.dir()).unwrap()),
        [(7, (32, 38)), (3, (1, 4))]
    );
    assert_eq!(low(&Spool::open(news.dir(), small()).unwrap()), 32);
}
