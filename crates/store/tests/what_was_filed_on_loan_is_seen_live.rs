//! While the lock is lent, others file, seal segments, make a larger index and add groups. Who reads live answers as before
//! meanwhile, and sees all of it when the spool is open again.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use crate::agree;
use crate::news;

use groups::Flag;
use news::News;
use store::{Options, Published, Snapshot, Spool};

#[test]
fn what_was_filed_on_loan_is_seen_live() {
    let news = News::new(&["a.b"]);
    let options = Options {
        segment_bytes: 1 << 20,
        ..Options::default()
    };
    let mut spool = Spool::open(news.dir(), options).unwrap();
    let published = Published::new();
    spool.publish_to(published.clone());
    let mut live = Snapshot::open_live(news.dir(), published.clone()).unwrap();
    let first = news.file(&mut spool, "<first@x>", &["a.b"]);
    spool.commit().unwrap();
    live.catch_up().unwrap();
    drop(spool);

    let mut other = Spool::open(news.dir(), options).unwrap();
    other.set_group(b"new.one", Flag::Open).unwrap();
    let filler = "\nfiller".repeat(2000);
    for number in 0..200 {
        let id = format!("<{number}@x>");
        news.file_with(&mut other, &id, &["a.b", "new.one"], &filler);
        other.commit().unwrap();
    }
    other.cancel(first, b"<first@x>").unwrap();
    other.rebuild_index().unwrap();
    news.file(&mut other, "<last@x>", &["new.one"]);
    other.commit().unwrap();
    assert!(!live.catch_up().unwrap());
    assert!(live.has(b"<first@x>").unwrap());
    assert!(live.record(first, &mut Vec::new()).unwrap().is_some());
    assert!(live.active().find(b"new.one").is_none());
    assert_eq!(agree::rows(&mut live, b"a.b", 1000).len(), {
        let mut row = Vec::new();
        assert!(live.row_of(b"<first@x>", &mut row).unwrap());
        row.len()
    });
    drop(other);

    let mut spool = Spool::open(news.dir(), options).unwrap();
    assert!(!live.catch_up().unwrap());
    spool.publish_to(published);
    assert!(live.catch_up().unwrap());
    let reader = Snapshot::open(news.dir()).unwrap();
    assert!(reader.segments().len() > 2);
    agree::agree(&mut live, &reader, "afterwards");
    let group = live.active().find(b"new.one").unwrap();
    assert_eq!(live.marks(group), (1, 201));
    assert!(live.find(b"<first@x>").unwrap().is_none());
}
