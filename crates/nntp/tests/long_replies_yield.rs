//! A command with much work for its reply, such as a heavy pattern, yields often, and its reply stays the same.
#![allow(clippy::format_push_string, reason = "a test may be slow")]

use crate::backend;

use backend::{Client, Fake};
use nntp::{COMMAND_BYTES_MAX, Next};

const GROUPS: usize = 2000;
const ARTICLES: u64 = 300;

/// A backend with many groups with long names, and many articles with long subjects in the first.
fn crowded() -> Fake {
    let name = |number| format!("misc.{}.{number}", "a".repeat(60));
    let active: String = (0..GROUPS)
        .map(|number| format!("{} 0000000300 0000000001 y\n", name(number)))
        .collect();
    let mut fake = Fake::new(&active);
    for number in 1..=ARTICLES {
        let subject = "a".repeat(900);
        let header = format!(
            "From: me@example.com\r\nSubject: {subject}\r\nDate: Mon, 20 Dec 1993 04:39:21 GMT\r\nMessage-ID: <{number}@test>\r\nX-Odd: {subject}\r\n"
        );
        fake.add(&header, "x\r\n", &[(&name(0), number)], 900_000_000);
    }
    fake.rows_max = usize::MAX;
    fake
}

/// The reply to a command, and the number of time slices; each lasts for `checks_per_slice` checks of the clock.
fn answer(command: &str, checks_per_slice: Option<usize>) -> (Vec<u8>, usize) {
    let mut client = Client::new(crowded());
    client.say(format!("GROUP misc.{}.0\r\n", "a".repeat(60)));
    client.backend.checks_per_slice = checks_per_slice;
    client.slices = 0;
    let answer = client.say(format!("{command}\r\n"));
    assert_eq!(client.next, Next::More);
    (answer, client.slices)
}

/// Checks that the reply does not depend on the time slices, and that a slice has at most `lines` lines of it.
fn in_slices(command: &str, lines: usize) {
    assert!(command.len() + 2 <= COMMAND_BYTES_MAX, "{command}");
    let (whole, _) = answer(command, None);
    let (pieces, slices) = answer(command, Some(1));
    assert!(whole == pieces, "{command}");
    let all = if command.starts_with('L') {
        GROUPS
    } else {
        ARTICLES as usize
    };
    assert!(slices >= all / lines, "{command}: {slices} slices");
}

fn heavy(before: &str) -> String {
    let stretches = "*a?a?a?a?a?a".repeat((COMMAND_BYTES_MAX - before.len() - 4) / 12);
    format!("{before} {stretches}b")
}

#[test]
fn heavy_patterns() {
    in_slices(&heavy("LIST ACTIVE"), 40);
    in_slices(&heavy("XPAT Subject 1-"), 5);
    in_slices(&heavy("XPAT X-Odd 1-"), 1);
    let found = answer("XPAT Subject 1- *a*", Some(1)).0;
    let lines = found.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(lines as u64, ARTICLES + 2);
}

#[test]
fn headers_that_are_not_in_the_overview() {
    in_slices("HDR X-Odd 1-", 1);
}

#[test]
fn lists() {
    in_slices("LIST", 64);
    in_slices("LIST COUNTS", 1);
}

#[test]
fn pipelined_commands() {
    let mut client = Client::new(crowded());
    client.backend.checks_per_slice = Some(0);
    client.say("STAT <1@test>\r\n".repeat(100));
    assert!(client.slices >= 100, "{}", client.slices);
}
