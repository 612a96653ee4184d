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
    summary: "add a user who can log in",
    about: "\
Adds a user who can log in over NNTP. The password is read from the terminal, twice, or as one line
from standard input; it has at least 8 characters. The file `users', which only its owner can read, stores the argon2id hash of
the password and, for SCRAM-SHA-256, a verifier made with 50,000 iterations. The user can log in at
once, without a reload. Name and password are normalized with SASLprep (RFC 4013), so that equal
characters from different keyboards match; characters that it forbids, such as emoji, are rejected.

The permissions of a user are in the [[access]] tables of broadsheet.toml; `access explain' shows
them.

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
            "Fingerprints of TLS certificates that the user can log in with (SASL EXTERNAL): `sha256:' and 64 \
            hexadecimal digits, separated by commas.",
        )
        .value("LIST"),
        Flag::new("no-password", "The user can log in only with a certificate."),
        NO_SCRAM,
    ],
    exits: &[Meaning {
        status: Status::NO,
        when: "the user exists already, the password is not valid, or another user has the certificate",
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
        return Err(given.usage("--no-password needs --certificate").into());
    }
    directory.settings()?;
    if Users::read(directory.root())?.named(&name).is_some() {
        eprintln!(
            "broadsheet: the user `{name}' exists already; `user passwd' changes the password"
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
