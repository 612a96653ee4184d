//! Disk full: peers are told so, 400, 431 and 436, readers read on; and when there is room again articles are taken, without a restart.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::articles::{id, many, with};
use program::daemon::until;
use program::nntp::{ALL_MAY, Served, listen, take_this, wire};
use program::small::Small;

const ARTICLES: usize = 400;

#[test]
fn they_send_it_later() {
    let program = Program::with_small_segments("comp.test 0000000000 00001 y\n", 1);
    listen(&program, ALL_MAY);
    // So that it is not the daemon that stops in time.
    program.set("keep_free = \"128 MiB\"", "keep_free = 0");
    program.keep_nothing_free();
    let Some(small) = Small::under(&program, "4m") else {
        return;
    };
    let served = Served::start(&program);
    let mut client = served.client();
    let mut taken = 0;
    for (at, article) in many("a", ARTICLES, "comp.test", 20_000).iter().enumerate() {
        client.say(take_this(&id("a", at + 1), article));
        let line = client.line();
        if line.starts_with("400 ") {
            assert!(line.contains("No space left"), "{line}");
            break;
        }
        assert_eq!(line, format!("239 {}", id("a", at + 1)));
        taken = at + 1;
    }
    assert!(taken > 0 && taken < ARTICLES, "{taken}");
    assert_eq!(client.line(), "");

    // A fault closes the intake for a second at first. Where this machine was slower, the next article meets the fault again, and
    // each time the pause is twice as long.
    let mut more = many("c", 10, "comp.test", 20_000).into_iter().enumerate();
    let mut client = loop {
        let mut client = served.client();
        if client.ask("CHECK <b@example.com>").starts_with("431 ") {
            let line = client.ask("IHAVE <b@example.com>");
            if line.starts_with("436 ") && line.contains("No space left") {
                break client;
            }
        }
        let (at, article) = more.next().expect("the intake is closed by then");
        let mut peer = served.client();
        peer.say(take_this(&id("c", at + 1), &article));
        peer.line();
    };
    assert!(
        client
            .ask(&format!("BODY {}", id("a", taken)))
            .starts_with("222 ")
    );
    client.lines();
    small.grow("32m");
    let article = wire(&with("<b@example.com>", "comp.test", "", b"hello\n"));
    until("it is taken", || {
        if !client.ask("IHAVE <b@example.com>").starts_with("335 ") {
            return false;
        }
        client.say(&article);
        client.line().starts_with("235 ")
    });
    for number in 1..=taken {
        assert!(
            client
                .ask(&format!("STAT {}", id("a", number)))
                .starts_with("223 ")
        );
    }
    served.daemon.stop();
    program.assert_clean();
}
