//! `broadsheet group set`

use std::ffi::OsStr;
use std::io::Write;

use cluster::group_change::Change;
use groups::Active;
use store::Spool;

use crate::cluster_log::ClusterLog;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands, UsageError};
use crate::group_flag;

/// The table.
pub static COMMAND: Command = Command {
    words: &["group", "set"],
    also: &["newsflag"],
    summary: "change the flag of a group",
    about: "\
FLAG is y open, n no local posting, m moderated, x excluded, j junk, or =GROUP, an alias. The group
control, in which control messages are filed, must be y, n or m.",
    operands: Operands {
        shown: "GROUP FLAG",
        least: 2,
        most: 2,
    },
    flags: &[DIR],
    exits: &[Meaning {
        status: Status::NO,
        when: "the group does not exist, control may not have the flag, or the alias would be a loop",
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
    let (shown, name) = (name.display(), name.as_encoded_bytes());
    let check = |active: &Active| {
        let why = match active.find(name) {
            None => format!("the group {shown} does not exist"),
            Some(_) => group_flag::refusal(active, name, flag)?,
        };
        eprintln!("broadsheet: {why}");
        Some(Status::NO)
    };
    if let Some(log) = ClusterLog::of(&directory)? {
        if let Some(status) = check(&directory.active()?) {
            return Ok(status);
        }
        let mut word = Vec::new();
        flag.push(&mut word);
        log.change_groups(&[Change::Set(name, &word)], |active| {
            active
                .find(name)
                .is_some_and(|group| active.flag(group) == flag)
        })?;
        return Ok(Status::OK);
    }
    let mut spool = Spool::open(directory.root(), options)?;
    crate::tell_all(spool.notices());
    if let Some(status) = check(spool.active()) {
        return Ok(status);
    }
    spool.set_group(name, flag)?;
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
