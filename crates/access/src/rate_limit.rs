//! Rates: so much at once, and then so much a second or a minute. The time is passed in.

use std::time::{Duration, Instant};

/// The longest that a pace makes anybody wait.
pub const WAIT_SECONDS_MAX: u64 = 3600;

/// A bucket that empties at a steady rate, and holds what a whole second or minute may bring.
///
/// What is taken is taken at once, on credit when the bucket is full already: an article is read as a whole, and only
/// the next one waits.
#[derive(Debug, Clone)]
pub struct RateLimit {
    count: u64,
    per: Duration,
    /// How long it takes to empty what is in the bucket, as of `since`.
    debt: Duration,
    since: Option<Instant>,
}

impl RateLimit {
    /// So much a second; at least 1.
    pub fn per_second(count: u64) -> RateLimit {
        RateLimit::new(count, Duration::from_secs(1))
    }

    /// So much a minute; at least 1.
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

    /// Takes so much, and tells how long to wait before more is taken; zero: go on. Never more than
    /// [`WAIT_SECONDS_MAX`].
    pub fn take(&mut self, amount: u64, now: Instant) -> Duration {
        let most = Duration::from_secs(WAIT_SECONDS_MAX) + self.per;
        let added = (u128::from(amount) * self.per.as_nanos()) / u128::from(self.count);
        let added = u64::try_from(added).map_or(most, Duration::from_nanos);
        self.debt = self.debt_at(now).saturating_add(added).min(most);
        self.since = Some(now);
        self.debt.saturating_sub(self.per)
    }

    /// How long to wait before something is taken, without taking it.
    pub fn wait(&self, now: Instant) -> Duration {
        self.debt_at(now).saturating_sub(self.per)
    }

    fn debt_at(&self, now: Instant) -> Duration {
        let passed = self.since.map(|since| now.saturating_duration_since(since));
        self.debt.saturating_sub(passed.unwrap_or_default())
    }
}
