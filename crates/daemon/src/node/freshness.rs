//! How far a node is behind the log: whether its readers would miss much.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A node that lacks entries of more than this time accepts no new connections: its clients use another one. s
pub const BEHIND_SECONDS_MAX: u64 = 300;
/// Ends of the log that are remembered with their times. The thread of the log tells one each ten seconds; beyond this number, later ones
/// count from the time of the last.
const ENDS_MAX: usize = 4096;

/// How far the node is, as it knows by itself.
#[derive(Debug)]
pub struct Freshness {
    /// The last entry that the log told of.
    end: u64,
    /// The last applied one.
    applied: u64,
    /// Its arrival, seconds since 1970 by the clock of the node that appended it.
    arrival: Option<i64>,
    /// The time of the last progress, or at which the node had applied everything.
    moved: Instant,
    /// Ends of the log that are not applied, and when the node learned of them.
    ends: VecDeque<(u64, Instant)>,
}

impl Freshness {
    /// A node that has applied entries up to one.
    pub fn new(applied: u64, now: Instant) -> Freshness {
        Freshness {
            end: applied,
            applied,
            arrival: None,
            moved: now,
            ends: VecDeque::new(),
        }
    }

    /// The log has entries up to this one.
    pub fn has_end(&mut self, end: u64, now: Instant) {
        if !self.is_behind() {
            self.moved = now;
        }
        if end <= self.end {
            return;
        }
        self.end = end;
        let is_full = self.ends.len() >= ENDS_MAX;
        match self.ends.back_mut().filter(|_| is_full) {
            Some((last, _)) => *last = end,
            None => self.ends.push_back((end, now)),
        }
    }

    /// The node has applied and committed an entry, which arrived at this time, seconds since 1970.
    pub fn has_applied(&mut self, sequence: u64, arrival: i64, now: Instant) {
        self.applied = sequence;
        self.end = self.end.max(sequence);
        self.arrival = Some(arrival);
        self.moved = now;
        while self.ends.front().is_some_and(|(end, _)| *end <= sequence) {
            self.ends.pop_front();
        }
    }

    /// The spool went back to an entry.
    pub fn goes_back_to(&mut self, sequence: u64) {
        self.applied = sequence;
        if self.is_behind() && self.ends.is_empty() {
            self.ends.push_back((self.end, self.moved));
        }
    }

    /// The last applied entry.
    pub fn applied(&self) -> u64 {
        self.applied
    }

    /// The last entry of the log that the node knows of.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Whether the log has told of entries that are not applied.
    pub fn is_behind(&self) -> bool {
        self.applied < self.end
    }

    /// How far the node is behind. It is so for as long as it knows of an entry that it has not applied; one that catches up also for as
    /// long as its last entry is old. `seconds` is the clock, seconds since 1970; clocks that differ matter only while it catches up.
    pub fn lag(&self, catches_up: bool, seconds: i64, now: Instant) -> Duration {
        if !self.is_behind() {
            return Duration::ZERO;
        }
        let known = self.ends.front().map(|(_, at)| *at);
        let known = known.map_or(Duration::ZERO, |at| now.saturating_duration_since(at));
        let arrival = self.arrival.filter(|_| catches_up);
        let age = arrival.map_or(0, |arrival| seconds.saturating_sub(arrival));
        known.max(Duration::from_secs(u64::try_from(age).unwrap_or(0)))
    }

    /// Whether too much is missing.
    pub fn is_stale(&self, catches_up: bool, seconds: i64, now: Instant) -> bool {
        self.lag(catches_up, seconds, now) > Duration::from_secs(BEHIND_SECONDS_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: i64 = 1_800_000_000;

    fn later(start: Instant, seconds: u64) -> Instant {
        start + Duration::from_secs(seconds)
    }

    #[test]
    fn who_catches_up_with_old_entries_is_stale_until_they_are_new() {
        let start = Instant::now();
        let mut node = Freshness::new(10, start);
        assert!(!node.is_stale(true, NOON, start));
        node.has_end(5_000, start);
        // How old the missing ones are is not known yet.
        assert!(!node.is_stale(true, NOON, start));
        node.has_applied(11, NOON - 3_600, start);
        assert!(node.is_stale(true, NOON, start));
        node.has_applied(4_000, NOON - 301, start);
        assert!(node.is_stale(true, NOON, start));
        node.has_applied(4_001, NOON - 300, start);
        assert!(!node.is_stale(true, NOON, start));
        // A node with all entries is not, however old the last one is.
        node.has_applied(5_000, NOON - 3_600, start);
        assert!(!node.is_stale(true, NOON, later(start, 10_000)));
    }

    #[test]
    fn clocks_that_differ_do_not_matter_to_a_node_that_keeps_up() {
        let start = Instant::now();
        let mut node = Freshness::new(10, start);
        node.has_end(12, start);
        node.has_applied(11, NOON - 1_800, start);
        assert!(!node.is_stale(false, NOON, start));
    }

    #[test]
    fn who_does_not_get_on_is_stale_after_a_while() {
        let start = Instant::now();
        let mut node = Freshness::new(10, start);
        // Nothing came for long: that is no standstill.
        node.has_end(11, later(start, 1_000));
        assert!(!node.is_stale(false, NOON, later(start, 1_001)));
        node.has_end(12, later(start, 1_200));
        assert!(!node.is_stale(false, NOON, later(start, 1_300)));
        assert!(node.is_stale(false, NOON, later(start, 1_301)));
        node.has_applied(12, NOON, later(start, 1_302));
        assert!(!node.is_stale(false, NOON, later(start, 1_302)));
        node.goes_back_to(11);
        assert!(!node.is_stale(false, NOON, later(start, 1_602)));
        assert!(node.is_stale(false, NOON, later(start, 1_603)));
    }

    #[test]
    fn who_applies_more_slowly_than_the_log_grows_is_stale_after_a_while() {
        let start = Instant::now();
        let mut node = Freshness::new(0, start);
        // Ten entries a second come, and nine are applied: it gets on all the time. The clock of the sender is right.
        for second in (0..=6_000).step_by(10) {
            node.has_end(second * 10 + 10, later(start, second));
            node.has_applied(second * 9 + 1, NOON + second as i64, later(start, second));
            let lag = node.lag(false, NOON, later(start, second)).as_secs();
            assert!(lag.abs_diff(second / 10) <= 11, "{second}: {lag}");
            let is_stale = node.is_stale(false, NOON, later(start, second));
            assert_eq!(is_stale, lag > 300, "{second}: {lag}");
        }
        assert!(node.is_stale(false, NOON, later(start, 6_000)));
        // It recovers.
        node.has_applied(60_010, NOON, later(start, 6_001));
        assert_eq!(node.lag(false, NOON, later(start, 9_000)).as_secs(), 0);
    }

    #[test]
    fn the_times_of_ends_are_bounded() {
        let start = Instant::now();
        let mut node = Freshness::new(0, start);
        for end in 1..3 * ENDS_MAX as u64 {
            node.has_end(end, later(start, end));
        }
        assert_eq!(node.ends.len(), ENDS_MAX);
        node.has_applied(2 * ENDS_MAX as u64, NOON, start);
        let now = later(start, 3 * ENDS_MAX as u64);
        assert!(node.is_stale(false, NOON, now));
        node.has_applied(3 * ENDS_MAX as u64 - 1, NOON, start);
        assert!(!node.is_stale(false, NOON, now) && node.ends.is_empty());
    }
}
