//! `broadsheet group set`

use std::ffi::OsStr;
use std::io::Write;

use store::Spool;

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands, UsageError};

/// The table.
pub static COMMAND: Command = Command {
    words: &["group", "set"],
    also: &["newsflag"],
    summary: "change the flag of a group",
    about: "\
FLAG is y open, n no local posting, m moderated, x excluded, j junk, or =GROUP, an alias.",
    operands: Operands {
        shown: "GROUP FLAG",
        least: 2,
        most: 2,
    },
    flags: &[DIR],
    exits: &[Meaning {
        status: Status::NO,
        when: "the group does not exist, or the alias would be a loop",
    }],
    run,
};

fn run(given: &Given, _out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let options = directory.settings()?.settings.store_options();
    let [name, flag] = given.operands.as_slice() else {
        return Ok(Status::NO);
    };
    let flag = parse_flag(given, flag)?;
    let mut spool = Spool::open(directory.root(), options)?;
    let Some(id) = spool.active().find(name.as_encoded_bytes()) else {
        eprintln!("broadsheet: the group {} does not exist", name.display());
        return Ok(Status::NO);
    };
    spool.set_group(name.as_encoded_bytes(), flag)?;
    if spool.active().resolve(id).is_none() {
        // Nothing was committed, so nothing has changed.
        eprintln!(
            "broadsheet: {}: the alias names no existing group, or is a loop",
            name.display()
        );
        return Ok(Status::NO);
    }
    spool.commit()?;
    Ok(Status::OK)
}

/// The flag a word stands for.
pub fn parse_flag<'a>(given: &Given, text: &'a OsStr) -> Result<groups::Flag<'a>, UsageError> {
    groups::Flag::parse(text.as_encoded_bytes()).ok_or_else(|| {
        given.usage(format!(
            "FLAG must be y, n, m, x, j or =GROUP, not `{}'",
            text.display()
        ))
    })
}
