//! `broadsheet group set`

use std::ffi::OsStr;
use std::io::Write;

use cluster::group_change::Change;
use groups::{Active, Flag};
use store::Spool;

use crate::cluster_log::{ClusterLog, leads_somewhere};
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
    if let Some(log) = ClusterLog::of(&directory)? {
        return set_in_cluster(&log, &directory.active()?, name, flag);
    }
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

fn set_in_cluster(
    log: &ClusterLog<'_>,
    active: &Active,
    name: &OsStr,
    flag: Flag<'_>,
) -> anyhow::Result<Status> {
    let shown = name.display();
    let name = name.as_encoded_bytes();
    if active.find(name).is_none() {
        eprintln!("broadsheet: the group {shown} does not exist");
        return Ok(Status::NO);
    }
    if !leads_somewhere(active, name, flag) {
        eprintln!("broadsheet: {shown}: the alias names no existing group, or is a loop");
        return Ok(Status::NO);
    }
    let mut word = Vec::new();
    flag.push(&mut word);
    log.change_groups(&[Change::Set(name, &word)], |active| {
        active
            .find(name)
            .is_some_and(|group| active.flag(group) == flag)
    })?;
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
