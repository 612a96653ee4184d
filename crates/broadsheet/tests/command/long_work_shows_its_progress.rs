//! Long work tells a terminal how far it is, and nothing to a pipe.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::process::{Command, Stdio};

use program::Program;
use program::articles::many;
use program::feeding::file;

/// All output of a command on a terminal; `None` without script(1).
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
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output();
    match done {
        Ok(done) => Some(String::from_utf8_lossy(&done.stdout).into_owned()),
        Err(error) => {
            println!("skipped: progress on a terminal (script: {error})");
            None
        }
    }
}

#[test]
fn on_a_terminal_and_not_in_a_pipe() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    file(&program, "a", 50, 50_000);
    let mailbox: String = many("m", 5, "comp.test", 100)
        .iter()
        .map(|article| format!("From a@b\n{}\n", String::from_utf8_lossy(article)))
        .collect();
    program.write("mailbox", mailbox.as_bytes());
    for (words, works) in [
        (&["fsck", "--dir", "news"][..], &["checking "][..]),
        (
            &["history", "rebuild", "--dir", "news"],
            &["rebuilding ", "reading the log "],
        ),
        (&["backup", "--dir", "news", "copies"], &["copying "]),
        (&["status", "--dir", "news"], &[]),
        (&["restore", "--check", "copies"], &["verifying "]),
        (
            &["restore", "copies", "--dir", "again", "--run-as", "root"],
            &["restoring ", "rebuilding "],
        ),
        (
            &["import", "mbox", "--dir", "news", "mailbox"],
            &["articles, "],
        ),
    ] {
        let Some(text) = on_a_terminal(&program, words) else {
            return;
        };
        for work in works {
            // Of all, the rate; and the line is cleared.
            let at = text.find(work);
            let rest = at.map_or("", |at| text.get(at..).unwrap());
            assert!(rest.contains("B/s"), "{words:?}: {work}: {text:?}");
            assert!(rest.contains("\u{1b}[2K"), "{words:?}: {text:?}");
        }
        let is_shown = text.contains("B/s");
        assert_eq!(is_shown, !works.is_empty(), "{words:?}: {text:?}");
    }
    for words in [
        &["fsck", "--dir", "news"][..],
        &["history", "rebuild", "--dir", "news"],
        &["backup", "--dir", "news", "more"],
        &["restore", "--check", "copies"],
        &["restore", "copies", "--dir", "third", "--run-as", "root"],
        &["import", "mbox", "--dir", "news", "mailbox"],
    ] {
        let told = program.run(words);
        assert_eq!(told.status, 0, "{told:?}");
        assert_eq!(told.err, "", "{words:?}");
        assert!(!told.out.contains('\u{1b}'), "{told:?}");
    }
}
