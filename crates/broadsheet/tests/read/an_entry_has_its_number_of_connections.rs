//! `connections_max` and `connections_per_address_max` of an entry of `[[access]]` count for those who come under it by logging in.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::daemon::until;
use program::nntp::{Client, Served, listen};

/// A client that tries to log in, and what it hears.
fn log_in(served: &Served) -> (Client, String) {
    let mut client = served.client();
    assert!(client.ask("AUTHINFO USER anna").starts_with("381 "));
    let answer = client.ask("AUTHINFO PASS secretive");
    (client, answer)
}

fn serve(program: &Program, limit: &str) -> Served {
    let access = format!("\n[[access]]\nname = \"people\"\nusers = \"*\"\nread = \"*\"\n{limit}\n");
    listen(program, &access);
    program.set("plaintext_passwords = false", "plaintext_passwords = true");
    let told = program.feed(&["user", "add", "--dir", "news", "anna"], b"secretive\n");
    assert_eq!(told.status, 0, "{told:?}");
    Served::start(program)
}

#[test]
fn one_more_is_told_to_come_again() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let served = serve(&program, "connections_max = 2");
    let (first, answer) = log_in(&served);
    assert!(answer.starts_with("281 "), "{answer}");
    let (_second, answer) = log_in(&served);
    assert!(answer.starts_with("281 "), "{answer}");
    let (mut third, answer) = log_in(&served);
    assert_eq!(answer, "403 Too many connections; try again later");
    assert!(third.ask("GROUP comp.test").starts_with("480 "));
    drop(first);
    until("there is room", || {
        third.ask("AUTHINFO USER anna");
        third.ask("AUTHINFO PASS secretive").starts_with("281 ")
    });
    assert_eq!(third.ask("GROUP comp.test"), "211 0 1 0 comp.test");
}

#[test]
fn an_address_has_its_own_number() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let served = serve(&program, "connections_per_address_max = 1");
    let (_first, answer) = log_in(&served);
    assert!(answer.starts_with("281 "), "{answer}");
    let (_second, answer) = log_in(&served);
    assert!(answer.starts_with("403 "), "{answer}");
}
