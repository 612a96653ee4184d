//! The rate limit of a site: so many bytes a second, of all its connections together.

use std::time::{Duration, Instant};

use hashbrown::HashMap;
use store::Position;

/// Bytes that may be sent. What was saved up in a quiet time lasts for a second.
#[derive(Debug)]
pub(super) struct Pace {
    /// Bytes a second; `None` for no limit.
    rate: Option<u64>,
    /// Bytes that may be sent now; below 0 after a large article.
    credit: i64,
    counted: Option<Instant>,
    /// Bytes that are spent for articles about which the peer is asked: one that it wants waits for it.
    reserved: HashMap<Position, u64>,
}

impl Pace {
    pub fn new(rate: Option<u64>) -> Pace {
        Pace {
            rate,
            credit: 0,
            counted: None,
            reserved: HashMap::new(),
        }
    }

    /// Whether something may be sent now.
    pub fn allows(&mut self, now: Instant) -> bool {
        let Some(rate) = self.rate else {
            return true;
        };
        let rate = i64::try_from(rate).unwrap_or(i64::MAX).max(1);
        let passed = match self.counted {
            None => Duration::from_secs(1),
            Some(counted) => now.saturating_duration_since(counted),
        };
        let micros = i64::try_from(passed.as_micros()).unwrap_or(i64::MAX);
        let more = i128::from(rate) * i128::from(micros) / 1_000_000;
        // What is too little to count is counted later.
        if more > 0 {
            let credit = (i128::from(self.credit) + more).min(i128::from(rate));
            self.credit = i64::try_from(credit).unwrap_or(rate);
            self.counted = Some(now);
        }
        self.credit > 0
    }

    /// Takes note of sent bytes.
    pub fn spend(&mut self, bytes: u64) {
        if self.rate.is_some() {
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
            self.credit = self.credit.saturating_sub(bytes);
        }
    }

    /// Spends the bytes of an article about which the peer is asked, until [`Pace::release`].
    pub fn reserve(&mut self, position: Position, bytes: u64) {
        if self.rate.is_some() {
            self.release(position);
            self.spend(bytes);
            self.reserved.insert(position, bytes);
        }
    }

    /// Gives back the bytes of an article that is sent now, which costs what it has, or that is not sent.
    pub fn release(&mut self, position: Position) {
        if let Some(bytes) = self.reserved.remove(&position) {
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
            self.credit = self.credit.saturating_add(bytes);
        }
    }

    /// When something may be sent again. `None`: now, or there is no limit.
    pub fn next(&self, now: Instant) -> Option<Instant> {
        let rate = self.rate?;
        let missing = u64::try_from(1 - self.credit)
            .ok()
            .filter(|missing| *missing > 0)?;
        let micros = missing.saturating_mul(1_000_000).div_ceil(rate.max(1));
        Some(self.counted.unwrap_or(now) + Duration::from_micros(micros))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_kept_over_time() {
        for (rate, article) in [(1000, 300), (1_000_000, 3000), (500, 4000)] {
            let mut pace = Pace::new(Some(rate));
            let start = Instant::now();
            let (mut now, mut sent) = (start, 0);
            while now < start + Duration::from_secs(60) {
                while pace.allows(now) {
                    pace.spend(article);
                    sent += article;
                }
                now = pace.next(now).unwrap().max(now + Duration::from_micros(1));
            }
            let most = rate * 61 + article;
            assert!((rate * 60..=most).contains(&sent), "{rate}: {sent}");
        }
        let mut free = Pace::new(None);
        free.spend(u64::MAX);
        assert!(free.allows(Instant::now()) && free.next(Instant::now()).is_none());
    }

    #[test]
    fn what_is_not_sent_costs_nothing() {
        let mut pace = Pace::new(Some(1000));
        let now = Instant::now();
        assert!(pace.allows(now));
        pace.reserve(Position(8), 5000);
        assert!(!pace.allows(now));
        // Sent without its body.
        pace.release(Position(8));
        pace.spend(300);
        pace.release(Position(8));
        assert_eq!((pace.credit, pace.reserved.len()), (700, 0));
    }
}
