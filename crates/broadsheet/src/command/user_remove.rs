//! `broadsheet user remove`

use std::io::Write;

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands};
use crate::user_edit::{edit, name};

/// The table.
pub static COMMAND: Command = Command {
    words: &["user", "remove"],
    also: &[],
    summary: "remove a user",
    about: "\
Removes a user from the file `users'. Open connections of the user are not closed.",
    operands: Operands {
        shown: "NAME",
        least: 1,
        most: 1,
    },
    flags: &[DIR],
    exits: &[Meaning {
        status: Status::NO,
        when: "the user does not exist",
    }],
    run,
};

fn run(given: &Given, _: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let name = name(given)?;
    directory.settings()?;
    edit(&directory, |users| users.remove(&name))
}
