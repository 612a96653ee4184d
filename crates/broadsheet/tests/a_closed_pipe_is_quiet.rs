//! `broadsheet ... | head -1` must not complain.

use std::process::Command;

use crate::program;
use program::Program;

#[test]
fn nothing_is_said_when_the_reader_goes() {
    let program = Program::new();
    // The reader is gone before the program starts, so that its first write fails.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let child = Command::new(env!("CARGO_BIN_EXE_broadsheet"))
        .args(["limits"])
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
