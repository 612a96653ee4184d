//! `broadsheet group remove`

use super::not_built;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["group", "remove"],
    also: &[],
    summary: "remove a group",
    about: "\
Takes the group out of `active', `active.times' and `newsgroups'. Its articles stay until they
expire; those cross-posted elsewhere stay readable there.",
    operands: Operands {
        shown: "GROUP",
        least: 1,
        most: 1,
    },
    flags: &[DIR],
    exits: &[Meaning {
        status: Status::NO,
        when: "there is no such group",
    }],
    run: |given, _out| not_built(given),
};
