//! `broadsheet overview`

use std::ffi::OsStr;
use std::io::Write;

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["overview"],
    also: &[],
    summary: "print the overview rows of a group",
    about: "\
Prints the rows that NNTP OVER would send (RFC 3977, 8.3): number, Subject, From, Date, Message-ID,
References, bytes, lines, separated by tabs. RANGE is a number, `1-50', or `100-'.",
    operands: Operands {
        shown: "GROUP [RANGE]",
        least: 1,
        most: 2,
    },
    flags: &[DIR],
    exits: &[Meaning {
        status: Status::NO,
        when: "the group does not exist",
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
                "RANGE must be like `7', `1-50' or `100-', not `{}'",
                text.display()
            ))
        })?,
        None => (0, u64::MAX),
    };
    let snapshot = directory.snapshot()?;
    if snapshot.active().find(group.as_encoded_bytes()).is_none() {
        eprintln!("broadsheet: the group {} does not exist", group.display());
        return Ok(Status::NO);
    }
    // An error of the output is no error of the store.
    let mut failed = None;
    let walked = snapshot.overview(group.as_encoded_bytes(), range, |row| {
        out.write_all(row.text).map_err(|error| {
            let kind = error.kind();
            failed = Some(error);
            kind.into()
        })
    });
    match failed {
        Some(error) => Err(error.into()),
        None => Ok(walked.map(|()| Status::OK)?),
    }
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
