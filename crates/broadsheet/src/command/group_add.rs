//! `broadsheet group add`

use super::not_built;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["group", "add"],
    also: &[],
    summary: "add a group",
    about: "\
Adds one group to `active', `active.times' and, with --description, to `newsgroups'. The name
must follow the rules that newgroup control messages follow.",
    operands: Operands { shown: "GROUP", least: 1, most: 1 },
    flags: &[DIR, Flag::new("flag", "y open (without this flag), n no local posting, m moderated, x excluded, j junk, =GROUP alias.").value("FLAG"), Flag::new("description", "The line for the newsgroups file.").value("TEXT"), Flag::new("creator", "Who asked for it, for active.times.").value("WHO")],
    exits: &[Meaning { status: Status::NO, when: "the name is not allowed, or the group is there already" }],
    run: |given, _out| not_built(given),
};
