//! `broadsheet history import`

use super::not_built;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["history", "import"],
    also: &[],
    summary: "take over the history of another news system",
    about: "\
Reads the text history file of C News or INN (old human dates are understood) and remembers
its ids, so that their articles are refused as duplicates. No articles are copied.",
    operands: Operands {
        shown: "FILE",
        least: 1,
        most: 1,
    },
    flags: &[DIR],
    exits: &[Meaning {
        status: Status::NO,
        when: "lines of FILE could not be read; each is named",
    }],
    run: |given, _out| not_built(given),
};
