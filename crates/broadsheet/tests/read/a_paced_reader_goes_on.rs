//! Who reads faster than it may rests, and goes on when that is over, also where it had to rest longer while it rested.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::time::Instant;

use program::Program;
use program::articles::with;
use program::daemon::PATIENCE;
use program::nntp::{ALL_MAY, Served, listen, take_this};

#[test]
fn behind_a_large_article() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let access = ALL_MAY.to_owned() + "bytes_per_second_max = 3000000\n";
    listen(&program, &access);
    program.set("idle_seconds = 600", "idle_seconds = 3600");
    let served = Served::start(&program);
    let mut client = served.client();
    // It does not fit into a socket, so it goes in several portions.
    let body = "a line of some length that is repeated\n".repeat(180_000);
    client.say(take_this(
        "<large@example.com>",
        &with("<large@example.com>", "comp.test", "", body.as_bytes()),
    ));
    assert!(client.line().starts_with("239 "));
    let began = Instant::now();
    assert!(
        client
            .ask("ARTICLE <large@example.com>")
            .starts_with("220 ")
    );
    assert!(client.lines().len() > 180_000);
    assert!(client.ask("DATE").starts_with("111 "));
    let took = began.elapsed();
    assert!(took.as_secs() >= 1 && took < PATIENCE, "{took:?}");
}
