//! A segment that is sealed while a reader is open gets its rows merged into one block: the reader still sees all it saw.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use crate::news;

use news::News;
use store::{Options, Snapshot, Spool};

fn numbers(reader: &Snapshot) -> Vec<u64> {
    let mut seen = Vec::new();
    reader
        .overview(b"a", (0, u64::MAX), |row| {
            seen.push(row.number);
            Ok(())
        })
        .unwrap();
    seen
}

#[test]
fn rows_stay_in_sight() {
    for commits_after in [0, 1, 30] {
        let news = News::new(&["a", "b"]);
        let mut spool = Spool::open(news.dir(), Options::default()).unwrap();
        let mut next = 0;
        let mut file = |spool: &mut Spool, commits: usize| {
            for _ in 0..commits {
                next += 1;
                news.file(spool, &format!("<{next}@x>"), &["a", "b"]);
                spool.commit().unwrap();
            }
        };
        file(&mut spool, 3);
        let reader = Snapshot::open(news.dir()).unwrap();
        file(&mut spool, commits_after);
        assert_eq!(numbers(&reader), [1, 2, 3]);
        spool.seal().unwrap();
        file(&mut spool, 2);
        let seen = numbers(&reader);
        assert_eq!(
            seen.get(..3),
            Some(&[1, 2, 3][..]),
            "after {commits_after} more commits"
        );
        assert!(seen.len() <= 3 + commits_after);
        assert!(
            reader
                .article_by_number(b"b", 2, &mut Vec::new())
                .unwrap()
                .is_some()
        );
    }
}
