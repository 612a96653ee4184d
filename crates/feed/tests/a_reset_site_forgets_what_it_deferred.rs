//! `feed reset`: the walk meets what lies behind the position, and nothing else is sent, unless the cursor moves back.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use crate::log::News;

use feed::SiteState;
use feed::deferred::Deferred;
use feed::enrolment::{self, NewSite};
use feed::ihave::REQUEST_POSITION;
use feed::start::Start;
use store::Position;

#[test]
fn deferred_articles_go_with_the_cursor() {
    let mut news = News::new();
    let site = NewSite {
        name: b"north",
        start: Start::Now,
    };
    enrolment::enrol(&news.spool, &[site]).unwrap();
    let places: Vec<Position> = (0..4).map(|_| news.file("north")).collect();
    news.commit();
    let end = news.snapshot().end();
    // Back to the third, to the first, and forward.
    for (position, left) in [(places[2], &places[..1]), (places[0], &[]), (end, &[])] {
        let mut state = SiteState::take_only(news.dir(), b"north").unwrap();
        state.move_to(places[3]).unwrap();
        let list = [places[0], places[2]].map(|position| Deferred {
            position,
            due: 7,
            attempts: 1,
            is_blamed: false,
            is_unreadable: false,
        });
        state.set_deferred(list.to_vec()).unwrap();
        // A sendme message that is answered in part.
        let answered = state.dir().join(REQUEST_POSITION);
        std::fs::write(&answered, "<1@a> 300\n").unwrap();
        state.reset(position).unwrap();
        drop(state);
        assert!(!answered.exists());
        let state = SiteState::take_only(news.dir(), b"north").unwrap();
        let deferred = state.deferred().iter().map(|one| one.position);
        assert_eq!(deferred.collect::<Vec<_>>(), left);
        assert_eq!(state.cursor().position, position);
    }
}
