//! What the newsroom commits is seen by the reader in its process once that catches up, and not before.

use crate::news;

use news::News;
use store::{LiveReader, Options, Published, Spool};

#[test]
fn commits_are_seen_after_catching_up() {
    let news = News::new(&["a.b", "c.d"]);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    let published = Published::new();
    spool.publish_to(published.clone());
    let mut live_reader = LiveReader::open(news.dir(), published).unwrap();
    assert!(!live_reader.catch_up().unwrap());

    let position = news.file(&mut spool, "<1@x>", &["a.b", "c.d"]);
    assert!(!live_reader.catch_up().unwrap(), "nothing is committed");
    assert!(!live_reader.seen(b"<1@x>").unwrap());
    spool.commit().unwrap();
    assert!(!live_reader.seen(b"<1@x>").unwrap());
    assert_eq!(live_reader.position(b"a.b", 1).unwrap(), None);
    assert!(live_reader.record(position).unwrap().is_none());

    assert!(live_reader.catch_up().unwrap());
    assert!(!live_reader.catch_up().unwrap());
    assert!(live_reader.seen(b"<1@x>").unwrap());
    let found = live_reader.find(b"<1@x>").unwrap().unwrap();
    assert_eq!(found.position, position);
    let links: Vec<_> = found.links().collect();
    assert_eq!(links, [(&b"a.b"[..], 1), (b"c.d", 1)]);
    let group = live_reader.active().find(b"c.d").unwrap();
    assert_eq!(live_reader.marks(group), (1, 1));
    assert_eq!(live_reader.count(group).unwrap(), 1);
    assert_eq!(live_reader.position(b"c.d", 1).unwrap(), Some(position));
    assert_eq!(
        live_reader.next(b"c.d", 0, u64::MAX).unwrap(),
        Some((1, position))
    );
    let record = live_reader.record(position).unwrap().unwrap();
    assert!(record.wire().ends_with(b"\r\n.\r\n"));
    let wire = record.wire().to_vec();
    let stretch = live_reader.stretch(position).unwrap().unwrap();
    assert_eq!(stretch.bytes(), wire);
    assert!(stretch.is_still_there());
    let mut row = Vec::new();
    assert!(live_reader.row_of(b"<1@x>", &mut row).unwrap());
    assert!(row.starts_with(b"0\tsubject <1@x>\t"));
}
