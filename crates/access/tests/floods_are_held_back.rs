//! Who posts too much has to wait, twice as long each time, and is forgiven when he was quiet.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::net::IpAddr;
use std::time::{Duration, Instant};

use access::flood::{POSTERS_MAX, WAIT_SECONDS_MAX};
use access::{Floods, Poster};

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[test]
fn so_many_a_minute_are_taken_and_then_the_waits_double() {
    let mut floods = Floods::new();
    let begin = Instant::now();
    let anna = Poster::User("anna");
    for _ in 0..5 {
        assert_eq!(floods.post(anna, 5, begin), Ok(()));
    }
    let mut now = begin;
    for wait in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
        assert_eq!(floods.post(anna, 5, now), Err(seconds(wait)));
        // Coming too early does not make it longer.
        assert_eq!(floods.post(anna, 5, now), Err(seconds(wait)));
        now += seconds(wait);
        assert_eq!(floods.post(anna, 5, now), Ok(()), "after {wait} seconds");
    }
    assert_eq!(WAIT_SECONDS_MAX, 300);
    // Others are not held back.
    assert_eq!(floods.post(Poster::User("bert"), 5, now), Ok(()));
    // After the wait and a quiet minute all is forgiven.
    now += seconds(300 + 60);
    for _ in 0..5 {
        assert_eq!(floods.post(anna, 5, now), Ok(()));
    }
    assert_eq!(floods.post(anna, 5, now), Err(seconds(1)));
}

#[test]
fn a_steady_poster_below_the_rate_never_waits() {
    let mut floods = Floods::new();
    let begin = Instant::now();
    for count in 0..500 {
        let now = begin + seconds(count * 15 + 1);
        assert_eq!(floods.post(Poster::User("anna"), 5, now), Ok(()));
    }
}

#[test]
fn a_network_of_64_bits_is_one_poster() {
    let mut floods = Floods::new();
    let now = Instant::now();
    let address = |text: &str| Poster::Address(text.parse::<IpAddr>().unwrap());
    assert!(floods.post(address("2001:db8::1"), 1, now).is_ok());
    assert!(floods.post(address("2001:db8::ffff"), 1, now).is_err());
    assert!(floods.post(address("2001:db8:0:1::1"), 1, now).is_ok());
    assert!(floods.post(address("192.0.2.1"), 1, now).is_ok());
    assert!(floods.post(address("::ffff:192.0.2.1"), 1, now).is_err());
    assert!(floods.post(address("192.0.2.2"), 1, now).is_ok());
}

#[test]
fn only_so_many_posters_are_remembered_and_who_waits_longest_is_not_forgotten() {
    let mut floods = Floods::new();
    let mut now = Instant::now();
    for _ in 0..13 {
        if let Err(wait) = floods.post(Poster::User("flood"), 1, now) {
            now += wait;
        }
    }
    assert!(floods.post(Poster::User("flood"), 1, now).is_err());
    for number in 0..POSTERS_MAX + 100 {
        let name = number.to_string();
        assert!(floods.post(Poster::User(&name), 1, now).is_ok());
    }
    assert!(floods.post(Poster::User("flood"), 1, now).is_err());
}
