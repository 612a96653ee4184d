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
    summary: "change the password of a user",
    about: "\
The password is read from the terminal, twice, or as one line from standard input; it has at least
8 characters. It applies from the next login; open connections are not affected.",
    operands: Operands {
        shown: "NAME",
        least: 1,
        most: 1,
    },
    flags: &[DIR, NO_SCRAM],
    exits: &[Meaning {
        status: Status::NO,
        when: "the user does not exist, or the password is not valid",
    }],
    run,
};

fn run(given: &Given, _: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let name = name(given)?;
    directory.settings()?;
    let users = Users::read(directory.root())?;
    let Some(mut made) = users.named(&name).cloned() else {
        eprintln!("broadsheet: the user `{name}' does not exist; see `user list'");
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
            return Err(Error::Unfit(format!("the user `{name}' no longer exists")));
        };
        let certificates = old.certificates.clone();
        users.change(User {
            certificates,
            ..made
        })
    })
}
