//! A server that lacks the newest articles greets new clients with 400, and goes on with those that it has.

use std::io::Write;
use std::sync::atomic::Ordering;

use crate::support::house::{House, line};

#[test]
fn until_it_has_caught_up() {
    let house = House::new(Vec::new());
    let mut before = house.greeted();
    house.is_stale.store(true, Ordering::SeqCst);
    let mut refused = house.connected();
    assert!(line(&mut refused).starts_with("400 "));
    assert_eq!(line(&mut refused), "");
    before.get_mut().write_all(b"DATE\r\n").expect("sent");
    assert!(line(&mut before).starts_with("111 "));
    house.is_stale.store(false, Ordering::SeqCst);
    house.greeted();
}

#[test]
fn and_those_that_it_has_when_it_shows_wrong_numbers() {
    let house = House::new(Vec::new());
    let mut before = [house.greeted(), house.greeted()];
    house.is_stale.store(true, Ordering::SeqCst);
    house.server.close_all(b"400 use another one\r\n");
    for client in &mut before {
        assert_eq!(line(client), "400 use another one\r\n");
        assert_eq!(line(client), "");
    }
    house.is_stale.store(false, Ordering::SeqCst);
    house.greeted();
}
