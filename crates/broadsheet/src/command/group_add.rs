//! `broadsheet group add`

use std::ffi::OsStr;
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use cluster::group_change::Change;
use groups::times::GroupCreation;
use store::{GroupEdits, Spool};

use super::group_set::parse_flag;
use crate::cluster_log::ClusterLog;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, Operands};
use crate::group_flag;

/// A name that no group may have (RFC 5536, 3.1.4).
const POSTER: &[u8] = b"poster";

/// The table.
pub static COMMAND: Command = Command {
    words: &["group", "add"],
    also: &["addgroup"],
    summary: "add a group",
    about: "\
Adds a group to `active', `active.times' and, with --description, to `newsgroups'. Its name must be
valid by the rules for newgroup control messages.",
    operands: Operands {
        shown: "GROUP [FLAG]",
        least: 1,
        most: 2,
    },
    flags: &[
        DIR,
        Flag::new(
            "flag",
            "y open (the default), n no local posting, m moderated, x excluded, j junk, =GROUP alias.",
        )
        .value("FLAG"),
        Flag::new("description", "Description of the group in `newsgroups'.").value("TEXT"),
        Flag::new("creator", "Creator of the group in `active.times'.").value("WHO"),
        Flag::new(
            "any-name",
            "Accept a name that breaks the rules for new groups, as some names in old hierarchies do.",
        ),
    ],
    exits: &[Meaning {
        status: Status::NO,
        when: "the name or the flag is not allowed, or the group exists already",
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
    let text = given
        .value("flag")
        .or(given.operands.get(1).map(std::ffi::OsString::as_os_str));
    let flag = parse_flag(given, text.unwrap_or("y".as_ref()))?;
    for word in ["description", "creator"] {
        let is_a_line = |text: &OsStr| !text.as_encoded_bytes().iter().any(u8::is_ascii_control);
        if !given.value(word).is_none_or(is_a_line) {
            return Err(given
                .usage(format!("--{word} needs one line of text"))
                .into());
        }
    }
    if let Err(fault) = groups::name::check_new(name) {
        if !groups::name::is_safe(name) {
            eprintln!("broadsheet: {shown}: {fault}");
            return Ok(Status::NO);
        }
        if !given.has("any-name") {
            eprintln!("broadsheet: {shown}: {fault} (--any-name accepts such a name)");
            return Ok(Status::NO);
        }
    }
    if name == POSTER && !given.has("any-name") {
        eprintln!(
            "broadsheet: {shown} is reserved: in Followup-To it asks for replies by mail (RFC 5536, 3.1.4; --any-name accepts it)"
        );
        return Ok(Status::NO);
    }
    let creator = given.value("creator").unwrap_or("news".as_ref());
    let description = given.value("description").map(OsStr::as_encoded_bytes);
    let exists = || {
        eprintln!(
            "broadsheet: the group {shown} exists already; `broadsheet group set' changes its flag"
        );
        Ok(Status::NO)
    };
    if let Some(log) = ClusterLog::of(&directory)? {
        let active = directory.active()?;
        if active.find(name).is_some() {
            return exists();
        }
        if let Some(why) = group_flag::refusal(&active, name, flag) {
            eprintln!("broadsheet: {why}");
            return Ok(Status::NO);
        }
        let mut word = Vec::new();
        flag.push(&mut word);
        let mut changes = vec![
            Change::Set(name, &word),
            Change::Create(name, creator.as_encoded_bytes()),
        ];
        changes.extend(description.map(|text| Change::Describe(name, text)));
        log.change_groups(&changes, |active| active.find(name).is_some())?;
        return Ok(Status::OK);
    }
    let mut spool = Spool::open(directory.root(), options)?;
    crate::tell_all(spool.notices());
    if spool.active().find(name).is_some() {
        return exists();
    }
    if let Some(why) = group_flag::refusal(spool.active(), name, flag) {
        eprintln!("broadsheet: {why}");
        return Ok(Status::NO);
    }
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |age| age.as_secs());
    let edits = GroupEdits {
        descriptions: description
            .map(|text| (name, Some(text)))
            .into_iter()
            .collect(),
        creations: vec![GroupCreation {
            group: name,
            seconds,
            creator: creator.as_encoded_bytes(),
        }],
        ..GroupEdits::default()
    };
    spool.edit_groups(&edits)?;
    spool.set_group(name, flag)?;
    spool.commit()?;
    Ok(Status::OK)
}
