//! `broadsheet user list`

use std::io::Write;

use access::fingerprint_text;
use access::{User, Users};
use serde_json::json;

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
        let certificates: Vec<String> = user.certificates.iter().map(fingerprint_text).collect();
        match given.has("json") {
            true => {
                let line = json!({
                    "user": user.name,
                    "password": user.password.is_some(),
                    "scram": user.scram.is_some(),
                    "certificates": certificates,
                });
                writeln!(out, "{line}")?;
            }
            false => writeln!(out, "{}: {}", user.name, ways(user, &certificates))?,
        }
    }
    Ok(Status::OK)
}

fn ways(user: &User, certificates: &[String]) -> String {
    let mut ways = Vec::new();
    if user.password.is_some() {
        ways.push("password".to_owned());
    }
    if user.scram.is_some() {
        ways.push("SCRAM-SHA-256".to_owned());
    }
    ways.extend(certificates.iter().cloned());
    match ways.is_empty() {
        true => "cannot log in".to_owned(),
        false => ways.join(", "),
    }
}
