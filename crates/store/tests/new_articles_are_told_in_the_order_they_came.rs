//! NEWNEWS: the articles that arrived at a time or later, in their order, whatever segment they are in.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use crate::agree;
use crate::news;

use news::News;
use store::{Options, Published, Snapshot, Spool};

#[test]
fn new_articles_are_told_in_the_order_they_came() {
    let news = News::new(&["a.b"]);
    let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
    let published = Published::new();
    spool.publish_to(published.clone());
    let mut live = Snapshot::open_live(news.dir(), published).unwrap();
    let ids = |live: &Snapshot, seconds| -> Vec<String> {
        let lines = agree::lines_since(live, seconds);
        let id = |line: &[u8]| String::from_utf8(line.split(|&b| b == b'\t').next()?.into()).ok();
        lines.iter().map(|line| id(line).unwrap()).collect()
    };
    assert!(ids(&live, 0).is_empty());
    for number in 0..60 {
        let (id, arrival) = (format!("<{number}@x>"), 1000 + number / 3);
        let filed = news.file_at(&mut spool, &id, &["a.b"], ("", arrival));
        if number == 31 {
            spool.cancel(filed.unwrap(), id.as_bytes()).unwrap();
        }
        if number % 25 == 24 {
            spool.commit().unwrap();
            spool.seal().unwrap();
        }
    }
    spool.remember(b"<seen@x>", 1019, None.into()).unwrap();
    spool.commit().unwrap();
    live.catch_up().unwrap();
    for seconds in 990..1025 {
        let first = (seconds - 1000).clamp(0, 20) * 3;
        let should: Vec<String> = (first..60)
            .filter(|number| *number != 31)
            .map(|number| format!("<{number}@x>"))
            .collect();
        assert_eq!(ids(&live, seconds), should, "{seconds}");
    }
}
