//! `broadsheet history dump`

use super::not_built;
use crate::flags::{Command, DIR, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["history", "dump"],
    also: &[],
    summary: "print the whole history as text",
    about: "\
One line an article in the classic form, oldest first.",
    operands: Operands::NONE,
    flags: &[DIR],
    exits: &[],
    run: |given, _out| not_built(given),
};
