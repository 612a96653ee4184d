//! `broadsheet group set`

use super::not_built;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["group", "set"],
    also: &[],
    summary: "change a group's flag",
    about: "\
FLAG is y open, n no local posting, m moderated, x excluded, j junk, or =GROUP, an alias.",
    operands: Operands {
        shown: "GROUP FLAG",
        least: 2,
        most: 2,
    },
    flags: &[DIR],
    exits: &[Meaning {
        status: Status::NO,
        when: "there is no such group, or the alias would loop",
    }],
    run: |given, _out| not_built(given),
};
