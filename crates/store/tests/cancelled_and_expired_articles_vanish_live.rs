//! What was cancelled or has expired is gone for who reads live, when it catches up; its id stays known.

use crate::agree;
use crate::news;

use news::News;
use store::{ExpiryDecision, LiveReader, Options, Published, Spool};

#[test]
fn cancelled_and_expired_articles_vanish_live() {
    let news = News::new(&["a.b", "c.d"]);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    let published = Published::new();
    spool.publish_to(published.clone());
    let mut live_reader = LiveReader::open(news.dir(), published).unwrap();
    let mut positions = Vec::new();
    for number in 1..=10 {
        let id = format!("<{number}@x>");
        positions.push(news.file(&mut spool, &id, &["a.b", "c.d"]));
    }
    spool.commit().unwrap();
    live_reader.catch_up().unwrap();
    let numbers = |live_reader: &mut LiveReader| {
        let mut numbers = Vec::new();
        live_reader
            .numbers(b"a.b", (1, u64::MAX), 100, &mut numbers)
            .unwrap();
        let rows = agree::rows(live_reader, b"a.b", usize::MAX);
        let text = String::from_utf8(rows).unwrap();
        let told: Vec<u64> = text
            .lines()
            .map(|row| row.split_once('\t').unwrap().0.parse().unwrap())
            .collect();
        assert_eq!(told, numbers);
        numbers
    };
    assert_eq!(numbers(&mut live_reader), (1..=10).collect::<Vec<_>>());

    spool.cancel(positions[4], b"<5@x>").unwrap();
    spool.commit().unwrap();
    assert_eq!(numbers(&mut live_reader).len(), 10);
    live_reader.catch_up().unwrap();
    assert_eq!(numbers(&mut live_reader), [1, 2, 3, 4, 6, 7, 8, 9, 10]);
    assert!(live_reader.seen(b"<5@x>").unwrap());
    assert!(live_reader.find(b"<5@x>").unwrap().is_none());
    assert_eq!(live_reader.position(b"a.b", 5).unwrap(), None);
    let mut row = Vec::new();
    assert!(!live_reader.row_of(b"<5@x>", &mut row).unwrap());

    spool
        .expire(&ExpiryDecision {
            cuts: vec![(b"a.b".to_vec(), 4)],
            survivors: vec![(b"a.b".to_vec(), 2)],
            gone: vec![(b"a.b".to_vec(), 9)],
            ..ExpiryDecision::default()
        })
        .unwrap();
    live_reader.catch_up().unwrap();
    assert_eq!(numbers(&mut live_reader), [2, 4, 6, 7, 8, 10]);
    let group = live_reader.active().find(b"a.b").unwrap();
    assert_eq!(live_reader.marks(group), (2, 10));
    // It is still in its other group.
    let found = live_reader.find(b"<1@x>").unwrap().unwrap();
    assert_eq!(found.links().collect::<Vec<_>>(), [(&b"c.d"[..], 1)]);
    assert!(live_reader.row_of(b"<1@x>", &mut row).unwrap());
    assert!(row.starts_with(b"0\t"));

    let all = |name: &[u8]| (name.to_vec(), 11);
    spool
        .expire(&ExpiryDecision {
            cuts: vec![all(b"a.b")],
            ..ExpiryDecision::default()
        })
        .unwrap();
    live_reader.catch_up().unwrap();
    assert_eq!(live_reader.marks(group), (2, 10), "the survivor is there");
    assert_eq!(live_reader.count(group).unwrap(), 1);
    spool
        .expire(&ExpiryDecision {
            gone: vec![(b"a.b".to_vec(), 2)],
            ..ExpiryDecision::default()
        })
        .unwrap();
    live_reader.catch_up().unwrap();
    assert_eq!(live_reader.marks(group), (11, 10));
    assert_eq!(live_reader.count(group).unwrap(), 0);
}
