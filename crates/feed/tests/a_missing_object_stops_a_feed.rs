//! An object that is missing may come back: the articles in it wait, and none is passed over.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use crate::log;

use feed::enrolment::{self, NewSite};
use feed::start::Start;
use feed::{ArticleSource, Error, FromCursor, SiteState};
use log::News;
use log::object_double::{ObjectDouble, Wrong};

/// Longer than what one fetch brings, shorter together than what a walk reads at once.
const BODY_LINES: usize = 100_000;
const ARTICLES: usize = 3;

#[test]
fn that_goes_between_the_search_and_the_reading() {
    let objects = ObjectDouble::new(1 << 30);
    let mut news = News::new();
    let site = NewSite {
        name: b"one",
        start: Start::Oldest,
    };
    enrolment::enrol(&news.spool, &[site]).unwrap();
    news.more_lines = BODY_LINES;
    let wanted: Vec<_> = (0..ARTICLES).map(|_| news.file("one")).collect();
    news.commit();
    let news = news.offload(&objects);
    for is_missing in [true, false] {
        objects.set(if is_missing {
            Wrong::Misses(1 << 20)
        } else {
            Wrong::Nothing
        });
        let mut snapshot = news.snapshot();
        let state = SiteState::take(news.dir(), b"one", &mut snapshot).unwrap();
        let mut togo = FromCursor::new(&snapshot, state, Box::new(|_, _| false));
        let mut got = Vec::new();
        let offered = togo.offer_at(&mut |position, _| {
            got.push(position);
            true
        });
        togo.delivered().unwrap();
        match offered {
            Err(Error::Store(store::Error::LostObject { .. })) => {
                assert!(is_missing && got.is_empty());
            }
            offered => {
                offered.unwrap();
                assert!(!is_missing && got == wanted, "{got:?}");
            }
        }
    }
    let mut snapshot = news.snapshot();
    let state = SiteState::take(news.dir(), b"one", &mut snapshot).unwrap();
    assert_eq!((state.cursor().sent, state.cursor().skipped), (3, 0));
}
