//! Groups that come, change and go are seen by who reads live, when it catches up.

use crate::news;

use groups::Flag;
use news::News;
use store::{Options, Published, Snapshot, Spool};

#[test]
fn a_new_group_is_seen_live() {
    let news = News::new(&["a.b"]);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    let published = Published::new();
    spool.publish_to(published.clone());
    let mut snapshot = Snapshot::open_live(news.dir(), published).unwrap();
    let generation = snapshot.active().generation();

    spool.set_group(b"new.one", Flag::Moderated).unwrap();
    spool.commit().unwrap();
    assert!(snapshot.active().find(b"new.one").is_none());
    snapshot.catch_up().unwrap();
    let group = snapshot.active().find(b"new.one").unwrap();
    assert_eq!(snapshot.active().flag(group), Flag::Moderated);
    assert_eq!(snapshot.marks(group), (1, 0));
    assert_eq!(snapshot.count(group).unwrap(), 0);
    // What was worked out for the other groups stays good.
    assert_eq!(snapshot.active().generation(), generation);

    news.file(&mut spool, "<1@x>", &["a.b", "new.one"]);
    spool.set_group(b"new.one", Flag::Open).unwrap();
    spool.commit().unwrap();
    snapshot.catch_up().unwrap();
    assert_eq!(snapshot.active().flag(group), Flag::Open);
    assert_eq!(snapshot.marks(group), (1, 1));

    news.file(&mut spool, "<2@x>", &["new.one"]);
    spool.commit().unwrap();
    snapshot.catch_up().unwrap();
    assert_eq!(snapshot.marks(group), (1, 2));

    spool.remove_group(b"new.one").unwrap();
    spool.commit().unwrap();
    snapshot.catch_up().unwrap();
    assert!(snapshot.active().find(b"new.one").is_none());
    // Its articles stay until they expire.
    assert!(snapshot.find(b"<2@x>").unwrap().is_some());
}
