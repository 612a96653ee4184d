//! A long answer is written piece by piece: to its end, also when the client says nothing more, and without work while the client does
//! not read.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use program::Program;
use program::daemon::until;
use program::nntp::{ALL_MAY, Client, Served, listen};

const GROUPS: usize = 20_000;

fn program() -> Program {
    let mut active = String::new();
    for number in 0..GROUPS {
        let _ = writeln!(active, "comp.group.number.{number} 0000000000 00001 y");
    }
    let program = Program::with_news(&active);
    listen(&program, ALL_MAY);
    program
}

/// The groups of a list, without those that each news directory has.
fn groups(client: &mut Client) -> usize {
    let lines = client.lines();
    let ours = |line: &&String| line.starts_with("comp.");
    lines.iter().filter(ours).count()
}

/// What the process has used of the processors, in ticks of 10 ms.
fn used(served: &Served) -> u64 {
    let told = std::fs::read_to_string(format!("/proc/{}/stat", served.daemon.pid())).unwrap();
    let (_, rest) = told.rsplit_once(") ").unwrap();
    let mut fields = rest.split(' ').skip(11).take(2);
    let mut next = || fields.next().unwrap().parse::<u64>().unwrap();
    next() + next()
}

#[test]
fn the_end_of_the_commands_is_not_the_end_of_the_answers() {
    let program = program();
    let served = Served::start(&program);
    let mut client = served.client();
    client.say("LIST ACTIVE\r\nLIST ACTIVE\r\nDATE\r\n");
    client.say_end();
    for _ in 0..2 {
        assert!(client.line().starts_with("215 "));
        assert_eq!(groups(&mut client), GROUPS);
    }
    assert!(client.line().starts_with("111 "));
    assert_eq!(client.rest(), b"");
}

#[test]
fn who_does_not_read_costs_no_time() {
    let program = program();
    let served = Served::start(&program);
    let mut client = served.client();
    client.say("LIST ACTIVE\r\n".repeat(40));
    // The server has done what it can when the processors are at rest.
    let mut last = u64::MAX;
    let mut since = Instant::now();
    until("rest", || {
        let now = used(&served);
        if now != std::mem::replace(&mut last, now) {
            since = Instant::now();
        }
        since.elapsed() > Duration::from_millis(500)
    });
    assert!(served.memory() < 64 << 20, "{}", served.memory());
    for _ in 0..40 {
        assert!(client.line().starts_with("215 "));
        assert_eq!(groups(&mut client), GROUPS);
    }
}
