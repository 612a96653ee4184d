//! Groups that come, change and go are seen by who reads live, when it catches up.

use crate::news;

use groups::Flag;
use news::News;
use store::{Options, Published, Snapshot, Spool};

#[test]
fn a_new_group_is_seen_live() {
    let news = News::new(&["a.b"]);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    let board = Published::new();
    spool.publish_to(board.clone());
    let mut stacks = Snapshot::open_live(news.dir(), board).unwrap();
    let generation = stacks.active().generation();

    spool.set_group(b"new.one", Flag::Moderated).unwrap();
    spool.commit().unwrap();
    assert!(stacks.active().find(b"new.one").is_none());
    stacks.catch_up().unwrap();
    let group = stacks.active().find(b"new.one").unwrap();
    assert_eq!(stacks.active().flag(group), Flag::Moderated);
    assert_eq!(stacks.marks(group), (1, 0));
    assert_eq!(stacks.count(group).unwrap(), 0);
    // What was worked out for the other groups stays good.
    assert_eq!(stacks.active().generation(), generation);

    news.file(&mut spool, "<1@x>", &["a.b", "new.one"]);
    spool.set_group(b"new.one", Flag::Open).unwrap();
    spool.commit().unwrap();
    stacks.catch_up().unwrap();
    assert_eq!(stacks.active().flag(group), Flag::Open);
    assert_eq!(stacks.marks(group), (1, 1));

    news.file(&mut spool, "<2@x>", &["new.one"]);
    spool.commit().unwrap();
    stacks.catch_up().unwrap();
    assert_eq!(stacks.marks(group), (1, 2));

    spool.remove_group(b"new.one").unwrap();
    spool.commit().unwrap();
    stacks.catch_up().unwrap();
    assert!(stacks.active().find(b"new.one").is_none());
    // Its articles stay until they expire.
    assert!(stacks.find(b"<2@x>").unwrap().is_some());
}
