//! `broadsheet fsck`

use super::not_built;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["fsck"],
    also: &[],
    summary: "verify every file of the store",
    about: "\
Checks each article's checksum and compares history, overview, index and `active' with the
articles.",
    operands: Operands::NONE,
    flags: &[
        DIR,
        JSON,
        Flag::new(
            "repair",
            "Rebuild what is damaged from the articles, where that is possible.",
        ),
    ],
    exits: &[Meaning {
        status: Status::NO,
        when: "damage was found, and not or not wholly repaired",
    }],
    run: |given, _out| not_built(given),
};
