//! `broadsheet group remove`

use std::io::Write;

use cluster::group_change::Change;
use groups::Active;
use store::{GroupEdits, Spool};

use crate::cluster_log::ClusterLog;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["group", "remove"],
    also: &["delgroup"],
    summary: "remove a group",
    about: "\
Removes a group from `active', `active.times' and `newsgroups'. Its articles stay until they expire;
cross-posted articles stay readable in their other groups. A group that has aliases is not removed:
remove them first, or change their flags.",
    operands: Operands {
        shown: "GROUP",
        least: 1,
        most: 1,
    },
    flags: &[DIR],
    exits: &[Meaning {
        status: Status::NO,
        when: "the group does not exist, is required, or has aliases",
    }],
    run,
};

fn run(given: &Given, _out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let options = directory.settings()?.settings.store_options();
    let Some(name) = given.operands.first() else {
        return Ok(Status::NO);
    };
    let shown = name.display();
    let name = name.as_encoded_bytes();
    if matches!(name, b"control" | b"junk") {
        eprintln!("broadsheet: the group {shown} is required and cannot be removed");
        return Ok(Status::NO);
    }
    let check = |active: &Active| {
        match (active.find(name), active.aliases_shown(name)) {
            (None, _) => eprintln!("broadsheet: the group {shown} does not exist"),
            (_, Some(aliases)) => eprintln!(
                "broadsheet: the group {shown} has aliases, which would lead nowhere: {aliases}; remove them first, or change their flags (`broadsheet group set')"
            ),
            (_, None) => return None,
        }
        Some(Status::NO)
    };
    if let Some(log) = ClusterLog::of(&directory)? {
        if let Some(status) = check(&directory.active()?) {
            return Ok(status);
        }
        log.change_groups(&[Change::Remove(name)], |active| {
            active.find(name).is_none()
        })?;
        return Ok(Status::OK);
    }
    let mut spool = Spool::open(directory.root(), options)?;
    crate::tell_all(spool.notices());
    if let Some(status) = check(spool.active()) {
        return Ok(status);
    }
    spool.remove_group(name)?;
    spool.commit()?;
    // A crash in between leaves a line too many.
    let edits = GroupEdits {
        descriptions: vec![(name, None)],
        removed: vec![name],
        ..GroupEdits::default()
    };
    spool.edit_groups(&edits)?;
    spool.commit()?;
    Ok(Status::OK)
}
