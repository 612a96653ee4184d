//! What was cancelled or has expired is gone for who reads live, when it catches up; its id stays known.

use crate::agree;
use crate::news;

use news::News;
use store::{ExpiryDecision, Options, Published, Snapshot, Spool};

#[test]
fn cancelled_and_expired_articles_vanish_live() {
    let news = News::new(&["a.b", "c.d"]);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    let published = Published::new();
    spool.publish_to(published.clone());
    let mut live = Snapshot::open_live(news.dir(), published).unwrap();
    let mut positions = Vec::new();
    for number in 1..=10 {
        let id = format!("<{number}@x>");
        positions.push(news.file(&mut spool, &id, &["a.b", "c.d"]));
    }
    spool.commit().unwrap();
    live.catch_up().unwrap();
    let numbers = |live: &mut Snapshot| {
        let mut numbers = Vec::new();
        live.numbers(b"a.b", (1, u64::MAX), 100, &mut numbers)
            .unwrap();
        let rows = agree::rows(live, b"a.b", usize::MAX);
        let text = String::from_utf8(rows).unwrap();
        let told: Vec<u64> = text
            .lines()
            .map(|row| row.split_once('\t').unwrap().0.parse().unwrap())
            .collect();
        assert_eq!(told, numbers);
        numbers
    };
    assert_eq!(numbers(&mut live), (1..=10).collect::<Vec<_>>());

    spool.cancel(positions[4], b"<5@x>").unwrap();
    spool.commit().unwrap();
    assert_eq!(numbers(&mut live).len(), 10);
    live.catch_up().unwrap();
    assert_eq!(numbers(&mut live), [1, 2, 3, 4, 6, 7, 8, 9, 10]);
    assert!(live.has(b"<5@x>").unwrap());
    assert!(live.find(b"<5@x>").unwrap().is_none());
    assert_eq!(live.position(b"a.b", 5).unwrap(), None);
    let mut row = Vec::new();
    assert!(!live.row_of(b"<5@x>", &mut row).unwrap());

    spool
        .expire(&ExpiryDecision {
            cuts: vec![(b"a.b".to_vec(), 4)],
            survivors: vec![(b"a.b".to_vec(), 2)],
            gone: vec![(b"a.b".to_vec(), 9)],
            ..ExpiryDecision::default()
        })
        .unwrap();
    live.catch_up().unwrap();
    assert_eq!(numbers(&mut live), [2, 4, 6, 7, 8, 10]);
    let group = live.active().find(b"a.b").unwrap();
    assert_eq!(live.marks(group), (2, 10));
    // It is still in its other group.
    let found = live.find(b"<1@x>").unwrap().unwrap();
    assert_eq!(found.links().collect::<Vec<_>>(), [(&b"c.d"[..], 1)]);
    assert!(live.row_of(b"<1@x>", &mut row).unwrap());
    assert!(row.starts_with(b"0\t"));

    let all = |name: &[u8]| (name.to_vec(), 11);
    spool
        .expire(&ExpiryDecision {
            cuts: vec![all(b"a.b")],
            ..ExpiryDecision::default()
        })
        .unwrap();
    live.catch_up().unwrap();
    assert_eq!(live.marks(group), (2, 10), "the survivor is there");
    assert_eq!(live.count(group).unwrap(), 1);
    spool
        .expire(&ExpiryDecision {
            gone: vec![(b"a.b".to_vec(), 2)],
            ..ExpiryDecision::default()
        })
        .unwrap();
    live.catch_up().unwrap();
    assert_eq!(live.marks(group), (11, 10));
    assert_eq!(live.count(group).unwrap(), 0);
}
