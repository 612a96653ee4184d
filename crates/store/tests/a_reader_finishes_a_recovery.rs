//! A recovery that makes the derived files of the current segment again, killed in the middle, leaves them shorter than the mark
//! says. Who reads next finds every article all the same.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use crate::news;

use news::News;
use store::{Options, Snapshot, Spool};

#[test]
fn a_reader_finishes_a_recovery() {
    let news = News::new(&["a"]);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    news.file(&mut spool, "<1@a>", &["a"]);
    spool.commit().unwrap();
    drop(spool);
    let base = Snapshot::open(news.dir()).unwrap().segments()[0];
    let history = news.dir().join(format!("segments/{base:020}.his"));
    std::fs::write(history, b"").unwrap();
    let reader = Snapshot::open(news.dir()).unwrap();
    assert!(reader.article(b"<1@a>", &mut Vec::new()).unwrap().is_some());
}
