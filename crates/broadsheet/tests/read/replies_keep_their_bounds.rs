//! What a client may rely on between two replies: where one ends, and that a low mark does not fall.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::articles::{batch, id, many};
use program::daemon::until;
use program::nntp::{ALL_MAY, Served, listen};

const ACTIVE: &str = "comp.test 0000000000 00001 y\n";

#[test]
fn a_header_without_a_blank_line_behind_it_ends() {
    let program = Program::with_news(ACTIVE);
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    let mut client = served.client();
    let header = "Path: a!b\r\nFrom: a@b.example\r\nNewsgroups: comp.test\r\nSubject: s\r\nMessage-ID: <1@x>\r\nDate: Thu, 26 Nov 2026 10:00:00 GMT\r\n";
    client.say(format!("TAKETHIS <1@x>\r\n{header}.\r\n"));
    assert_eq!(client.line(), "239 <1@x>");
    for (command, code, lines) in [
        ("HEAD", "221 ", 7),
        // And the empty line that a header ends with.
        ("ARTICLE", "220 ", 8),
        ("BODY", "222 ", 0),
    ] {
        let reply = client.ask(&format!("{command} <1@x>"));
        assert!(reply.starts_with(code), "{reply}");
        let text = client.lines();
        // The server adds Xref.
        assert_eq!(text.len(), lines, "{command}: {text:?}");
        assert!(client.ask("DATE").starts_with("111 "), "{command}");
    }
    served.daemon.stop();
}

/// RFC 3977, 6.1.1.2: it is no less than in any earlier response of the session.
#[test]
fn the_low_mark_of_a_group_that_becomes_empty_does_not_fall() {
    let program = Program::with_news(ACTIVE);
    listen(&program, ALL_MAY);
    assert_eq!(
        program.rnews(&batch(&many("a", 1, "comp.test", 50))).status,
        0
    );
    let served = Served::start(&program);
    let mut client = served.client();
    let mut low_mark = || {
        let reply = client.ask("GROUP comp.test");
        let words: Vec<u64> = reply
            .split(' ')
            .skip(1)
            .take(3)
            .map(|word| word.parse().unwrap())
            .collect();
        assert_eq!(words[2], 1, "{reply}");
        words[1]
    };
    let before = low_mark();
    let run = |words: &[&str]| {
        let told = program.run(&[words, &[&id("a", 1), "--dir", "news"]].concat());
        assert_eq!(told.status, 0, "{told:?}");
    };
    run(&["article", "remove"]);
    let between = low_mark();
    run(&["article", "restore"]);
    let after = low_mark();
    assert!(
        before <= between && between <= after,
        "{before} {between} {after}"
    );
    served.daemon.stop();
}

#[test]
fn a_renamed_log_is_followed() {
    let program = Program::with_news(ACTIVE);
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    let mut filed = 0;
    let mut file = || {
        filed += 1;
        let article = many(&format!("part{filed}"), 1, "comp.test", 50);
        assert_eq!(program.rnews(&batch(&article)).status, 0);
    };
    file();
    let (log, renamed) = (program.path("news/log"), program.path("news/log.1"));
    std::fs::rename(&log, &renamed).unwrap();
    until("there is a new log", || {
        file();
        log.exists()
    });
    served.daemon.stop();
    let lines = ["news/log", "news/log.1"].map(|name| program.read(name).matches(" + <").count());
    assert!(
        lines[0] == 1 && lines[0] + lines[1] == filed,
        "{lines:?} {filed}"
    );
}
