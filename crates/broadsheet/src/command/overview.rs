//! `broadsheet overview`

use std::ffi::OsStr;
use std::io::Write;

use store::Reader;

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands};

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
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let (Some(group), range) = (given.operands.first(), given.operands.get(1)) else {
        return Ok(Status::NO);
    };
    let range = match range {
        Some(text) => parse_range(text).ok_or_else(|| {
            given.usage(format!(
                "a range is `7', `1-50' or `100-', not `{}'",
                text.display()
            ))
        })?,
        None => (0, u64::MAX),
    };
    let reader = Reader::open(directory.root())?;
    if reader.active().find(group.as_encoded_bytes()).is_none() {
        eprintln!("broadsheet: no group {}", group.display());
        return Ok(Status::NO);
    }
    reader.overview(group.as_encoded_bytes(), range, |row| {
        out.write_all(row.text)
    })?;
    Ok(Status::OK)
}

/// RFC 3977, 6.1.1.1: a number, `low-high`, or `low-`.
fn parse_range(text: &OsStr) -> Option<(u64, u64)> {
    let text = text.to_str()?;
    match text.split_once('-') {
        None => text.parse().ok().map(|number| (number, number)),
        Some((low, "")) => Some((low.parse().ok()?, u64::MAX)),
        Some((low, high)) => Some((low.parse().ok()?, high.parse().ok()?)),
    }
}
