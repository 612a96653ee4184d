//! The articles that a peer wants later: when they are offered again, and when the list in the site's directory is written.

use std::collections::{BTreeSet, VecDeque};

use hashbrown::{HashMap, HashSet};
use store::Position;

use super::lane::Settled;
use crate::deferred::{Deferred, is_due};
use crate::site_state::Progress;

/// Most offers of an article that the peer defers, of those after which it accepted another one.
pub const ATTEMPTS_MAX: u64 = 24;
/// As many offers lead to the longest delay. Offers to a peer that accepts nothing count no further: its disk may be full for days.
const ATTEMPTS_TO_LONGEST: u64 = 9;
/// Most deferred articles that are taken up at once.
const QUEUE_MAX: usize = 1_000;

/// A change of the list of deferred articles.
#[derive(Debug, Default)]
pub(super) struct Deferrals {
    /// Due, and not offered yet.
    queue: VecDeque<Position>,
    /// Those of the queue, and those that are offered again, without an answer.
    on_the_way: HashSet<Position>,
    /// The answers since the list was written.
    answered: HashMap<Position, Settled>,
    /// When the next one is due that is not blamed, seconds since 1970.
    next_due: Option<i64>,
    /// Those of the list at which connections broke.
    blamed: Vec<Deferred>,
    /// Those of the list that the disk could not read.
    unreadable: HashSet<Position>,
    /// Those at which connections broke since the list was written.
    newly_blamed: HashSet<Position>,
    /// All positions of the list.
    listed: HashSet<Position>,
    /// When the peer accepted an article last, seconds since 1970.
    accepted_at: Option<i64>,
    /// When somebody asked for a pass: those offered before are due. Seconds since 1970.
    called_at: Option<i64>,
}

impl Deferrals {
    /// Follows a list that was read or written.
    fn follow(&mut self, list: &[Deferred]) {
        self.listed.clear();
        self.listed.extend(list.iter().map(|one| one.position));
        self.blamed = list.iter().filter(|one| one.is_blamed).copied().collect();
        let unreadable = list.iter().filter(|one| one.is_unreadable);
        self.unreadable = unreadable.map(|one| one.position).collect();
        self.find_next_due(list);
    }

    /// Looks again when the next of the list that was read or written last is due.
    pub fn find_next_due(&mut self, list: &[Deferred]) {
        let rests = |one: &&Deferred| !one.is_blamed && !self.is_on_the_way(one.position);
        self.next_due = list.iter().filter(rests).map(|one| self.due(one)).min();
    }

    /// When an article is due, seconds since 1970.
    fn due(&self, one: &Deferred) -> i64 {
        match self.called_at {
            Some(at) if one.offered_at() < at => 0,
            _ => one.due,
        }
    }

    /// Makes all due that were offered before. The list is read, or followed, afterwards.
    pub fn call(&mut self, now: i64) {
        self.called_at = Some(now);
    }

    /// Notes that the peer accepted an article.
    pub fn accepted(&mut self, now: i64) {
        self.accepted_at = Some(now);
    }

    /// Whether any is to be offered, or without an answer.
    pub fn are_on_the_way(&self) -> bool {
        !self.on_the_way.is_empty()
    }

    fn is_on_the_way(&self, position: Position) -> bool {
        self.on_the_way.contains(&position) || self.answered.contains_key(&position)
    }

    /// Whether the list, as it was read or written last, has any article.
    pub fn has_any(&self) -> bool {
        !self.listed.is_empty()
    }

    /// Whether the list has an article: then the list offers it, and not the lane.
    pub fn has(&self, position: Position) -> bool {
        self.listed.contains(&position)
    }

    /// Whether the disk could not read an article of the list: then it is not known whether the peer gets it.
    pub fn is_unreadable(&self, position: Position) -> bool {
        self.unreadable.contains(&position)
    }

    /// Number of articles of the list that the disk could not read.
    pub fn unreadable_count(&self) -> u64 {
        self.unreadable.len() as u64
    }

    /// Whether these are the articles of the list that was read or written last.
    pub fn knows(&self, list: &[Deferred]) -> bool {
        list.len() >= self.listed.len() && list.iter().all(|one| self.has(one.position))
    }

    /// When the next one is due, seconds since 1970.
    pub fn next_due(&self) -> Option<i64> {
        let blamed = self.blamed_at_rest().map(|one| self.due(one));
        if self.queue.is_empty() {
            self.next_due.into_iter().chain(blamed).min()
        } else {
            Some(0)
        }
    }

    /// Whether one is due.
    pub fn is_due(&self, now: i64) -> bool {
        let mut blamed = self.blamed_at_rest();
        self.is_first_due(now) || blamed.any(|one| is_due(self.due(one), now))
    }

    /// Whether one is due that is offered before the articles of the lane: connections did not break at it.
    pub fn is_first_due(&self, now: i64) -> bool {
        !self.queue.is_empty() || self.next_due.is_some_and(|due| is_due(due, now))
    }

    /// Those at which connections broke, and that are not on the way.
    fn blamed_at_rest(&self) -> impl Iterator<Item = &Deferred> {
        let rests = |one: &&Deferred| !self.is_on_the_way(one.position);
        self.blamed.iter().filter(rests)
    }

    /// The next one to offer again at which connections broke: after all others, and alone on its connection.
    pub fn next_blamed(&mut self, now: i64) -> Option<Position> {
        let is_due = |one: &&Deferred| is_due(self.due(one), now);
        let next = self.blamed_at_rest().find(is_due)?.position;
        self.on_the_way.insert(next);
        Some(next)
    }

    /// Notes that connections broke at an article. The caller settles it as deferred.
    pub fn blame(&mut self, position: Position) {
        self.newly_blamed.insert(position);
    }

    /// Whether connections broke at an article.
    pub fn is_blamed(&self, position: Position) -> bool {
        let mut blamed = self.blamed.iter();
        self.newly_blamed.contains(&position) || blamed.any(|one| one.position == position)
    }

    /// The articles at which connections broke, in the order of the log.
    pub fn all_blamed(&self) -> BTreeSet<Position> {
        let listed = self.blamed.iter().map(|one| one.position);
        listed.chain(self.newly_blamed.iter().copied()).collect()
    }

    /// The next one to offer again, before the articles of the lane.
    pub fn next(&mut self, list: &[Deferred], now: i64) -> Option<Position> {
        if self.queue.is_empty() && self.next_due.is_some_and(|due| is_due(due, now)) {
            let due = list.iter().filter(|one| !one.is_blamed);
            let due = due.filter(|one| is_due(self.due(one), now));
            let due = due.map(|one| one.position);
            let mut fresh = HashSet::new();
            let due = due.filter(|at| !self.is_on_the_way(*at) && fresh.insert(*at));
            self.queue = due.take(QUEUE_MAX).collect();
            self.on_the_way.extend(&self.queue);
            self.find_next_due(list);
        }
        self.queue.pop_front()
    }

    /// Notes the answer about one.
    pub fn settle(&mut self, position: Position, settled: Settled) {
        self.on_the_way.remove(&position);
        self.answered.entry(position).or_insert(settled);
    }

    /// Takes one back whose connection failed.
    pub fn give_back(&mut self, position: Position) {
        if self.is_blamed(position) {
            _ = self.on_the_way.remove(&position)
        } else {
            self.queue.push_back(position)
        }
    }

    /// Forgets what is in flight: the list has it.
    pub fn reset(&mut self, list: &[Deferred]) {
        *self = Deferrals {
            accepted_at: self.accepted_at,
            called_at: self.called_at,
            ..Deferrals::default()
        };
        self.follow(list);
    }

    /// Whether the list is to be written.
    pub fn has_answers(&self) -> bool {
        !self.answered.is_empty()
    }

    /// The progress by the answers since the list was written; `size`: the size of an article, bytes.
    pub fn progress(&self, mut size: impl FnMut(Position) -> u64) -> Progress {
        let mut progress = Progress::default();
        for (position, settled) in &self.answered {
            match settled {
                Settled::Accepted => {
                    progress.sent += 1;
                    progress.sent_bytes += size(*position);
                }
                Settled::Gone => progress.skipped += 1,
                Settled::NotWanted | Settled::Refused | Settled::Deferred | Settled::Unreadable => {
                }
            }
        }
        progress
    }

    /// Number of offers of a listed article, after another deferral.
    fn attempts(&self, one: &Deferred) -> u64 {
        let next = one.attempts.saturating_add(1);
        match self.accepted_at.is_some_and(|at| at >= one.offered_at()) {
            true => next,
            false => one.attempts.max(next.min(ATTEMPTS_TO_LONGEST)),
        }
    }

    /// The list to write: as it was, with the answers since and the articles that are `deferred` for the first time, each once, with whether
    /// the disk cannot read it; and those that are given up.
    pub fn list(
        &self,
        list: &[Deferred],
        deferred: impl Iterator<Item = (Position, bool)>,
        now: i64,
    ) -> (Vec<Deferred>, Vec<Position>) {
        let mut given_up = Vec::new();
        let again = |position, attempts| Deferred {
            is_blamed: self.is_blamed(position),
            ..Deferred::new(position, attempts, now)
        };
        let mut fresh: Vec<Deferred> = Vec::with_capacity(list.len());
        let mut known = HashSet::with_capacity(list.len());
        for one in list.iter().filter(|one| known.insert(one.position)) {
            match self.answered.get(&one.position) {
                None => fresh.push(*one),
                Some(Settled::Deferred) => match self.attempts(one) {
                    ATTEMPTS_MAX.. => given_up.push(one.position),
                    attempts => fresh.push(again(one.position, attempts)),
                },
                // It is never given up.
                Some(Settled::Unreadable) => fresh.push(Deferred {
                    is_blamed: one.is_blamed,
                    ..Deferred::unreadable(
                        one.position,
                        one.attempts.saturating_add(1).min(ATTEMPTS_TO_LONGEST),
                        now,
                    )
                }),
                Some(_) => {}
            }
        }
        let deferred = deferred.filter(|(position, _)| known.insert(*position));
        fresh.extend(deferred.map(|(position, is_unreadable)| Deferred {
            is_unreadable,
            ..again(position, 1)
        }));
        (fresh, given_up)
    }

    /// The list was written.
    pub fn written(&mut self, list: &[Deferred], now: i64) {
        self.answered.clear();
        // Times of a clock that was ahead would hold for all offers until then.
        for at in [&mut self.accepted_at, &mut self.called_at] {
            *at = at.filter(|at| *at <= now);
        }
        self.follow(list);
        // The others are still to be listed.
        self.newly_blamed
            .retain(|position| !self.listed.contains(position));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deferred::DELAY_LAST;

    #[test]
    fn each_is_offered_again_and_given_up_in_the_end() {
        let mut deferrals = Deferrals::default();
        let (mut list, _) = deferrals.list(
            &[],
            [(Position(8), false), (Position(16), false)].into_iter(),
            1000,
        );
        deferrals.written(&list, 1000);
        let (mut now, mut offers, mut given_up) = (1000, 1, Vec::new());
        while !list.is_empty() {
            now = deferrals.next_due().unwrap();
            while let Some(position) = deferrals.next(&list, now) {
                offers += u64::from(position == Position(8));
                // The peer takes the second one at once, after a failed connection.
                if position == Position(16) && offers == 1 {
                    deferrals.give_back(position);
                    assert_eq!(deferrals.next(&list, now), Some(position));
                }
                let settled = match position {
                    Position(8) => Settled::Deferred,
                    _ => Settled::Accepted,
                };
                deferrals.settle(position, settled);
            }
            // The peer accepts others.
            deferrals.accepted(now);
            let (fresh, more) = deferrals.list(&list, std::iter::empty(), now);
            given_up.extend(more);
            list = fresh;
            deferrals.written(&list, now);
        }
        assert_eq!((offers, given_up), (ATTEMPTS_MAX, vec![Position(8)]));
        assert!(now < 1000 + 24 * DELAY_LAST);
        assert_eq!(deferrals.next_due(), None);
    }

    #[test]
    fn none_is_given_up_while_the_peer_accepts_nothing() {
        let mut deferrals = Deferrals::default();
        deferrals.accepted(999);
        let (mut list, _) = deferrals.list(&[], [(Position(8), false)].into_iter(), 1000);
        deferrals.written(&list, 1000);
        let mut now = 1000;
        let mut defer = |deferrals: &mut Deferrals, list: &mut Vec<Deferred>| {
            now = deferrals.next_due().unwrap();
            assert_eq!(deferrals.next(list, now), Some(Position(8)));
            deferrals.settle(Position(8), Settled::Deferred);
            let (fresh, given_up) = deferrals.list(list, std::iter::empty(), now);
            deferrals.written(&fresh, now);
            *list = fresh;
            (now, given_up.len())
        };
        let mut longest = 0;
        for _ in 0..1000 {
            let before = list[0].due;
            assert_eq!(defer(&mut deferrals, &mut list).1, 0);
            longest = list[0].due - before;
        }
        assert_eq!(
            (list[0].attempts, longest),
            (ATTEMPTS_TO_LONGEST, DELAY_LAST)
        );
        // It works again, and defers this one only: it has all its offers.
        let mut offers = 0;
        while !list.is_empty() {
            let (now, _) = defer(&mut deferrals, &mut list);
            deferrals.accepted(now);
            offers += 1;
        }
        assert!(offers >= ATTEMPTS_MAX - ATTEMPTS_TO_LONGEST, "{offers}");
    }

    #[test]
    fn all_are_due_once_after_a_call() {
        let list = [8, 16].map(|number| Deferred::new(Position(number), 9, 1000));
        let mut deferrals = Deferrals::default();
        deferrals.call(1100);
        deferrals.reset(&list);
        assert!(deferrals.is_due(1100));
        while let Some(position) = deferrals.next(&list, 1100) {
            assert!(deferrals.are_on_the_way());
            deferrals.settle(position, Settled::Deferred);
        }
        let (list, _) = deferrals.list(&list, std::iter::empty(), 1100);
        deferrals.written(&list, 1100);
        assert!(!deferrals.is_due(1101) && !deferrals.are_on_the_way());
        assert_eq!(deferrals.next_due(), Some(1100 + DELAY_LAST));
    }

    #[test]
    fn a_call_and_an_acceptance_while_the_clock_was_ahead_are_forgotten() {
        let list = [Deferred::new(Position(8), 1, 1000)];
        let mut deferrals = Deferrals::default();
        deferrals.call(9000);
        deferrals.accepted(9000);
        deferrals.reset(&list);
        let mut list = list.to_vec();
        let mut now = 1001;
        for _ in 0..100 {
            assert_eq!(deferrals.next(&list, now), Some(Position(8)));
            deferrals.settle(Position(8), Settled::Deferred);
            let (fresh, given_up) = deferrals.list(&list, std::iter::empty(), now);
            assert!(given_up.is_empty());
            deferrals.written(&fresh, now);
            list = fresh;
            assert!(!deferrals.is_due(now + 14));
            now = deferrals.next_due().unwrap();
        }
    }

    #[test]
    fn what_was_deferred_counts_as_sent_when_it_is_accepted() {
        let list = [8, 16, 24, 32].map(|number| Deferred::new(Position(number), 1, 0));
        let mut deferrals = Deferrals::default();
        deferrals.reset(&list);
        let answers = [
            Settled::Accepted,
            Settled::Gone,
            Settled::Refused,
            Settled::Deferred,
        ];
        for settled in answers {
            let position = deferrals.next(&list, 1000).unwrap();
            deferrals.settle(position, settled);
        }
        let progress = deferrals.progress(|position| position.0);
        assert_eq!((progress.sent, progress.sent_bytes), (1, 8));
        assert_eq!((progress.skipped, progress.last), (1, None));
    }

    #[test]
    fn those_deferred_while_the_clock_was_ahead_are_due() {
        let now = 1000;
        let list = [(8, now), (16, 1 << 40)];
        let list = list.map(|(number, now)| Deferred::new(Position(number), 2, now));
        let mut deferrals = Deferrals::default();
        deferrals.reset(&list);
        assert!(!deferrals.is_due(now));
        let now = list[0].due;
        assert_eq!(deferrals.next(&list, now), Some(Position(8)));
        assert_eq!(deferrals.next(&list, now), Some(Position(16)));
        let mut deferrals = Deferrals::default();
        deferrals.reset(&list[1..]);
        assert!(deferrals.is_due(now));
    }

    #[test]
    fn what_the_disk_cannot_read_is_never_given_up() {
        let mut deferrals = Deferrals::default();
        let fresh = [(Position(8), true)].into_iter();
        let (mut list, _) = deferrals.list(&[], fresh, 1000);
        deferrals.written(&list, 1000);
        for _ in 0..1000 {
            let now = deferrals.next_due().unwrap();
            assert_eq!(deferrals.next(&list, now), Some(Position(8)));
            assert!(deferrals.is_unreadable(Position(8)));
            deferrals.settle(Position(8), Settled::Unreadable);
            deferrals.accepted(now);
            let (fresh, given_up) = deferrals.list(&list, std::iter::empty(), now);
            assert_eq!(given_up, []);
            deferrals.written(&fresh, now);
            list = fresh;
        }
        // It can be read, and the peer defers it.
        let now = deferrals.next_due().unwrap();
        assert_eq!(deferrals.next(&list, now), Some(Position(8)));
        deferrals.settle(Position(8), Settled::Deferred);
        let (list, _) = deferrals.list(&list, std::iter::empty(), now);
        assert!(!list[0].is_unreadable);
    }

    #[test]
    fn a_position_is_listed_once() {
        let list = [3, 1].map(|attempts| Deferred::new(Position(8), attempts, 0));
        let deferrals = Deferrals::default();
        let again = [8, 16, 16].map(|one| (Position(one), false)).into_iter();
        let (list, given_up) = deferrals.list(&list, again, 1000);
        let listed = list.iter().map(|one| (one.position.0, one.attempts));
        assert_eq!(listed.collect::<Vec<_>>(), [(8, 3), (16, 1)]);
        assert_eq!(given_up, []);
    }

    #[test]
    fn each_of_a_long_list_is_offered_once() {
        let list = (0..100_000).map(|one| Deferred::new(Position(one % 99_999), 1, 0));
        let list: Vec<Deferred> = list.collect();
        let mut deferrals = Deferrals::default();
        deferrals.reset(&list);
        assert!(deferrals.has(Position(99_998)) && deferrals.knows(&list));
        let mut count = 0;
        while let Some(position) = deferrals.next(&list, i64::MAX) {
            deferrals.settle(position, Settled::Refused);
            count += 1;
        }
        assert_eq!(count, 99_999);
        assert!(!deferrals.is_due(i64::MAX));
    }
}
