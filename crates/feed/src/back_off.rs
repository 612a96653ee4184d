//! The interval before another attempt: a second, then twice as long each time, five minutes at most.

use std::time::{Duration, Instant};

/// First interval, seconds.
pub const BACK_OFF_SECONDS_MIN: u64 = 1;
/// Longest interval, seconds.
pub const BACK_OFF_SECONDS_MAX: u64 = 300;

/// When the next attempt may begin.
#[derive(Debug)]
pub struct BackOff {
    interval: Duration,
    not_before: Option<Instant>,
}

impl Default for BackOff {
    fn default() -> BackOff {
        BackOff {
            interval: Duration::from_secs(BACK_OFF_SECONDS_MIN),
            not_before: None,
        }
    }
}

impl BackOff {
    /// The time of the next attempt, if it has not come.
    pub fn until(&self, now: Instant) -> Option<Instant> {
        self.not_before.filter(|until| now < *until)
    }

    /// An attempt failed; returns the time of the next one.
    pub fn failed(&mut self, now: Instant) -> Instant {
        let next = now + self.interval;
        self.not_before = Some(next);
        let longest = Duration::from_secs(BACK_OFF_SECONDS_MAX);
        self.interval = (self.interval * 2).min(longest);
        next
    }

    /// An attempt went well: the next interval is the first one again.
    pub fn succeeded(&mut self) {
        self.interval = Duration::from_secs(BACK_OFF_SECONDS_MIN);
    }

    /// The next attempt may begin at once.
    pub fn skip(&mut self) {
        self.not_before = None;
    }
}
