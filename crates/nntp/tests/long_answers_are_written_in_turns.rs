//! A command whose work is not in proportion to its answer, a heavy pattern above all, is answered in many turns, between which others
//! have theirs; and the answer is the same.
#![allow(clippy::format_push_string, reason = "a test may be slow")]

use crate::backend;

use backend::{Client, Fake};
use nntp::{COMMAND_BYTES_MAX, Next};

const GROUPS: usize = 2000;
const ARTICLES: u64 = 300;

/// Many groups with long names, and many articles with long subjects in the first.
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

/// The answer to a command, and how many turns it took, where one lasts until it was asked so often whether it is over.
fn answer(command: &str, turn_lasts: Option<usize>) -> (Vec<u8>, usize) {
    let mut client = Client::new(crowded());
    client.say(format!("GROUP misc.{}.0\r\n", "a".repeat(60)));
    client.backend.turn_lasts = turn_lasts;
    client.turns = 0;
    let answer = client.say(format!("{command}\r\n"));
    assert_eq!(client.next, Next::More);
    (answer, client.turns)
}

/// The answers are the same however short the turns, and a turn has a few lines (`lines`) of them at most.
fn in_turns(command: &str, lines: usize) {
    assert!(command.len() + 2 <= COMMAND_BYTES_MAX, "{command}");
    let (whole, _) = answer(command, None);
    let (pieces, turns) = answer(command, Some(1));
    assert!(whole == pieces, "{command}");
    let all = if command.starts_with('L') {
        GROUPS
    } else {
        ARTICLES as usize
    };
    assert!(turns >= all / lines, "{command}: {turns} turns");
}

fn heavy(before: &str) -> String {
    let stretches = "*a?a?a?a?a?a".repeat((COMMAND_BYTES_MAX - before.len() - 4) / 12);
    format!("{before} {stretches}b")
}

#[test]
fn heavy_patterns() {
    in_turns(&heavy("LIST ACTIVE"), 40);
    in_turns(&heavy("XPAT Subject 1-"), 5);
    in_turns(&heavy("XPAT X-Odd 1-"), 1);
    let found = answer("XPAT Subject 1- *a*", Some(1)).0;
    let lines = found.iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(lines as u64, ARTICLES + 2);
}

#[test]
fn headers_that_are_not_in_the_overview() {
    in_turns("HDR X-Odd 1-", 1);
}

#[test]
fn lists() {
    in_turns("LIST", 64);
    in_turns("LIST COUNTS", 1);
}

#[test]
fn commands_that_come_together() {
    let mut client = Client::new(crowded());
    client.backend.turn_lasts = Some(0);
    client.say("STAT <1@test>\r\n".repeat(100));
    assert!(client.turns >= 100, "{}", client.turns);
}
