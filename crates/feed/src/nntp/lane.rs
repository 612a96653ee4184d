//! A stretch of the log on its way to a peer: from the discovery of its articles to the peer's answers, which may come in any order.

use std::collections::VecDeque;

use store::Position;

use crate::answers::{Answer, AnswerNotes};
use crate::site_state::Progress;
use crate::waiting::{Item, Waiting};

/// Most articles between the oldest one without an answer and the newest offered one: after a kill at most so many are offered again.
pub const FLIGHT_ARTICLES_MAX: usize = 32_000;
/// Most articles that one search of the log discovers for a peer.
pub const NOTED_ARTICLES_MAX: usize = 2_000;

/// The number of an article in its lane, in the order of the log.
pub type Ticket = u64;

/// The articles of a stretch of the log.
#[derive(Debug)]
pub struct Lane {
    /// Discovered, and not offered yet.
    noted: VecDeque<Item>,
    /// Offered; the first is the oldest without an answer.
    flight: VecDeque<Offered>,
    /// The ticket of the first in `flight`.
    first: Ticket,
    /// To be offered again, since their connection failed.
    again: VecDeque<Ticket>,
    /// The log is searched up to here.
    seen: Position,
    /// The end of the stretch; `None`: the end of the log.
    until: Option<Position>,
    /// All articles before it are settled.
    passed: Position,
    /// Number of expired or cancelled articles behind the last of `noted`.
    gone: u64,
    /// Number of articles in `flight` that the list of deferred articles is to have.
    deferred: usize,
    /// Articles that the list of deferred articles offers, in the order of the log.
    stepped_over: VecDeque<Position>,
}

#[derive(Debug)]
struct Offered {
    item: Item,
    settled: Option<Settled>,
    /// The list of deferred articles has it: the cursor may pass it.
    is_listed: bool,
}

/// The fate of an offered article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// The peer has it now.
    Accepted,
    /// The peer does not want it.
    NotWanted,
    /// The peer refused it, or does not get it.
    Refused,
    /// It expired, or was cancelled.
    Gone,
    /// The peer wants it later: the cursor passes it when the list of deferred articles has it.
    Deferred,
    /// The disk cannot read it: as [`Settled::Deferred`].
    Unreadable,
}

impl Settled {
    fn answer(self) -> Answer {
        match self {
            Settled::Accepted => Answer::Accepted,
            Settled::NotWanted => Answer::NotWanted,
            Settled::Refused => Answer::Refused,
            Settled::Gone => Answer::Gone,
            Settled::Deferred => Answer::Deferred,
            Settled::Unreadable => Answer::None,
        }
    }

    /// Whether the list of deferred articles is to have it.
    pub fn is_listed(self) -> bool {
        matches!(self, Settled::Deferred | Settled::Unreadable)
    }
}

impl Lane {
    /// The articles from a position on, as far as `until` or the end of the log.
    pub fn new(from: Position, until: Option<Position>) -> Lane {
        Lane {
            noted: VecDeque::new(),
            flight: VecDeque::new(),
            first: 0,
            again: VecDeque::new(),
            seen: from,
            until,
            passed: from,
            gone: 0,
            deferred: 0,
            stepped_over: VecDeque::new(),
        }
    }

    /// The position up to which the log is searched.
    pub fn seen(&self) -> Position {
        self.seen
    }

    /// The position before which all articles are settled.
    pub fn passed(&self) -> Position {
        self.passed
    }

    /// The end of the stretch; `None`: the end of the log.
    pub fn until(&self) -> Option<Position> {
        self.until
    }

    /// Gives the stretch an end.
    pub fn end_at(&mut self, until: Position) {
        self.until = Some(until.max(self.seen));
    }

    /// Whether there is room for the result of a search.
    pub fn has_room(&self) -> bool {
        self.noted.len() < NOTED_ARTICLES_MAX / 2
    }

    /// Whether an article can be offered.
    pub fn has_next(&self) -> bool {
        let has_room = self.flight.len() < FLIGHT_ARTICLES_MAX;
        !self.again.is_empty() || (has_room && !self.noted.is_empty())
    }

    /// Whether every discovered article is settled.
    pub fn is_empty(&self) -> bool {
        self.noted.is_empty() && self.flight.is_empty()
    }

    /// Whether the whole stretch is settled, which has an end.
    pub fn is_done(&self) -> bool {
        self.is_empty() && self.until.is_some_and(|until| self.seen >= until)
    }

    /// Number of discovered articles that are not settled.
    pub fn waiting(&self) -> usize {
        self.noted.len() + self.flight.len()
    }

    /// Arrival of the oldest discovered article without an answer, seconds since 1970.
    pub fn oldest(&self) -> Option<i64> {
        let offered = self.flight.front().map(|offered| offered.item.arrival);
        offered.or_else(|| self.noted.front().map(|item| item.arrival))
    }

    /// Takes the result of a search as far as `end`, without the articles that are `listed`: the list of deferred articles offers them.
    pub fn found(&mut self, found: Waiting, end: Position, listed: impl Fn(Position) -> bool) {
        for mut item in found.items {
            item.gone += std::mem::take(&mut self.gone);
            if listed(item.position) {
                self.gone = item.gone;
                self.stepped_over.push_back(item.position);
            } else {
                self.noted.push_back(item)
            }
        }
        self.gone += found.gone;
        self.seen = self.seen.max(end);
    }

    /// The next article to offer.
    pub fn next(&mut self) -> Option<(Ticket, Position)> {
        if let Some(ticket) = self.again.pop_front() {
            return Some((ticket, self.position(ticket)?));
        }
        while self.flight.len() < FLIGHT_ARTICLES_MAX {
            let item = self.noted.pop_front()?;
            let ticket = self.first + self.flight.len() as u64;
            // Whether the peer gets it is not known before it can be read.
            let is_unreadable = item.commit_sequence.is_none();
            self.flight.push_back(Offered {
                item,
                settled: is_unreadable.then_some(Settled::Unreadable),
                is_listed: false,
            });
            if !is_unreadable {
                return Some((ticket, item.position));
            }
            self.deferred += 1;
        }
        None
    }

    /// The position of an offered article.
    pub fn position(&self, ticket: Ticket) -> Option<Position> {
        let at = usize::try_from(ticket.checked_sub(self.first)?).ok()?;
        Some(self.flight.get(at)?.item.position)
    }

    /// Sets the size of an offered article that goes without its body, bytes.
    pub fn set_bytes(&mut self, ticket: Ticket, bytes: u64) {
        if let Some(offered) = self.offered(ticket) {
            offered.item.bytes = bytes;
        }
    }

    fn offered(&mut self, ticket: Ticket) -> Option<&mut Offered> {
        let at = usize::try_from(ticket.checked_sub(self.first)?).ok()?;
        self.flight.get_mut(at)
    }

    /// Notes an answer.
    pub fn settle(&mut self, ticket: Ticket, settled: Settled) {
        if let Some(offered) = self.offered(ticket)
            && offered.settled.is_none()
        {
            offered.settled = Some(settled);
            self.deferred += usize::from(settled.is_listed());
        }
    }

    /// Takes back an article that is in flight on a failed connection, to offer it again.
    pub fn give_back(&mut self, ticket: Ticket) {
        // In the order of the log.
        let place = self.again.partition_point(|before| *before < ticket);
        self.again.insert(place, ticket);
    }

    /// Whether articles are to be noted in the list of deferred articles.
    pub fn has_deferred(&self) -> bool {
        self.deferred > 0
    }

    /// The positions of articles that are to be noted in the list of deferred articles, and whether the disk cannot read them.
    pub fn deferred(&self) -> impl Iterator<Item = (Position, bool)> {
        let unlisted = self.flight.iter().filter(|offered| !offered.is_listed);
        unlisted.filter_map(|offered| {
            let settled = offered.settled.filter(|settled| settled.is_listed())?;
            Some((offered.item.position, settled == Settled::Unreadable))
        })
    }

    /// The deferred articles are noted: the cursor may pass them.
    pub fn deferred_are_noted(&mut self) {
        if std::mem::take(&mut self.deferred) == 0 {
            return;
        }
        for offered in &mut self.flight {
            offered.is_listed = offered.settled.is_some_and(Settled::is_listed);
        }
    }

    /// Passes the articles that are settled up to the oldest one without an answer, and notes their answers. `None`: there are none. `time`:
    /// seconds since 1970.
    pub fn advance(
        &mut self,
        (answers, is_backlog): (&mut AnswerNotes, bool),
        time: i64,
    ) -> Option<Progress> {
        let before = self.passed;
        let mut progress = Progress::default();
        answers.begin(is_backlog, before);
        while let Some(offered) = self.flight.front() {
            let Some(settled) = offered.settled else {
                break;
            };
            match settled {
                Settled::Deferred | Settled::Unreadable if !offered.is_listed => break,
                Settled::Accepted => {
                    progress.sent += 1;
                    progress.sent_bytes += offered.item.bytes;
                }
                Settled::Gone => progress.skipped += 1,
                _ => {}
            }
            let position = offered.item.position;
            while let Some(&over) = self.stepped_over.front().filter(|over| **over < position) {
                self.stepped_over.pop_front();
                answers.next(is_backlog, (over, Answer::None), false, time);
            }
            let is_apart = offered.item.gone > 0;
            answers.next(is_backlog, (position, settled.answer()), is_apart, time);
            progress.skipped += offered.item.gone;
            let sequence = offered.item.commit_sequence;
            let last = sequence.map(|sequence| (offered.item.position, sequence));
            progress.last = last.or(progress.last);
            self.passed = offered.item.next;
            self.flight.pop_front();
            self.first += 1;
        }
        if self.is_empty() {
            progress.skipped += std::mem::take(&mut self.gone);
            self.passed = self.passed.max(self.seen);
            self.stepped_over.clear();
        }
        answers.end(is_backlog, self.passed);
        (self.passed != before).then_some(progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn advance(lane: &mut Lane) -> Option<Progress> {
        lane.advance((&mut AnswerNotes::default(), false), 0)
    }

    fn items(range: std::ops::Range<u64>) -> Waiting {
        let items = range.map(|number| Item {
            position: Position(number * 10),
            next: Position(number * 10 + 9),
            commit_sequence: Some(number),
            bytes: 1,
            arrival: 0,
            gone: 0,
        });
        Waiting {
            items: items.collect(),
            gone: 0,
        }
    }

    proptest! {
        /// Whatever the order of answers and failures: the cursor passes each article once, and none without an answer.
        #[test]
        fn nothing_is_passed_without_an_answer(steps in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..300)) {
            let mut lane = Lane::new(Position(0), None);
            lane.found(items(1..60), Position(600), |_| false);
            let mut offered: Vec<(Ticket, Position)> = Vec::new();
            let mut open: std::collections::BTreeSet<u64> = (1..60).collect();
            let (mut sent, mut deferred) = (0, 0);
            for (pick, what) in steps {
                match what {
                    0..3 => offered.extend(lane.next()),
                    5 => {
                        for (position, _) in lane.deferred() {
                            open.remove(&(position.0 / 10));
                        }
                        lane.deferred_are_noted();
                        prop_assert!(!lane.has_deferred() && lane.deferred().next().is_none());
                    }
                    _ if offered.is_empty() => {}
                    3 => {
                        let (ticket, _) = offered.remove(pick.index(offered.len()));
                        lane.give_back(ticket);
                    }
                    4 => {
                        let (ticket, position) = offered.remove(pick.index(offered.len()));
                        lane.settle(ticket, Settled::Deferred);
                        deferred += 1;
                        prop_assert!(lane.has_deferred() && lane.deferred().any(|one| one == (position, false)));
                    }
                    _ => {
                        let (ticket, position) = offered.remove(pick.index(offered.len()));
                        lane.settle(ticket, Settled::Accepted);
                        open.remove(&(position.0 / 10));
                    }
                }
                sent += advance(&mut lane).unwrap_or_default().sent;
                let first = open.first().map_or(u64::MAX, |number| number * 10);
                prop_assert!(lane.passed().0 <= first);
            }
            // A connection that lasts.
            while let Some((ticket, _)) = offered.pop().or_else(|| lane.next()) {
                lane.settle(ticket, Settled::Accepted);
            }
            lane.deferred_are_noted();
            sent += advance(&mut lane).unwrap_or_default().sent;
            prop_assert_eq!((sent, lane.passed()), (59 - deferred, Position(600)));
            prop_assert!(lane.is_empty());
        }
    }

    #[test]
    fn a_stretch_ends() {
        let mut lane = Lane::new(Position(0), None);
        lane.found(items(1..3), Position(100), |_| false);
        lane.end_at(Position(100));
        assert!(!lane.is_done());
        while let Some((ticket, _)) = lane.next() {
            lane.settle(ticket, Settled::Gone);
        }
        assert_eq!(advance(&mut lane).unwrap().skipped, 2);
        assert!(lane.is_done());
        assert_eq!(lane.passed(), Position(100));
    }

    #[test]
    fn what_the_disk_cannot_read_is_listed_and_not_offered() {
        let mut lane = Lane::new(Position(0), None);
        let mut found = items(1..4);
        found.items[1].commit_sequence = None;
        found.items[2].commit_sequence = None;
        lane.found(found, Position(100), |_| false);
        let (ticket, position) = lane.next().unwrap();
        assert_eq!((position, lane.next()), (Position(10), None));
        lane.settle(ticket, Settled::Accepted);
        let listed: Vec<_> = lane.deferred().collect();
        assert_eq!(listed, [(Position(20), true), (Position(30), true)]);
        // The cursor passes them when the list has them; the last one that was sent stays the last.
        let progress = advance(&mut lane).unwrap();
        assert_eq!(
            (progress.last, lane.passed()),
            (Some((Position(10), 1)), Position(19))
        );
        lane.deferred_are_noted();
        let progress = advance(&mut lane).unwrap();
        assert_eq!(
            (progress.last, progress.sent, progress.skipped),
            (None, 0, 0)
        );
        assert!(lane.is_empty() && lane.passed() == Position(100));
    }

    #[test]
    fn listed_articles_are_stepped_over() {
        let mut lane = Lane::new(Position(0), None);
        let mut found = items(1..5);
        for item in &mut found.items {
            item.gone = 1;
        }
        lane.found(found, Position(100), |position| position.0 % 20 == 0);
        let mut offered = Vec::new();
        while let Some((ticket, position)) = lane.next() {
            lane.settle(ticket, Settled::Accepted);
            offered.push(position.0);
        }
        assert_eq!(offered, [10, 30]);
        let progress = advance(&mut lane).unwrap();
        assert_eq!((progress.sent, progress.skipped), (2, 4));
        assert_eq!(lane.passed(), Position(100));
    }
}
