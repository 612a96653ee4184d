//! `broadsheet ... | head -1` must not complain.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

use std::process::Command;

use crate::program;
use program::Program;
use program::articles::{batch, many};

#[test]
fn nothing_is_said_when_the_reader_goes() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    // More rows than the buffer of the output has room for.
    let told = program.rnews(&batch(&many("a", 1000, "comp.test", 10)));
    assert_eq!(told.count("accepted"), 1000, "{told:?}");
    for words in [&["limits"][..], &["overview", "--dir", "news", "comp.test"]] {
        is_quiet(&program, words);
    }
}

fn is_quiet(program: &Program, words: &[&str]) {
    // The reader is gone before the program starts, so that its first write fails.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let child = Command::new(env!("CARGO_BIN_EXE_broadsheet"))
        .args(words)
        .current_dir(program.path("."))
        .env_remove("BROADSHEET_DIR")
        .stdout(writer)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(141));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
