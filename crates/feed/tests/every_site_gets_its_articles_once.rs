//! However the log is cut into rounds, and wherever cursors stand, each site meets each of its living articles once, in order.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use crate::log;

use feed::enrolment::{self, NewSite};
use feed::start::Start;
use feed::waiting::{self, Site};
use feed::{Progress, SiteState};
use log::News;
use store::{Position, Record};

const SITES: [&str; 3] = ["one", "two", "three"];

fn nobody(_: &Record<'_>, _: &[u8]) -> bool {
    false
}

fn enrol(news: &News, start: Start) -> Vec<Vec<u8>> {
    let newcomers = SITES.map(|name| NewSite {
        name: name.as_bytes(),
        start,
    });
    enrolment::enrol(&news.spool, &newcomers).unwrap()
}

#[test]
fn in_rounds_of_any_size() {
    for most in [1, 2, 5, 1000] {
        let mut news = News::new();
        news.file("one two three");
        news.commit();
        assert_eq!(enrol(&news, Start::Now).len(), 3);
        assert!(enrol(&news, Start::Now).is_empty(), "they are known");
        let mut wanted: [Vec<Position>; 3] = Default::default();
        for number in 0..60u32 {
            let names: Vec<&str> = (0..3)
                .filter(|which| (number * 7) >> which & 1 == 1)
                .map(|which| SITES[which])
                .collect();
            let position = news.file(&names.join(" "));
            if number % 5 == 0 {
                news.spool
                    .cancel(position, format!("<{}@x>", number + 2).as_bytes())
                    .unwrap()
            } else {
                for (which, site) in SITES.iter().enumerate() {
                    if names.contains(site) {
                        wanted[which].push(position);
                    }
                }
            }
            if number % 11 == 0 {
                news.commit();
            }
            if number == 30 {
                news.commit();
                news.spool.seal().unwrap();
            }
        }
        news.commit();
        let mut snapshot = news.snapshot();
        let mut places =
            SITES.map(|site| SiteState::take(news.dir(), site.as_bytes(), &mut snapshot).unwrap());
        let mut got: [Vec<Position>; 3] = Default::default();
        for turn in 0.. {
            assert!(turn < 1000, "the rounds come to an end");
            let sites: Vec<Site<'_>> = places
                .iter()
                .map(|place| Site {
                    name: place.site(),
                    cursor: *place.cursor(),
                })
                .collect();
            let round = waiting::round(&snapshot, &sites, most, &mut nobody).unwrap();
            let mut sent = 0;
            for ((place, waiting), got) in places.iter_mut().zip(&round.sites).zip(&mut got) {
                // The first site is slow: it takes one article a round.
                let taken = if place.site() == b"one" {
                    1
                } else {
                    usize::MAX
                };
                for item in waiting.items.iter().take(taken) {
                    got.push(item.position);
                    let progress = Progress {
                        last: item
                            .commit_sequence
                            .map(|sequence| (item.position, sequence)),
                        sent: 1,
                        sent_bytes: item.bytes,
                        skipped: item.gone,
                        now: 5,
                    };
                    place.pass(item.next, progress, false).unwrap();
                    sent += 1;
                }
                if waiting.items.len() <= taken {
                    let progress = Progress {
                        skipped: waiting.gone,
                        ..Progress::default()
                    };
                    place.pass(round.end, progress, false).unwrap();
                }
            }
            if round.complete && sent == 0 {
                break;
            }
        }
        assert_eq!(got, wanted, "{most} at a time");
        for (which, place) in places.iter().enumerate() {
            assert_eq!(place.cursor().sent, wanted[which].len() as u64);
            assert_eq!(place.cursor().position, snapshot.end());
            assert!(place.cursor().skipped > 0);
        }
    }
}

#[test]
fn a_new_site_may_begin_earlier() {
    let mut news = News::new();
    let filed: Vec<Position> = (0..10).map(|_| news.file("old")).collect();
    news.commit();
    let begin = |name: &'static str, start| {
        let newcomer = NewSite {
            name: name.as_bytes(),
            start,
        };
        assert_eq!(enrolment::enrol(&news.spool, &[newcomer]).unwrap().len(), 1);
        let mut snapshot = news.snapshot();
        let place = SiteState::take(news.dir(), name.as_bytes(), &mut snapshot).unwrap();
        let site = Site {
            name: place.site(),
            cursor: *place.cursor(),
        };
        // Its records do not name it: another is asked.
        let mut even = |record: &Record<'_>, _: &[u8]| record.line()[1].is_multiple_of(2);
        let round = waiting::round(&snapshot, &[site], 100, &mut even).unwrap();
        round.sites[0]
            .items
            .iter()
            .map(|item| item.position)
            .collect::<Vec<_>>()
    };
    assert_eq!(begin("now", Start::Now), []);
    assert_eq!(
        begin("oldest", Start::Oldest),
        [filed[1], filed[3], filed[5], filed[7]]
    );
    // The first arrived at 1001.
    assert_eq!(begin("date", Start::Date(1005)), [filed[5], filed[7]]);
    assert_eq!(begin("late", Start::Date(9999)), []);
}

#[test]
fn one_at_a_time_serves_a_site() {
    let news = News::new();
    enrol(&news, Start::Now);
    let mut snapshot = news.snapshot();
    let place = SiteState::take(news.dir(), b"one", &mut snapshot).unwrap();
    let restart = SiteState::take(news.dir(), b"one", &mut snapshot);
    assert!(matches!(restart, Err(feed::Error::Busy(_))));
    drop(place);
    assert!(SiteState::take(news.dir(), b"one", &mut snapshot).is_ok());
    let unknown = SiteState::take(news.dir(), b"four", &mut snapshot);
    assert!(matches!(unknown, Err(feed::Error::Unknown(_))));
    for name in ["../one", "", ".", "..", "a/b", "a\nb"] {
        let refused = SiteState::take(news.dir(), name.as_bytes(), &mut snapshot);
        assert!(matches!(refused, Err(feed::Error::Name(_))), "{name}");
    }
}

#[test]
fn a_log_that_lost_its_end_is_met_again() {
    let mut news = News::new();
    enrol(&news, Start::Now);
    let first = news.file("one");
    news.commit();
    let mut snapshot = news.snapshot();
    let mut place = SiteState::take(news.dir(), b"one", &mut snapshot).unwrap();
    let beyond = Position(news.spool.end().0 + 512);
    // As it is after a power cut with sync = "none": what was sent is not in the log any more, others are.
    let last = Some((first, 1));
    let progress = Progress {
        last,
        sent: 2,
        ..Progress::default()
    };
    place.pass(beyond, progress, true).unwrap();
    drop(place);
    let place = SiteState::take(news.dir(), b"one", &mut snapshot).unwrap();
    let site = Site {
        name: place.site(),
        cursor: *place.cursor(),
    };
    let selected = site.cursor.selected_from;
    let round = waiting::round(&snapshot, &[site], 100, &mut nobody).unwrap();
    assert!(selected <= first);
    assert_eq!(round.sites[0].items.len(), 1);
}

#[test]
fn a_round_that_is_full_ends_between_two_articles() {
    let mut news = News::new();
    enrol(&news, Start::Now);
    let filed: Vec<Position> = (0..4).map(|_| news.file("one two three")).collect();
    news.commit();
    let snapshot = news.snapshot();
    let sites = SITES.map(|name| {
        let look = feed::site_state::look(news.dir(), name.as_bytes())
            .unwrap()
            .unwrap();
        Site {
            name: name.as_bytes(),
            cursor: look.cursor,
        }
    });
    // Room for seven: the third article is noted for all three sites, or for none.
    let round = waiting::round(&snapshot, &sites, 7, &mut nobody).unwrap();
    for waiting in &round.sites {
        assert_eq!(waiting.items.len(), 3);
    }
    assert!(!round.complete);
    assert_eq!(round.end, filed[3]);
}

#[test]
fn who_only_looks_is_in_nobodys_way() {
    let news = News::new();
    let site = NewSite {
        name: b"one",
        start: Start::Now,
    };
    enrolment::enrol(&news.spool, &[site]).unwrap();
    let is_busy = || feed::site_state::is_busy(news.dir(), b"one").unwrap();
    assert!(!is_busy());
    let taken = SiteState::take_only(news.dir(), b"one").unwrap();
    assert!(is_busy());
    drop(taken);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                feed::site_state::look(news.dir(), b"one").unwrap().unwrap();
                is_busy();
            }
        });
        let taken = (0..300).map(|_| SiteState::take_only(news.dir(), b"one").map(drop));
        let taken: Vec<_> = taken.collect();
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        looking.join().unwrap();
        for taken in taken {
            taken.unwrap();
        }
    });
}

#[test]
fn a_record_that_is_lent_stays_when_expire_takes_its_space() {
    let mut news = News::new();
    let position = news.file("one");
    news.commit();
    let snapshot = news.snapshot();
    let mut buffer = Vec::new();
    let record = snapshot.record(position, &mut buffer).unwrap().unwrap();
    let before = record.bytes().to_vec();
    assert!(!before.iter().all(|&byte| byte == 0));
    for entry in std::fs::read_dir(news.dir().join("segments")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "art") {
            let length = std::fs::metadata(&path).unwrap().len();
            let zeros = vec![0; length as usize];
            let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
            std::os::unix::fs::FileExt::write_all_at(&file, &zeros, 0).unwrap();
        }
    }
    assert_eq!(record.bytes(), before);
}
