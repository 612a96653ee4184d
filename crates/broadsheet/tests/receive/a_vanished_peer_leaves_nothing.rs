//! A peer that vanishes in the middle of an article leaves nothing behind, and another may send it at once.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::articles::with;
use program::daemon::until;
use program::nntp::{ALL_MAY, Served, listen, take_this, wire};

const ID: &str = "<half@example.com>";

#[test]
fn its_article_comes_from_another() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    let article = with(ID, "comp.test", "", "a line\n".repeat(10_000).as_bytes());
    let mut other = served.client();
    for verb in ["IHAVE", "CHECK"] {
        let mut peer = served.client();
        until("the id is free", || {
            let answer = peer.ask(&format!("{verb} {ID}"));
            answer.starts_with("335 ") || answer.starts_with("238 ")
        });
        let bytes = match verb {
            "IHAVE" => wire(&article),
            _ => take_this(ID, &article),
        };
        peer.say(&bytes[..bytes.len() / 2]);
        assert!(other.ask(&format!("CHECK {ID}")).starts_with("431 "));
        assert!(other.ask(&format!("IHAVE {ID}")).starts_with("436 "));
        drop(peer);
        assert!(other.ask(&format!("STAT {ID}")).starts_with("430 "));
    }
    until("the id is free", || {
        other.ask(&format!("CHECK {ID}")).starts_with("238 ")
    });
    other.say(take_this(ID, &article));
    assert_eq!(other.line(), format!("239 {ID}"));
    assert!(other.ask("GROUP comp.test").starts_with("211 1 1 1 "));
}
