//! `broadsheet group match`

use std::ffi::OsStr;
use std::io::{self, Write};

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, Flag, Given, JSON, Operands};
use crate::matcher::matcher;

/// The table.
pub static COMMAND: Command = Command {
    words: &["group", "match"],
    also: &[],
    summary: "show which groups a pattern matches",
    about: "\
Prints a line for each GROUP: the word `match' or `fail', a tab, the group. PATTERN is a list as in
`sys' and `explist': `comp,!comp.sys'. GROUP may be a list as in Newsgroups; it matches if one of
its groups does.

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
            "PATTERN is a wildmat, as in INN: `comp.*,!comp.sys.*'. One with `*', `?' or `[' needs no flag.",
        ),
    ],
    exits: &[
        Meaning {
            status: Status::OK,
            when: "all of them match",
        },
        Meaning {
            status: Status::NO,
            when: "at least one does not match",
        },
    ],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let Some((pattern, names)) = given.operands.split_first() else {
        return Ok(Status::NO);
    };
    let matcher = matcher(given, pattern.as_encoded_bytes())?;
    let mut status = Status::OK;
    for name in names {
        let matches = matcher.matches_any(name.as_encoded_bytes());
        if !matches {
            status = Status::NO;
        }
        given.print(&GroupMatch { name, matches }, out)?;
    }
    Ok(status)
}

/// Whether a group name matches the pattern.
struct GroupMatch<'a> {
    name: &'a OsStr,
    matches: bool,
}

impl Answer for GroupMatch<'_> {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let verdict = if self.matches { "match" } else { "fail" };
        writeln!(out, "{verdict}\t{}", self.name.display())
    }

    fn json(&self) -> Value {
        json!({ "group": groups::escaped(self.name.as_encoded_bytes()), "match": self.matches })
    }
}
