//! A long reply is written in pieces. It continues also if the socket took a whole piece at once, or the client has closed its side.
#![allow(clippy::indexing_slicing)]

use crate::support::house;

use std::io::Write;
use std::net::Shutdown;

use house::{GROUPS, House, line, lines};

#[test]
fn to_who_waits() {
    let house = House::new(Vec::new());
    let mut from = house.greeted();
    for _ in 0..3 {
        from.get_mut().write_all(b"LIST\r\n").expect("sent");
        assert!(line(&mut from).starts_with("215 "));
        assert_eq!(lines(&mut from), GROUPS);
    }
    // Nothing of all that is shown.
    from.get_mut()
        .write_all(b"LIST ACTIVE *.none*\r\n")
        .expect("sent");
    assert!(line(&mut from).starts_with("215 "));
    assert_eq!(lines(&mut from), 0);
}

#[test]
fn to_who_says_no_more() {
    let house = House::new(Vec::new());
    let mut from = house.greeted();
    from.get_mut().write_all(b"LIST\r\nLIST\r\n").expect("sent");
    from.get_mut().shutdown(Shutdown::Write).expect("shut");
    for _ in 0..2 {
        assert!(line(&mut from).starts_with("215 "));
        assert_eq!(lines(&mut from), GROUPS);
    }
    assert_eq!(line(&mut from), "");
}

#[test]
fn to_who_may_read_so_much_a_second() {
    let slow = access::Entry {
        name: "slow".to_owned(),
        read: "*".to_owned(),
        post: "*".to_owned(),
        limits: access::Limits {
            bytes_per_second_max: Some(2_000_000),
            ..access::Limits::default()
        },
        ..access::Entry::default()
    };
    let house = House::new(vec![slow]);
    let mut from = house.greeted();
    let begun = std::time::Instant::now();
    let pipeline = b"LIST\r\n".repeat(8);
    from.get_mut().write_all(&pipeline).expect("sent");
    for _ in 0..8 {
        assert!(line(&mut from).starts_with("215 "));
        assert_eq!(lines(&mut from), GROUPS);
    }
    // Nearly four megabytes, two of them at once.
    assert!(begun.elapsed() > std::time::Duration::from_millis(500));
}
