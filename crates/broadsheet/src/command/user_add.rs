//! `broadsheet user add`

use std::io::Write;

use access::fingerprint;
use access::{User, Users};

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, Operands};
use crate::new_password;
use crate::user_edit::{NO_SCRAM, edit, new_name};

/// The table.
pub static COMMAND: Command = Command {
    words: &["user", "add"],
    also: &[],
    summary: "let somebody log in",
    about: "\
Adds a user who can log in over NNTP. The password is asked for on the terminal, twice, or read as one
line from standard input. Kept are what argon2id makes of it and, for SCRAM-SHA-256, what 50,000 rounds
of SHA-256 do, in the file users, which only its owner can read. It counts at once, without a reload.
Name and password are kept in the form of SASLprep (RFC 4013), so that it does not matter how a keyboard
makes a sign; what that forbids, as emoji, is refused.

What a user may do stands in the [[access]] tables of broadsheet.toml; `access explain' tells it.

  broadsheet user add anna
  broadsheet user add backup --no-password --certificate sha256:12ab...",
    operands: Operands {
        shown: "NAME",
        least: 1,
        most: 1,
    },
    flags: &[
        DIR,
        Flag::new(
            "certificate",
            "Fingerprints of TLS certificates that stand for the user (SASL EXTERNAL): `sha256:' and 64 hexadecimal digits, commas between them.",
        )
        .value("LIST"),
        Flag::new("no-password", "The user has a certificate only."),
        NO_SCRAM,
    ],
    exits: &[Meaning {
        status: Status::NO,
        when: "there is such a user already, the password cannot be one, or a certificate is somebody else's",
    }],
    run,
};

fn run(given: &Given, _: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let name = new_name(given)?;
    let list = given.value("certificate").unwrap_or_default();
    let list = list.to_string_lossy();
    let each = list.split(',').filter(|one| !one.is_empty());
    let certificates = each
        .map(|one| fingerprint(one).map_err(|what| given.usage(format!("`{one}' {what}"))))
        .collect::<Result<Vec<_>, _>>()?;
    let has_password = !given.has("no-password");
    if !has_password && certificates.is_empty() {
        return Err(given.usage("--no-password wants a --certificate").into());
    }
    directory.settings()?;
    if Users::read(directory.root())?.named(&name).is_some() {
        eprintln!(
            "broadsheet: there is a user `{name}' already; `user passwd' gives another password"
        );
        return Ok(Status::NO);
    }
    let mut user = User {
        name,
        password: None,
        scram: None,
        certificates,
    };
    if has_password {
        let password = new_password::ask(&user.name)?;
        if let Err(refusal) = user.set_password(&password, !given.has("no-scram")) {
            eprintln!("broadsheet: {refusal}");
            return Ok(Status::NO);
        }
    }
    edit(&directory, |users| users.add(user))
}
