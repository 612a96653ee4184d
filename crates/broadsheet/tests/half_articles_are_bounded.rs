//! Articles that never come to their end take up so much room in all, however many connections send them.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::nntp::{ALL_MAY, Served, listen};

/// Each sends so much of an article, which may have 8 MiB.
const SENT: usize = 7 << 20;
/// So many, which together send more than the 256 MiB that may be held.
const CONNECTIONS: usize = 60;

#[test]
fn who_sends_beyond_is_sent_away() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    let piece = ("y".repeat(1022) + "\r\n").repeat(SENT >> 10);
    let mut clients = Vec::new();
    let mut sent_away = 0;
    for _ in 0..CONNECTIONS {
        let mut client = served.client();
        assert!(client.ask("POST").starts_with("340 "));
        client.say("Newsgroups: comp.test\r\n\r\n");
        // Who is sent away need not take all of it.
        let sent = client.say_beside(piece.clone().into_bytes()).join();
        sent_away += usize::from(sent.is_ok_and(|sent| sent.is_err()));
        clients.push(client);
        assert!(served.memory() < 512 << 20, "{}", served.memory());
    }
    assert!(sent_away > 0, "nobody was sent away");
    drop(clients);
    let mut client = served.client();
    assert!(client.ask("POST").starts_with("340 "));
}
