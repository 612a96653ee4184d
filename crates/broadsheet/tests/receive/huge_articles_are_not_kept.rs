//! An article that is too large is read to its end and refused, and takes up no more room than the largest that is taken.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::nntp::{ALL_MAY, Served, listen};

const MIB: usize = 256;

#[test]
fn however_they_come() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    let piece = (".".repeat(2) + &"y".repeat(996) + "\r\n").repeat(1 << 10);
    for (command, ready, refused) in [
        ("TAKETHIS <a@example.com>", "", "439 <a@example.com> "),
        ("IHAVE <a@example.com>", "335 ", "437 "),
        ("POST", "340 ", "441 "),
    ] {
        let mut client = served.client();
        client.say(format!("{command}\r\n"));
        if !ready.is_empty() {
            assert!(client.line().starts_with(ready));
        }
        client.say("Newsgroups: comp.test\r\nMessage-ID: <a@example.com>\r\n\r\n");
        for _ in 0..MIB {
            client.say(&piece);
        }
        assert!(served.memory() < 48 << 20, "{}", served.memory());
        client.say(".\r\n");
        let answer = client.line();
        assert!(answer.starts_with(refused), "{answer}");
        let line = served.daemon.until_said("article_too_large");
        let id = if command == "POST" {
            ""
        } else {
            "<a@example.com>"
        };
        assert!(line.contains("entry=all") && line.contains(id), "{line}");
        assert!(client.ask("DATE").starts_with("111 "));
    }
}
