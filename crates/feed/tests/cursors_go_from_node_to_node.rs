//! Nodes of a cluster hand the cursors of sites over. Whatever was delivered, deferred or delivered ahead: the next node sends every other article,
//! and of the delivered ones only those of entries that were not delivered as a whole.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use crate::log::News;

use std::collections::BTreeSet;

use feed::deferred::Deferred;
use feed::enrolment::{self, NewSite};
use feed::handover::{self, Teller};
use feed::start::Start;
use feed::waiting::{self, Site};
use feed::{Cursor, SiteState, site_state};
use proptest::prelude::*;
use store::{Position, Record};

const NORTH: &[u8] = b"north";

/// A node that has applied entries with so many articles each; and the positions of the articles.
fn node(entries: &[usize], commits: usize, segment_bytes: u64) -> (News, Vec<Position>) {
    let mut news = News::node(segment_bytes);
    let site = NewSite {
        name: NORTH,
        start: Start::Now,
    };
    enrolment::enrol(&news.spool, &[site]).unwrap();
    let mut positions = Vec::new();
    for (entry, count) in entries.iter().enumerate() {
        news.spool.reserve(64 << 10).unwrap();
        for _ in 0..*count {
            positions.push(news.file("north"));
        }
        news.end_entry(entry as u64 + 1);
        if entry % commits == 0 {
            news.commit();
        }
    }
    news.commit();
    (news, positions)
}

/// The places, in the order of filing, of the articles that a node would send, and of those that it has deferred.
fn to_send(news: &News, positions: &[Position]) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let mut snapshot = news.snapshot();
    let state = SiteState::take(news.dir(), NORTH, &mut snapshot).unwrap();
    let site = Site {
        name: NORTH,
        cursor: *state.cursor(),
    };
    let mut all = |_: &Record<'_>, _: &[u8]| true;
    let round = waiting::round(&snapshot, &[site], 100_000, &mut all).unwrap();
    let place = |position: Position| positions.binary_search(&position).unwrap();
    let waits = round.sites[0].items.iter().map(|item| place(item.position));
    let deferred = state.deferred().iter().map(|one| place(one.position));
    (waits.collect(), deferred.collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn nothing_is_left_out(
        entries in prop::collection::vec(0usize..5, 3..40),
        (at, from, long) in (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0usize..20),
        (has_ahead, picks) in (any::<bool>(), prop::collection::vec(any::<prop::sample::Index>(), 0..6)),
        deferred_max in 0usize..5,
        commits in 1usize..4,
    ) {
        let (one, of_one) = node(&entries, commits, 1 << 20);
        let (other, of_other) = node(&entries, 5 - commits, 256 << 10);
        let count = of_one.len();
        prop_assert_eq!(count, of_other.len());
        prop_assume!(count > 0);
        let entry_of: Vec<usize> = entries
            .iter()
            .enumerate()
            .flat_map(|(entry, count)| std::iter::repeat_n(entry, *count))
            .collect();
        let end = |place: usize| of_one.get(place).copied().unwrap_or(one.spool.end());
        // All before `at` is delivered or deferred, and `ahead`.
        let at = at.index(count + 1);
        let ahead = (at + from.index(count + 1), at + from.index(count + 1) + long);
        let ahead = (ahead.0.min(count), ahead.1.min(count));
        let has_ahead = has_ahead && ahead.0 > at && ahead.0 < ahead.1;
        let deferred: BTreeSet<usize> = picks.iter().filter(|_| at > 0).map(|pick| pick.index(at)).collect();
        {
            let mut snapshot = one.snapshot();
            let mut state = SiteState::take(one.dir(), NORTH, &mut snapshot).unwrap();
            let list = deferred.iter().map(|place| Deferred { position: of_one[*place], due: 7, attempts: 3, is_blamed: false, is_unreadable: false });
            state.set_deferred(list.collect()).unwrap();
            let cursor = Cursor {
                position: end(at),
                ahead: has_ahead.then(|| (end(ahead.0), end(ahead.1))),
                ..*state.cursor()
            };
            state.set_cursor(cursor, true).unwrap();
        }
        site_state::pause(one.dir(), NORTH, "a reason").unwrap();
        let mut teller = Teller::default();
        let mut snapshot = one.snapshot();
        let told = teller.tell(one.dir(), &[NORTH, b"unknown"], &mut snapshot, deferred_max).unwrap();
        // The second time it goes on from what it knows.
        prop_assert_eq!(&told, &teller.tell(one.dir(), &[NORTH, b"unknown"], &mut snapshot, deferred_max).unwrap());
        prop_assert!(told[1].is_none());
        let told = told[0].clone().unwrap();
        prop_assert!(told.deferred.len() <= deferred_max);
        handover::go_on(other.dir(), NORTH, &told, &mut other.snapshot()).unwrap();
        let paused = site_state::paused(other.dir(), NORTH).unwrap();
        prop_assert_eq!(paused.as_deref(), Some("a reason"));
        let (waits, again) = to_send(&other, &of_other);
        let is_delivered = |place: usize| {
            (place < at && !deferred.contains(&place)) || (has_ahead && (ahead.0..ahead.1).contains(&place))
        };
        for place in 0..count {
            prop_assert!(is_delivered(place) || waits.contains(&place) || again.contains(&place), "{place} is left out");
        }
        if deferred.len() <= deferred_max {
            prop_assert_eq!(&again, &deferred);
            // Again: those of the entries in which something begins or ends.
            let cut: Vec<usize> = [at, ahead.0, ahead.1]
                .iter()
                .flat_map(|place| [place.checked_sub(1), Some(*place)])
                .flatten()
                .filter_map(|place| entry_of.get(place).copied())
                .collect();
            for place in waits.iter().filter(|place| is_delivered(**place)) {
                prop_assert!(cut.contains(&entry_of[*place]), "{place} is sent again");
            }
        }
    }
}
