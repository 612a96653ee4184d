//! `broadsheet session` on pipes, as over ssh: all is answered, what was taken is there, and it ends; with a daemon beside it, too.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

mod program;

use program::Program;
use program::articles::article;
use program::daemon::Daemon;
use program::nntp::{ALL_MAY, listen, take_this};

#[test]
fn alone_and_beside_a_daemon() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    says(&program, "<a@example.com>", 1);
    let daemon = Daemon::start(&program);
    says(&program, "<b@example.com>", 2);
    daemon.stop();
    program.assert_clean();
}

fn says(program: &Program, id: &str, count: usize) {
    let mut commands = take_this(id, &article(id, "comp.test"));
    commands.extend(take_this("<bad@example.com>", b"no header\n"));
    commands.extend(format!("STAT {id}\r\nGROUP comp.test\r\nQUIT\r\n").into_bytes());
    let told = program.feed(&["session", "--dir", "news"], &commands);
    assert_eq!(told.status, 0, "{told:?}");
    let lines: Vec<&str> = told.out.lines().collect();
    let expected = [
        "200 ".to_owned(),
        format!("239 {id}"),
        "439 <bad@example.com> ".to_owned(),
        format!("223 0 {id}"),
        format!("211 {count} 1 {count} comp.test"),
        "205 ".to_owned(),
    ];
    assert_eq!(lines.len(), expected.len(), "{lines:?}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(&expected), "{line} instead of {expected}");
    }
}
