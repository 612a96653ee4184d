//! `broadsheet group list`

use std::ffi::OsStr;
use std::io::{self, Write};

use groups::{Active, GroupId};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::matcher::matcher;

/// The table.
pub static COMMAND: Command = Command {
    words: &["group", "list"],
    also: &[],
    summary: "list groups with their marks and flags",
    about: "\
Prints lines in the format of `active': group, high mark, low mark, flag. PATTERN is a subscription
list as in `sys', `comp,!comp.sys', or a wildmat, `comp.*,!comp.sys.*'.",
    operands: Operands {
        shown: "PATTERN",
        least: 0,
        most: 1,
    },
    flags: &[
        DIR,
        JSON,
        Flag::new(
            "wildmat",
            "PATTERN is a wildmat, as in INN: `comp.*,!comp.sys.*'. One with `*', `?' or `[' needs no flag.",
        ),
    ],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let active = NewsDirectory::meant(given)?.active()?;
    let pattern = given.operands.first().map(OsStr::new);
    let pattern = pattern.map(|text| matcher(given, text.as_encoded_bytes()));
    let pattern = pattern.transpose()?;
    for id in active.ids() {
        if pattern
            .as_ref()
            .is_none_or(|one| one.matches(active.name(id)))
        {
            given.print(
                &Group {
                    active: &active,
                    id,
                },
                out,
            )?;
        }
    }
    Ok(Status::OK)
}

/// A line of active.
struct Group<'a> {
    active: &'a Active,
    id: GroupId,
}

impl Group<'_> {
    fn flag(&self) -> Vec<u8> {
        let mut text = Vec::new();
        self.active.flag(self.id).push(&mut text);
        text
    }
}

impl Answer for Group<'_> {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let (active, id) = (self.active, self.id);
        out.write_all(active.name(id))?;
        write!(out, " {:010} {:05} ", active.high(id), active.low(id))?;
        out.write_all(&self.flag())?;
        out.write_all(b"\n")
    }

    fn json(&self) -> Value {
        json!({
            "group": groups::escaped(self.active.name(self.id)),
            "high": self.active.high(self.id),
            "low": self.active.low(self.id),
            "flag": groups::escaped(&self.flag()),
        })
    }
}
