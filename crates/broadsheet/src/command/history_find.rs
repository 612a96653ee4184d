//! `broadsheet history find`

use super::not_built;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["history", "find"],
    also: &[],
    summary: "look up Message-IDs",
    about: "\
Prints the history line of each id: the id, arrival~expires~size, and group/number for each
group it is filed in. A line without groups is an article seen but not kept.",
    operands: Operands {
        shown: "ID...",
        least: 1,
        most: usize::MAX,
    },
    flags: &[DIR, JSON],
    exits: &[Meaning {
        status: Status::NO,
        when: "an id is unknown",
    }],
    run: |given, _out| not_built(given),
};
