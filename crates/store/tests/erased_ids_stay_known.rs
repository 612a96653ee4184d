//! The id of an erased article stays known after a power cut: a peer that offers the article again is refused.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::double::Double;
use crate::news::News;

use store::{Options, RemovalNote, RemovedBy, Spool};

const CUTS: u64 = 20;

#[test]
fn of_an_article_in_a_segment_that_was_just_sealed() {
    for seed in 0..CUTS {
        let news = News::new(&["a.b"]);
        let double = Double::new(news.dir());
        let mut spool = Spool::open_on(double.disk(), news.dir(), Options::default()).unwrap();
        let positions: Vec<_> = (0..5)
            .map(|number| news.file(&mut spool, &format!("<{number}@x>"), &["a.b"]))
            .collect();
        spool.commit().unwrap();
        spool.seal().unwrap();
        spool.commit().unwrap();
        let note = RemovalNote {
            by: RemovedBy::Erasure,
            text: b"",
            seconds: 1,
            until: i64::MIN,
        };
        let erased = spool.erase(positions[2], b"<2@x>", note).unwrap();
        assert!(erased.bytes > 0 && erased.rows == 1);
        drop(spool);

        let left = double.power_cut(seed);
        let after = Double::new(left.path());
        let spool = Spool::open_on(after.disk(), left.path(), Options::default()).unwrap();
        for number in 0..5 {
            assert!(
                spool.has(format!("<{number}@x>").as_bytes()).unwrap(),
                "{seed}"
            );
        }
    }
}
