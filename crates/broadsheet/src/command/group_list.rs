//! `broadsheet group list`

use std::io::Write;

use groups::Active;

use super::group_match::matcher;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["group", "list"],
    also: &[],
    summary: "list groups with their marks and flags",
    about: "\
Prints lines in the format of `active': group, high mark, low mark, flag. PATTERN is a subscription
list as in `sys': `comp,!comp.sys'.",
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
            "PATTERN is a wildmat, as in INN: `comp.*,!comp.sys.*'.",
        ),
    ],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let active = directory.active()?;
    let pattern = given
        .operands
        .first()
        .map(|text| matcher(given, text.as_encoded_bytes()));
    for id in active.ids() {
        if pattern
            .as_ref()
            .is_some_and(|pattern| !pattern.matches(active.name(id)))
        {
            continue;
        }
        if given.has("json") {
            writeln!(out, "{}", json(&active, id))?;
        } else {
            out.write_all(active.name(id))?;
            write!(out, " {:010} {:05} ", active.high(id), active.low(id))?;
            out.write_all(&flag(&active, id))?;
            out.write_all(b"\n")?;
        }
    }
    Ok(Status::OK)
}

fn flag(active: &Active, id: groups::GroupId) -> Vec<u8> {
    let mut text = Vec::new();
    active.flag(id).push(&mut text);
    text
}

fn json(active: &Active, id: groups::GroupId) -> serde_json::Value {
    serde_json::json!({
        "group": String::from_utf8_lossy(active.name(id)),
        "high": active.high(id),
        "low": active.low(id),
        "flag": String::from_utf8_lossy(&flag(active, id)),
    })
}
