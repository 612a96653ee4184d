//! Whether a node is so far behind the log that its readers would miss much.

use std::time::{Duration, Instant};

/// A node that lacks entries of more than this time accepts no new connections: its clients use another one.
pub const BEHIND_SECONDS_MAX: u64 = 300;
const BEHIND_MAX: Duration = Duration::from_secs(BEHIND_SECONDS_MAX);

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
}

impl Freshness {
    /// A node that has applied entries up to one.
    pub fn new(applied: u64, now: Instant) -> Freshness {
        Freshness {
            end: applied,
            applied,
            arrival: None,
            moved: now,
        }
    }

    /// The log has entries up to this one.
    pub fn has_end(&mut self, end: u64, now: Instant) {
        if self.applied >= self.end {
            self.moved = now;
        }
        self.end = self.end.max(end);
    }

    /// The node has applied an entry, which arrived at this time, seconds since 1970.
    pub fn has_applied(&mut self, sequence: u64, arrival: i64, now: Instant) {
        self.applied = sequence;
        self.end = self.end.max(sequence);
        self.arrival = Some(arrival);
        self.moved = now;
    }

    /// The spool went back to an entry.
    pub fn goes_back_to(&mut self, sequence: u64) {
        self.applied = sequence;
    }

    /// Whether the log has told of entries that are not applied.
    pub fn is_behind(&self) -> bool {
        self.applied < self.end
    }

    /// Whether too much is missing. A node that catches up is so far behind as the last entry is old; one that does not get on, for as
    /// long as it does not. `seconds` is the clock, seconds since 1970; clocks that differ by minutes matter only while it catches up.
    pub fn is_stale(&self, catches_up: bool, seconds: i64, now: Instant) -> bool {
        let is_old = |arrival: i64| {
            let age = u64::try_from(seconds.saturating_sub(arrival)).unwrap_or(0);
            catches_up && age > BEHIND_SECONDS_MAX
        };
        let is_stuck = now.saturating_duration_since(self.moved) > BEHIND_MAX;
        self.is_behind() && (is_stuck || self.arrival.is_some_and(is_old))
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
}
