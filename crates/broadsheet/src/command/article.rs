//! `broadsheet article`

use super::not_built;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["article"],
    also: &[],
    summary: "print an article as it was filed",
    about: "\
Finds an article by its Message-ID or by group and number and prints it, byte for byte as it
was filed: with our name in front of Path and the Xref written here. Give the brackets of a
Message-ID, and quote it for the shell:

  broadsheet article '<1993Apr5.1234@news.example.org>'
  broadsheet article comp.lang.c/123",
    operands: Operands {
        shown: "ID|GROUP/NUMBER...",
        least: 1,
        most: usize::MAX,
    },
    flags: &[
        DIR,
        Flag::new(
            "wire",
            "In wire form: lines end in CRLF and leading dots are doubled, as NNTP sends it.",
        ),
    ],
    exits: &[Meaning {
        status: Status::NO,
        when: "there is no such article",
    }],
    run: |given, _out| not_built(given),
};
