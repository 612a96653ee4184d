//! `broadsheet user passwd`

use std::io::Write;

use access::{Error, User, Users};

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands};
use crate::new_password;
use crate::user_edit::{NO_SCRAM, edit, name};

/// The table.
pub static COMMAND: Command = Command {
    words: &["user", "passwd"],
    also: &[],
    summary: "give a user another password",
    about: "\
The password is asked for on the terminal, twice, or read as one line from standard input. It counts
from the next login on; who is connected stays so.",
    operands: Operands {
        shown: "NAME",
        least: 1,
        most: 1,
    },
    flags: &[DIR, NO_SCRAM],
    exits: &[Meaning {
        status: Status::NO,
        when: "there is no such user, or the password cannot be one",
    }],
    run,
};

fn run(given: &Given, _: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let name = name(given)?;
    directory.settings()?;
    let users = Users::read(directory.root())?;
    let Some(mut made) = users.named(&name).cloned() else {
        eprintln!("broadsheet: there is no user `{name}'; `user list' shows them");
        return Ok(Status::NO);
    };
    let name = made.name.clone();
    let password = new_password::ask(&name)?;
    // Before the lock is taken: it takes its time.
    if let Err(refusal) = made.set_password(&password, !given.has("no-scram")) {
        eprintln!("broadsheet: {refusal}");
        return Ok(Status::NO);
    }
    edit(&directory, |users| {
        let Some(old) = users.named(&name) else {
            return Err(Error::Unfit(format!("there is no user `{name}' any more")));
        };
        let certificates = old.certificates.clone();
        users.change(User {
            certificates,
            ..made
        })
    })
}
