//! A pace lets so much through at once, and then so much in a time.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::time::{Duration, Instant};

use access::RateLimit;
use access::rate_limit::WAIT_SECONDS_MAX;
use proptest::prelude::*;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_minutes_worth_goes_at_once_and_then_one_at_a_time() {
    let mut rate_limit = RateLimit::per_minute(60);
    let now = Instant::now();
    for _ in 0..60 {
        assert_eq!(rate_limit.take(1, now), Duration::ZERO);
    }
    assert_eq!(rate_limit.take(1, now), SECOND);
    assert_eq!(rate_limit.wait(now), SECOND);
    assert_eq!(rate_limit.wait(now + SECOND), Duration::ZERO);
    assert_eq!(rate_limit.take(1, now + SECOND), SECOND);
    assert_eq!(rate_limit.take(1, now + 60 * SECOND), Duration::ZERO);
}

#[test]
fn what_is_larger_than_the_bucket_is_taken_on_credit() {
    let mut rate_limit = RateLimit::per_second(1_000);
    let now = Instant::now();
    assert_eq!(rate_limit.take(11_000, now), 10 * SECOND);
    assert_eq!(rate_limit.take(0, now + 4 * SECOND), 6 * SECOND);
    assert_eq!(
        rate_limit.take(u64::MAX, now),
        Duration::from_secs(WAIT_SECONDS_MAX)
    );
    // A clock that seems to go back takes nothing away.
    assert!(rate_limit.take(1, now - SECOND.min(now.elapsed())) > Duration::ZERO);
}

proptest! {
    #[test]
    fn over_a_long_time_no_more_goes_through_than_it_says(
        count in 1u64..2_000,
        amounts in prop::collection::vec(0u64..500, 1..200),
    ) {
        let mut rate_limit = RateLimit::per_second(count);
        let begin = Instant::now();
        let mut now = begin;
        let mut taken = 0;
        for amount in amounts {
            now += rate_limit.take(amount, now);
            taken += amount;
        }
        // One bucket at once, and one more that was taken on credit and is not waited for.
        let seconds = now.duration_since(begin).as_secs_f64();
        prop_assert!(taken as f64 <= count as f64 * (seconds + 1.001) + 500.0);
    }
}
