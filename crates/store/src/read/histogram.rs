//! How often something took how long, in fixed buckets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The buckets end at these, in microseconds; what took longer is in one more.
pub const EDGES_MICROS: [u64; 15] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 10_000_000,
];

/// Counts by duration. Adding costs two atomic additions, and no lock.
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [AtomicU64; EDGES_MICROS.len() + 1],
    micros: AtomicU64,
}

/// What was counted up to a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spread {
    /// How many in each bucket; the last one has what took longer than all edges.
    pub buckets: Vec<u64>,
    /// All durations in sum, in microseconds.
    pub micros: u64,
}

impl Histogram {
    /// So many took so long each.
    pub fn add(&self, took: Duration, times: u64) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let place = EDGES_MICROS.partition_point(|&edge| edge < micros);
        if let Some(bucket) = self.buckets.get(place) {
            bucket.fetch_add(times, Ordering::Relaxed);
        }
        self.micros
            .fetch_add(micros.saturating_mul(times), Ordering::Relaxed);
    }

    /// What was counted.
    #[must_use]
    pub fn read(&self) -> Spread {
        let load = |bucket: &AtomicU64| bucket.load(Ordering::Relaxed);
        Spread {
            buckets: self.buckets.iter().map(load).collect(),
            micros: load(&self.micros),
        }
    }
}

impl Spread {
    /// How many in all.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The end of the bucket in which such a share of them has been reached, in microseconds; `None`: there are none, or it lies beyond
    /// the last edge.
    #[must_use]
    pub fn within_micros(&self, percent: u64) -> Option<u64> {
        let count = self.count();
        let mut so_far = 0;
        let mut each = self.buckets.iter().zip(EDGES_MICROS);
        let found = each.find(|(bucket, _)| {
            so_far += *bucket;
            count > 0 && so_far * 100 >= count * percent
        });
        found.map(|(_, edge)| edge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_duration_is_in_the_bucket_that_ends_at_it_or_behind_it() {
        let histogram = Histogram::default();
        histogram.add(Duration::from_micros(100), 1);
        histogram.add(Duration::from_micros(101), 2);
        histogram.add(Duration::from_secs(60), 1);
        let spread = histogram.read();
        assert_eq!(spread.buckets.first(), Some(&1));
        assert_eq!(spread.buckets.get(1), Some(&2));
        assert_eq!(spread.buckets.last(), Some(&1));
        assert_eq!(spread.micros, 100 + 202 + 60_000_000);
        assert_eq!(spread.count(), 4);
        assert_eq!(spread.within_micros(25), Some(100));
        assert_eq!(spread.within_micros(75), Some(250));
        assert_eq!(spread.within_micros(99), None);
        assert_eq!(Spread::default().within_micros(50), None);
    }
}
