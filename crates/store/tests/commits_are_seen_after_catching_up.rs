//! What the writer commits is seen by the reader in its process once that catches up, and not before.

use crate::news;

use news::News;
use store::{Options, Published, Snapshot, Spool};

#[test]
fn commits_are_seen_after_catching_up() {
    let news = News::new(&["a.b", "c.d"]);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    let published = Published::new();
    spool.publish_to(published.clone());
    let mut live = Snapshot::open_live(news.dir(), published).unwrap();
    assert!(!live.catch_up().unwrap());

    let position = news.file(&mut spool, "<1@x>", &["a.b", "c.d"]);
    assert!(!live.catch_up().unwrap(), "nothing is committed");
    assert!(!live.has(b"<1@x>").unwrap());
    spool.commit().unwrap();
    assert!(!live.has(b"<1@x>").unwrap());
    assert_eq!(live.position(b"a.b", 1).unwrap(), None);
    assert!(live.record(position, &mut Vec::new()).unwrap().is_none());

    assert!(live.catch_up().unwrap());
    assert!(!live.catch_up().unwrap());
    assert!(live.has(b"<1@x>").unwrap());
    let found = live.find(b"<1@x>").unwrap().unwrap();
    assert_eq!(found.position, position);
    let links: Vec<_> = found.links().collect();
    assert_eq!(links, [(&b"a.b"[..], 1), (b"c.d", 1)]);
    let group = live.active().find(b"c.d").unwrap();
    assert_eq!(live.marks(group), (1, 1));
    assert_eq!(live.count(group).unwrap(), 1);
    assert_eq!(live.position(b"c.d", 1).unwrap(), Some(position));
    assert_eq!(live.next(b"c.d", 0, u64::MAX).unwrap(), Some((1, position)));
    let mut buffer = Vec::new();
    let record = live.record(position, &mut buffer).unwrap().unwrap();
    assert!(record.wire().ends_with(b"\r\n.\r\n"));
    let wire = record.wire().to_vec();
    let stretch = live.stretch(position).unwrap().unwrap();
    assert_eq!(stretch.bytes(), wire);
    assert!(stretch.is_still_there());
    let mut row = Vec::new();
    assert!(live.row_of(b"<1@x>", &mut row).unwrap());
    assert!(row.starts_with(b"0\tsubject <1@x>\t"));
}
