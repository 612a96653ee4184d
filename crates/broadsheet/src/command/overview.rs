//! `broadsheet overview`

use super::not_built;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["overview"],
    also: &[],
    summary: "print a group's overview rows",
    about: "\
Prints the rows as NNTP OVER would send them (RFC 3977, 8.3): number, Subject, From, Date,
Message-ID, References, bytes, lines, parted by tabs. RANGE is one number, `1-50', or `100-'.",
    operands: Operands {
        shown: "GROUP [RANGE]",
        least: 1,
        most: 2,
    },
    flags: &[DIR],
    exits: &[Meaning {
        status: Status::NO,
        when: "there is no such group",
    }],
    run: |given, _out| not_built(given),
};
