//! `broadsheet group list`

use super::not_built;
use crate::flags::{Command, DIR, Flag, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["group", "list"],
    also: &[],
    summary: "list groups with their marks and flags",
    about: "\
Prints lines as in `active': group, high mark, low mark, flag. PATTERN is a subscription list
as in `sys': `comp,!comp.sys'.",
    operands: Operands {
        shown: "PATTERN",
        least: 0,
        most: 1,
    },
    flags: &[
        DIR,
        JSON,
        Flag::new("wildmat", "PATTERN is in INN's language."),
    ],
    exits: &[],
    run: |given, _out| not_built(given),
};
