//! Rate limits: a burst, then a constant rate a second or minute. The caller passes the time.

use std::time::{Duration, Instant};

/// Longest wait of a rate limit, seconds.
pub const WAIT_SECONDS_MAX: u64 = 3600;

/// A leaky bucket with the capacity of one second or minute.
///
/// An amount is always accepted, on credit if the bucket is full: an article is read as a whole, and only the next one waits.
#[derive(Debug, Clone)]
pub struct RateLimit {
    count: u64,
    per: Duration,
    /// Time to empty the bucket, as of `since`.
    debt: Duration,
    since: Option<Instant>,
}

impl RateLimit {
    /// A limit of `count` a second; at least 1.
    pub fn per_second(count: u64) -> RateLimit {
        RateLimit::new(count, Duration::from_secs(1))
    }

    /// A limit of `count` a minute; at least 1.
    pub fn per_minute(count: u64) -> RateLimit {
        RateLimit::new(count, Duration::from_secs(60))
    }

    fn new(count: u64, per: Duration) -> RateLimit {
        RateLimit {
            count: count.max(1),
            per,
            debt: Duration::ZERO,
            since: None,
        }
    }

    /// Takes an amount, and returns the wait before the next one: zero to [`WAIT_SECONDS_MAX`].
    pub fn take(&mut self, amount: u64, now: Instant) -> Duration {
        let most = Duration::from_secs(WAIT_SECONDS_MAX) + self.per;
        let added = (u128::from(amount) * self.per.as_nanos()) / u128::from(self.count);
        let added = u64::try_from(added).map_or(most, Duration::from_nanos);
        self.debt = self.debt_at(now).saturating_add(added).min(most);
        self.since = Some(now);
        self.debt.saturating_sub(self.per)
    }

    /// The wait before the next amount, without taking one.
    pub fn wait(&self, now: Instant) -> Duration {
        self.debt_at(now).saturating_sub(self.per)
    }

    fn debt_at(&self, now: Instant) -> Duration {
        let passed = self.since.map(|since| now.saturating_duration_since(since));
        self.debt.saturating_sub(passed.unwrap_or_default())
    }
}
