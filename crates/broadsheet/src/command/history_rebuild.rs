//! `broadsheet history rebuild`

use super::not_built;
use crate::flags::{Command, DIR, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["history", "rebuild"],
    also: &[],
    summary: "make history and index again from the articles",
    about: "\
The articles in segments/ are the truth; history, overview and index are derived from them.",
    operands: Operands::NONE,
    flags: &[DIR],
    exits: &[],
    run: |given, _out| not_built(given),
};
