//! Headers, names and operands that strangers chose reach no terminal as escape sequences; pipes get what scripts read today.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use crate::program;
use program::Program;
use program::articles::batch;

/// A title for the window, colours by a C1 control, and text from right to left.
const BAD: &str = "\u{1b}]0;mine\u{7}\u{9b}31m \u{202e}gpj";

fn news() -> Program {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let text = format!(
        "Path: far!near!user\nFrom: User <user@example.com>\nNewsgroups: comp.test\nSubject: {BAD}\n\
         Message-ID: <1@example.com>\nDate: Mon, 20 Dec 1993 04:39:21 GMT\n\nhello\n"
    );
    let told = program.rnews(&batch(&[text.into_bytes()]));
    assert_eq!(told.count("accepted"), 1, "{told:?}");
    program
}

/// The output of a command on a terminal; `None` without script(1).
fn on_a_terminal(program: &Program, words: &[&str]) -> Option<String> {
    let command = format!(
        "\"{}\" {}",
        env!("CARGO_BIN_EXE_broadsheet"),
        words.join(" ")
    );
    let done = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .current_dir(program.path("."))
        .env_remove("BROADSHEET_DIR")
        .stdin(std::process::Stdio::null())
        .output();
    match done {
        Ok(done) => Some(String::from_utf8(done.stdout).unwrap()),
        Err(error) => {
            println!("skipped: what commands print to a terminal (script: {error})");
            None
        }
    }
}

fn is_plain(text: &str) -> bool {
    // A terminal gets CR before LF.
    let acts = |c: char| c.is_control() && !matches!(c, '\t' | '\r' | '\n');
    !text.chars().any(|c| acts(c) || c == '\u{202e}')
}

#[test]
fn a_terminal_sees_the_bytes_and_does_not_obey_them() {
    let program = news();
    for (words, wanted) in [
        (
            &["overview", "--dir", "news", "comp.test"][..],
            "\\x1b]0;mine\\x07\\xc2\\x9b31m \\xe2\\x80\\xaegpj",
        ),
        (&["history", "dump", "--dir", "news"], "<1@example.com>"),
        (&["group", "list", "--dir", "news"], "comp.test"),
        (
            &["article", "--dir", "news", "'<1@example.com>'"],
            "\\x1b]0;mine",
        ),
    ] {
        let Some(text) = on_a_terminal(&program, words) else {
            return;
        };
        assert!(is_plain(&text), "{text:?}");
        assert!(text.contains(wanted), "{words:?}: {text:?}");
    }
    // A pipe gets the row as NNTP sends it.
    let told = program.run(&["overview", "--dir", "news", "comp.test"]);
    assert!(told.out.contains(&format!("\t{BAD}\t")), "{told:?}");
}

#[test]
fn messages_and_the_log_have_no_controls() {
    let program = news();
    for words in [
        &["overview", "--dir", "news", BAD][..],
        &["group", "list", "--dir", BAD],
        &["article", "show", "--dir", "news", BAD],
        &["history", "find", "--dir", "news", BAD],
        &[BAD],
        &["overview", "--dir", "news", "comp.test", BAD],
    ] {
        let told = program.run(words);
        assert_ne!(told.status, 0, "{told:?}");
        assert!(!told.err.is_empty(), "{told:?}");
        assert!(is_plain(&told.err), "{told:?}");
    }
    // A reason that quotes a header.
    let bad = format!(
        "Path: far!{BAD}!user\nFrom: User <user@example.com>\nNewsgroups: {BAD}\nSubject: x\n\
         Message-ID: <{BAD}@example.com>\nDate: {BAD}\n\nhello\n"
    );
    program.rnews(&batch(&[bad.into_bytes()]));
    let log = program.read("news/log");
    assert!(log.lines().count() >= 2, "{log}");
    assert!(is_plain(&log), "{log:?}");
}
