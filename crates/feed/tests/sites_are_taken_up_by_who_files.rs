//! A site may be met first by a command that only looks, while somebody files who does not know of it yet: nothing filed
//! meanwhile is left out, whoever comes first and in whatever order.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use crate::log;

use feed::SiteState;
use feed::enrolment::{self, NewSite};
use feed::start::Start;
use feed::waiting::{self, Site};
use log::News;
use store::{Position, Record};

const NORTH: NewSite<'_> = NewSite {
    name: b"north",
    start: Start::Now,
};
const SOUTH: NewSite<'_> = NewSite {
    name: b"south",
    start: Start::Now,
};

/// What waits for a site whose subscription takes everything.
fn waits(news: &News, name: &[u8]) -> Vec<Position> {
    let mut snapshot = news.snapshot();
    let place = SiteState::take(news.dir(), name, &mut snapshot).unwrap();
    let site = Site {
        name,
        cursor: *place.cursor(),
    };
    let mut all = |_: &Record<'_>, _: &[u8]| true;
    let round = waiting::round(&snapshot, &[site], 100, &mut all).unwrap();
    round.sites[0]
        .items
        .iter()
        .map(|item| item.position)
        .collect()
}

#[test]
fn what_was_filed_before_the_filer_knew_is_not_left_out() {
    let mut news = News::new();
    let enrol =
        |news: &News, sites: &[NewSite<'_>]| enrolment::enrol(&news.spool, sites).unwrap().len();
    assert_eq!(enrol(&news, &[SOUTH]), 1);
    news.file("south");
    news.commit();
    // `feed list` meets the new site; whoever files goes on without it.
    let end = news.snapshot().end();
    assert_eq!(
        enrolment::introduce(news.dir(), end, &[SOUTH, NORTH]).unwrap(),
        [b"north"]
    );
    assert!(
        enrolment::introduce(news.dir(), end, &[SOUTH, NORTH])
            .unwrap()
            .is_empty()
    );
    let mut wanted = vec![news.file("south")];
    news.commit();
    assert_eq!(waits(&news, b"north"), wanted);
    // Somebody else files with the new sites for a moment, then the old one again, with the old sites.
    assert_eq!(enrol(&news, &[SOUTH, NORTH]), 0);
    wanted.push(news.file("south north"));
    news.commit();
    assert_eq!(enrol(&news, &[SOUTH]), 0);
    wanted.push(news.file("south"));
    news.commit();
    // A reload at last.
    assert_eq!(enrol(&news, &[SOUTH, NORTH]), 0);
    wanted.push(news.file("south north"));
    news.file("south");
    news.commit();
    assert_eq!(waits(&news, b"north"), wanted);
    assert_eq!(waits(&news, b"south").len(), 6);
}

#[test]
fn the_last_site_may_go_and_come_back() {
    let mut news = News::new();
    let enrol = |news: &News, sites: &[NewSite<'_>]| {
        enrolment::enrol(&news.spool, sites).unwrap();
    };
    enrol(&news, &[NORTH]);
    let mut wanted = vec![news.file("north")];
    news.commit();
    enrol(&news, &[]);
    wanted.push(news.file(""));
    news.commit();
    enrol(&news, &[NORTH]);
    wanted.push(news.file("north"));
    news.file("");
    news.commit();
    assert_eq!(waits(&news, b"north"), wanted);
}

#[test]
fn a_site_that_comes_back_may_be_served_before_somebody_files() {
    let mut news = News::new();
    enrolment::enrol(&news.spool, &[NORTH]).unwrap();
    let mut wanted = vec![news.file("north")];
    news.commit();
    enrolment::enrol(&news.spool, &[]).unwrap();
    wanted.push(news.file(""));
    news.commit();
    // `sendbatches` meets it first.
    let end = news.snapshot().end();
    let fresh = enrolment::introduce(news.dir(), end, &[NORTH]).unwrap();
    assert!(fresh.is_empty());
    assert_eq!(waits(&news, b"north"), wanted);
    enrolment::enrol(&news.spool, &[NORTH]).unwrap();
    news.file("");
    news.commit();
    assert_eq!(waits(&news, b"north"), wanted);
}

#[test]
fn a_site_that_lost_its_cursor_gets_no_other_one() {
    let news = News::new();
    enrolment::enrol(&news.spool, &[NORTH]).unwrap();
    std::fs::remove_dir_all(news.dir().join("feeds/north")).unwrap();
    let end = news.snapshot().end();
    let fresh = enrolment::introduce(news.dir(), end, &[NORTH]).unwrap();
    assert!(fresh.is_empty());
    let taken = SiteState::take_only(news.dir(), b"north");
    assert!(matches!(taken, Err(feed::Error::NoCursor(_))));
    // Nobody can read whether the site is new.
    let known = news.dir().join(enrolment::FILE);
    std::fs::remove_file(&known).unwrap();
    std::fs::create_dir(&known).unwrap();
    for sites in [&[NORTH][..], &[NORTH, SOUTH]] {
        let error = enrolment::introduce(news.dir(), end, sites).unwrap_err();
        assert!(error.to_string().contains("sites.known"), "{error}");
        assert!(enrolment::enrol(&news.spool, sites).is_err());
    }
    assert!(!news.dir().join("feeds/north").exists());
}

#[test]
fn without_the_file_that_tells_since_when_the_subscription_is_asked() {
    let mut news = News::new();
    enrolment::enrol(&news.spool, &[NORTH]).unwrap();
    let wanted = [news.file("north"), news.file("")];
    news.commit();
    assert_eq!(waits(&news, b"north"), wanted[..1]);
    std::fs::write(news.dir().join("feeds/north/selected"), "rubbish").unwrap();
    assert_eq!(waits(&news, b"north"), wanted);
}
