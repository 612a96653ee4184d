//! `broadsheet explain`

use super::not_built;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["explain"],
    also: &[],
    summary: "say what rnews would do with an article, and why",
    about: "\
Reads one article from FILE or standard input and prints its id, date, groups, hops and the
verdict in the log's own words. Nothing is changed.",
    operands: Operands {
        shown: "FILE",
        least: 0,
        most: 1,
    },
    flags: &[DIR, JSON],
    exits: &[Meaning {
        status: Status::NO,
        when: "the article would be refused",
    }],
    run: |given, _out| not_built(given),
};
