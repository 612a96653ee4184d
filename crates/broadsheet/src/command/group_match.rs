//! `broadsheet group match`

use super::not_built;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, Flag, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["group", "match"],
    also: &[],
    summary: "say which groups a pattern matches",
    about: "\
Prints a line for each GROUP: the word `match' or `fail', a tab, the group. PATTERN is a list as
in `sys' and `explist': `comp,!comp.sys'.

  broadsheet group match 'comp,!comp.sys' comp.lang.c comp.sys.mac",
    operands: Operands {
        shown: "PATTERN GROUP...",
        least: 2,
        most: usize::MAX,
    },
    flags: &[
        JSON,
        Flag::new(
            "wildmat",
            "PATTERN is in INN's language: `comp.*,!comp.sys.*'.",
        ),
    ],
    exits: &[
        Meaning {
            status: Status::OK,
            when: "all of them match",
        },
        Meaning {
            status: Status::NO,
            when: "at least one does not",
        },
    ],
    run: |given, _out| not_built(given),
};
