//! `broadsheet version`, also `--version`.

use crate::exit::Status;
use crate::flags::{Command, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["version"],
    also: &[],
    summary: "print the version",
    about: "Also `broadsheet --version'.",
    operands: Operands::NONE,
    flags: &[],
    exits: &[],
    run: |_given, out| {
        writeln!(out, "broadsheet {}", env!("CARGO_PKG_VERSION"))?;
        Ok(Status::OK)
    },
};
