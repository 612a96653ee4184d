//! The articles that a peer wants later: when they are offered again, and when the list in the site's directory is written.

use std::collections::VecDeque;

use hashbrown::{HashMap, HashSet};
use store::Position;

use crate::deferred::{DELAY_LAST, Deferred, is_due};

/// Most offers of an article that the peer defers.
pub const ATTEMPTS_MAX: u64 = 24;
/// Most deferred articles that are taken up at once.
const QUEUE_MAX: usize = 1_000;
/// First delay of a deferred article, seconds.
const DELAY_FIRST: i64 = 15;

/// A change of the list of deferred articles.
#[derive(Debug, Default)]
pub(super) struct Deferrals {
    /// Due, and not offered yet.
    queue: VecDeque<Position>,
    /// Those of the queue, and those that are offered again, without an answer.
    on_the_way: HashSet<Position>,
    /// Answered since the list was written: whether the peer wants it later once more.
    answered: HashMap<Position, bool>,
    /// When the next one is due, seconds since 1970.
    next_due: Option<i64>,
    /// All positions of the list.
    listed: HashSet<Position>,
}

impl Deferrals {
    /// Follows a list that was read or written.
    fn follow(&mut self, list: &[Deferred]) {
        self.listed.clear();
        self.listed.extend(list.iter().map(|one| one.position));
        self.find_next_due(list);
    }

    fn find_next_due(&mut self, list: &[Deferred]) {
        let rests = |one: &&Deferred| !self.is_on_the_way(one.position);
        self.next_due = list.iter().filter(rests).map(|one| one.due).min();
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

    /// Whether these are the articles of the list that was read or written last.
    pub fn knows(&self, list: &[Deferred]) -> bool {
        list.len() >= self.listed.len() && list.iter().all(|one| self.has(one.position))
    }

    /// When the next one is due, seconds since 1970.
    pub fn next_due(&self) -> Option<i64> {
        match self.queue.is_empty() {
            true => self.next_due,
            false => Some(0),
        }
    }

    /// Whether one is due.
    pub fn is_due(&self, now: i64) -> bool {
        self.next_due().is_some_and(|due| is_due(due, now))
    }

    /// The next one to offer again.
    pub fn next(&mut self, list: &[Deferred], now: i64) -> Option<Position> {
        if self.queue.is_empty() && self.next_due.is_some_and(|due| is_due(due, now)) {
            let due = list.iter().filter(|one| one.is_due(now));
            let due = due.map(|one| one.position);
            let (on_the_way, answered) = (&mut self.on_the_way, &self.answered);
            let due = due.filter(|position| {
                !answered.contains_key(position) && on_the_way.insert(*position)
            });
            self.queue = due.take(QUEUE_MAX).collect();
            self.find_next_due(list);
        }
        self.queue.pop_front()
    }

    /// Notes the answer about one.
    pub fn settle(&mut self, position: Position, is_deferred: bool) {
        self.on_the_way.remove(&position);
        self.answered.insert(position, is_deferred);
    }

    /// Takes one back whose connection failed.
    pub fn give_back(&mut self, position: Position) {
        self.queue.push_back(position);
    }

    /// Forgets what is in flight: the list has it.
    pub fn reset(&mut self, list: &[Deferred]) {
        *self = Deferrals::default();
        self.follow(list);
    }

    /// Whether the list is to be written.
    pub fn has_answers(&self) -> bool {
        !self.answered.is_empty()
    }

    /// The list to write: as it was, with the answers since and the articles that are `deferred` for the first time, each once; and the
    /// number of those that are given up.
    pub fn list(
        &self,
        list: &[Deferred],
        deferred: impl Iterator<Item = Position>,
        now: i64,
    ) -> (Vec<Deferred>, u64) {
        let mut given_up = 0;
        let mut fresh: Vec<Deferred> = Vec::with_capacity(list.len());
        let mut known = HashSet::with_capacity(list.len());
        for one in list.iter().filter(|one| known.insert(one.position)) {
            match self.answered.get(&one.position) {
                None => fresh.push(*one),
                Some(false) => {}
                Some(true) if one.attempts + 1 >= ATTEMPTS_MAX => given_up += 1,
                Some(true) => fresh.push(later(one.position, one.attempts + 1, now)),
            }
        }
        let deferred = deferred.filter(|position| known.insert(*position));
        fresh.extend(deferred.map(|position| later(position, 1, now)));
        (fresh, given_up)
    }

    /// The list was written.
    pub fn written(&mut self, list: &[Deferred]) {
        self.answered.clear();
        self.follow(list);
    }
}

/// An article that was deferred so many times.
fn later(position: Position, attempts: u64, now: i64) -> Deferred {
    let doublings = u32::try_from(attempts - 1).unwrap_or(u32::MAX).min(16);
    Deferred {
        position,
        due: now + (DELAY_FIRST << doublings).min(DELAY_LAST),
        attempts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_offered_again_and_given_up_in_the_end() {
        let mut deferrals = Deferrals::default();
        let (mut list, _) = deferrals.list(&[], [Position(8), Position(16)].into_iter(), 1000);
        deferrals.written(&list);
        let (mut now, mut offers, mut given_up) = (1000, 1, 0);
        while !list.is_empty() {
            now = deferrals.next_due().unwrap();
            while let Some(position) = deferrals.next(&list, now) {
                offers += u64::from(position == Position(8));
                // The peer takes the second one at once, after a failed connection.
                if position == Position(16) && offers == 1 {
                    deferrals.give_back(position);
                    assert_eq!(deferrals.next(&list, now), Some(position));
                }
                deferrals.settle(position, position == Position(8));
            }
            let (fresh, more) = deferrals.list(&list, std::iter::empty(), now);
            given_up += more;
            list = fresh;
            deferrals.written(&list);
        }
        assert_eq!((offers, given_up), (ATTEMPTS_MAX, 1));
        assert!(now < 1000 + 24 * DELAY_LAST);
        assert_eq!(deferrals.next_due(), None);
    }

    #[test]
    fn those_deferred_while_the_clock_was_ahead_are_due() {
        let now = 1000;
        let list = [later(Position(8), 2, now), later(Position(16), 2, 1 << 40)];
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
    fn a_position_is_listed_once() {
        let list = [later(Position(8), 3, 0), later(Position(8), 1, 0)];
        let deferrals = Deferrals::default();
        let again = [Position(8), Position(16), Position(16)].into_iter();
        let (list, given_up) = deferrals.list(&list, again, 1000);
        let listed = list.iter().map(|one| (one.position.0, one.attempts));
        assert_eq!(listed.collect::<Vec<_>>(), [(8, 3), (16, 1)]);
        assert_eq!(given_up, 0);
    }

    #[test]
    fn each_of_a_long_list_is_offered_once() {
        let list = (0..100_000).map(|one| later(Position(one % 99_999), 1, 0));
        let list: Vec<Deferred> = list.collect();
        let mut deferrals = Deferrals::default();
        deferrals.reset(&list);
        assert!(deferrals.has(Position(99_998)) && deferrals.knows(&list));
        let mut count = 0;
        while let Some(position) = deferrals.next(&list, i64::MAX) {
            deferrals.settle(position, false);
            count += 1;
        }
        assert_eq!(count, 99_999);
        assert!(!deferrals.is_due(i64::MAX));
    }
}
