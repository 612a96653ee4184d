//! What the newsroom commits is seen by the reader in its process once that catches up, and not before.

use crate::news;

use news::News;
use store::{Board, Options, Spool, Stacks};

#[test]
fn commits_are_seen_after_catching_up() {
    let news = News::new(&["a.b", "c.d"]);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    let board = Board::new();
    spool.announce_on(board.clone());
    let mut stacks = Stacks::open(news.dir(), board).unwrap();
    assert!(!stacks.catch_up().unwrap());

    let position = news.file(&mut spool, "<1@x>", &["a.b", "c.d"]);
    assert!(!stacks.catch_up().unwrap(), "nothing is committed");
    assert!(!stacks.seen(b"<1@x>").unwrap());
    spool.commit().unwrap();
    assert!(!stacks.seen(b"<1@x>").unwrap());
    assert_eq!(stacks.position(b"a.b", 1).unwrap(), None);
    assert!(stacks.record(position).unwrap().is_none());

    assert!(stacks.catch_up().unwrap());
    assert!(!stacks.catch_up().unwrap());
    assert!(stacks.seen(b"<1@x>").unwrap());
    let found = stacks.find(b"<1@x>").unwrap().unwrap();
    assert_eq!(found.position, position);
    let links: Vec<_> = found.links().collect();
    assert_eq!(links, [(&b"a.b"[..], 1), (b"c.d", 1)]);
    let group = stacks.active().find(b"c.d").unwrap();
    assert_eq!(stacks.marks(group), (1, 1));
    assert_eq!(stacks.count(group).unwrap(), 1);
    assert_eq!(stacks.position(b"c.d", 1).unwrap(), Some(position));
    assert_eq!(
        stacks.next(b"c.d", 0, u64::MAX).unwrap(),
        Some((1, position))
    );
    let record = stacks.record(position).unwrap().unwrap();
    assert!(record.wire().ends_with(b"\r\n.\r\n"));
    let wire = record.wire().to_vec();
    let stretch = stacks.stretch(position).unwrap().unwrap();
    assert_eq!(stretch.bytes(), wire);
    assert!(stretch.is_still_there());
    let mut row = Vec::new();
    assert!(stacks.row_of(b"<1@x>", &mut row).unwrap());
    assert!(row.starts_with(b"0\tsubject <1@x>\t"));
}
