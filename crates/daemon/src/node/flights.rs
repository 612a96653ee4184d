//! The batches of which this node has appended articles to the log, while their senders wait for the replies.
//!
//! *Invariant:* batches leave in the order in which they were held: the network threads complete their replies by order alone. A batch
//! leaves when each of its articles has a result, and the result of an entry counts when the entry is on the disks of the log **and**
//! committed here.

use std::collections::{HashMap, VecDeque};

use ::cluster::log::Bytes;

/// The number of a held batch.
pub type BatchNumber = u64;

/// The place of an article: its batch, and its place there.
pub type Place = (BatchNumber, usize);

/// Batches of type `B` that wait for results of type `R`.
#[derive(Debug)]
pub struct Flights<B, R> {
    batches: VecDeque<Held<B, R>>,
    /// The number of the first.
    first: BatchNumber,
    entries: HashMap<u64, Flight<R>>,
}

#[derive(Debug)]
struct Held<B, R> {
    batch: B,
    results: Vec<Option<R>>,
}

#[derive(Debug)]
struct Flight<R> {
    places: Vec<Place>,
    /// The entry itself, until it is on the disks.
    bytes: Option<Bytes>,
    size: usize,
    results: Option<Vec<R>>,
}

impl<B, R> Default for Flights<B, R> {
    fn default() -> Flights<B, R> {
        Flights {
            batches: VecDeque::new(),
            first: 0,
            entries: HashMap::new(),
        }
    }
}

impl<B, R> Flights<B, R> {
    /// Holds a batch; the results that are known already are given.
    pub fn hold(&mut self, batch: B, results: Vec<Option<R>>) -> BatchNumber {
        let number = self.next_number();
        self.batches.push_back(Held { batch, results });
        number
    }

    /// The number of the batch that is held next.
    pub fn next_number(&self) -> BatchNumber {
        self.first + self.batches.len() as u64
    }

    /// Notes an entry with the articles of these places.
    pub fn append(&mut self, counter: u64, places: Vec<Place>, bytes: Bytes) {
        let flight = Flight {
            places,
            size: bytes.len(),
            bytes: Some(bytes),
            results: None,
        };
        self.entries.insert(counter, flight);
    }

    /// Entries that wait, and their bytes.
    pub fn waiting(&self) -> (usize, usize) {
        let bytes = self.entries.values().map(|flight| flight.size).sum();
        (self.entries.len(), bytes)
    }

    /// The entries that may not be in the log yet, with their counters in ascending order.
    pub fn unacknowledged(&self) -> Vec<(u64, Bytes)> {
        let flights = self.entries.iter();
        let mut found: Vec<(u64, Bytes)> = flights
            .filter_map(|(counter, flight)| Some((*counter, flight.bytes.clone()?)))
            .collect();
        found.sort_unstable_by_key(|(counter, _)| *counter);
        found
    }

    /// Notes that an entry is on the disks of the log.
    pub fn appended(&mut self, counter: u64) {
        if let Some(flight) = self.entries.get_mut(&counter) {
            flight.bytes = None;
        }
    }

    /// Notes the results of an entry that is applied here, and not committed yet.
    pub fn applied(&mut self, counter: u64, results: Vec<R>) {
        if let Some(flight) = self.entries.get_mut(&counter) {
            flight.results = Some(results);
        }
    }

    /// After a failed commit: no entry counts as applied.
    pub fn forget_applied(&mut self) {
        for flight in self.entries.values_mut() {
            flight.results = None;
        }
    }

    /// Gives all articles of an entry the same result: it will never be in the log.
    pub fn fail(&mut self, counter: u64, result: impl Fn() -> R) {
        if let Some(flight) = self.entries.get_mut(&counter) {
            flight.bytes = None;
            flight.results = Some(flight.places.iter().map(|_| result()).collect());
        }
    }

    /// Gives the articles of all entries without a result this one.
    pub fn fail_all(&mut self, result: impl Fn() -> R) {
        for flight in self.entries.values_mut() {
            flight.bytes = None;
            if flight.results.is_none() {
                flight.results = Some(flight.places.iter().map(|_| result()).collect());
            }
        }
    }

    /// After a commit, or when entries were acknowledged: settles what is complete.
    pub fn settle(&mut self) {
        let is_done = |flight: &Flight<R>| flight.bytes.is_none() && flight.results.is_some();
        let done: Vec<u64> = self
            .entries
            .iter()
            .filter(|(_, flight)| is_done(flight))
            .map(|(counter, _)| *counter)
            .collect();
        for flight in done
            .iter()
            .filter_map(|counter| self.entries.remove(counter))
        {
            let results = flight.results.into_iter().flatten();
            for ((batch, place), result) in flight.places.into_iter().zip(results) {
                let held = batch
                    .checked_sub(self.first)
                    .and_then(|at| self.batches.get_mut(at as usize));
                if let Some(slot) = held.and_then(|held| held.results.get_mut(place)) {
                    *slot = Some(result);
                }
            }
        }
    }

    /// The next batch of which all results are known.
    pub fn next_done(&mut self) -> Option<(B, Vec<R>)> {
        let held = self.batches.front()?;
        if held.results.iter().any(Option::is_none) {
            return None;
        }
        self.first += 1;
        let held = self.batches.pop_front()?;
        Some((held.batch, held.results.into_iter().flatten().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_leave_in_their_order_with_their_own_results() {
        let mut flights: Flights<&str, u32> = Flights::default();
        let a = flights.hold("a", vec![None, Some(7), None]);
        let b = flights.hold("b", vec![None]);
        let c = flights.hold("c", vec![]);
        assert_eq!((a, b, c), (0, 1, 2));
        flights.append(1, vec![(a, 0)], Bytes::from_static(&[1]));
        flights.append(2, vec![(a, 2), (b, 0)], Bytes::from_static(&[2, 2]));
        assert_eq!(flights.waiting(), (2, 3));
        flights.applied(2, vec![30, 40]);
        flights.appended(2);
        flights.settle();
        assert_eq!(flights.next_done(), None);
        // Applied, and not yet known to be on the disks.
        flights.applied(1, vec![10]);
        flights.settle();
        assert_eq!(flights.next_done(), None);
        assert_eq!(flights.unacknowledged(), [(1, Bytes::from_static(&[1]))]);
        flights.appended(1);
        flights.settle();
        assert_eq!(flights.next_done(), Some(("a", vec![10, 7, 30])));
        assert_eq!(flights.next_done(), Some(("b", vec![40])));
        assert_eq!(flights.next_done(), Some(("c", vec![])));
        assert_eq!(flights.waiting(), (0, 0));
    }

    #[test]
    fn after_a_failed_commit_nothing_counts() {
        let mut flights: Flights<&str, u32> = Flights::default();
        let a = flights.hold("a", vec![None]);
        flights.append(5, vec![(a, 0)], Bytes::from_static(&[1]));
        flights.appended(5);
        flights.applied(5, vec![1]);
        flights.forget_applied();
        flights.settle();
        assert_eq!(flights.next_done(), None);
        flights.applied(5, vec![2]);
        flights.settle();
        assert_eq!(flights.next_done(), Some(("a", vec![2])));
        // An entry that never gets into the log.
        let b = flights.hold("b", vec![None]);
        flights.append(6, vec![(b, 0)], Bytes::from_static(&[1]));
        flights.fail(6, || 9);
        flights.settle();
        assert_eq!(flights.next_done(), Some(("b", vec![9])));
    }
}
