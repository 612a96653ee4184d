//! `broadsheet user list`

use std::io::{self, Write};

use access::{User, Users, fingerprint_text};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["user", "list"],
    also: &[],
    summary: "list the users, and how each can log in",
    about: "\
Prints each user with the ways to log in: password, SCRAM (a proof that the client knows the
password), certificates. With --json, an object a line.",
    operands: Operands::NONE,
    flags: &[DIR, JSON],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    directory.settings()?;
    for user in Users::read(directory.root())?.iter() {
        given.print(user, out)?;
    }
    Ok(Status::OK)
}

impl Answer for User {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let ways = [
            self.password.as_ref().map(|_| "password".to_owned()),
            self.scram.as_ref().map(|_| "SCRAM-SHA-256".to_owned()),
        ];
        let ways = ways.into_iter().flatten();
        let ways: Vec<String> = ways.chain(fingerprints(self)).collect();
        match ways.is_empty() {
            true => writeln!(out, "{}: cannot log in", self.name),
            false => writeln!(out, "{}: {}", self.name, ways.join(", ")),
        }
    }

    fn json(&self) -> Value {
        json!({
            "user": self.name,
            "password": self.password.is_some(),
            "scram": self.scram.is_some(),
            "certificates": fingerprints(self).collect::<Vec<_>>(),
        })
    }
}

fn fingerprints(user: &User) -> impl Iterator<Item = String> {
    user.certificates.iter().map(fingerprint_text)
}
