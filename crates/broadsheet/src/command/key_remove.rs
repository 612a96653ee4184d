//! `broadsheet key remove`

use std::io::Write;

use relay::Keyring;

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["key", "remove"],
    also: &[],
    summary: "remove a trusted key",
    about: "\
Removes a key from the news directory. KEY is its fingerprint, at least the last 8 digits of that or
of its id, or a whole user id, as `key list' shows them.",
    operands: Operands {
        shown: "KEY",
        least: 1,
        most: 1,
    },
    flags: &[DIR],
    exits: &[Meaning {
        status: Status::NO,
        when: "no key matches, or several do",
    }],
    run,
};

fn run(given: &Given, _out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    directory.settings()?;
    let Some(key) = given.operands.first().map(|key| key.to_string_lossy()) else {
        return Ok(Status::NO);
    };
    let keyring = Keyring::read(directory.root())?;
    match keyring.matching(&key)[..] {
        [trusted] => Keyring::remove(directory.root(), trusted)?,
        [] => {
            eprintln!("broadsheet: the key {key} does not exist; see `broadsheet key list'");
            return Ok(Status::NO);
        }
        ref several => {
            let fingerprints: Vec<_> = several.iter().map(|one| one.key().fingerprint()).collect();
            eprintln!(
                "broadsheet: {key} matches several keys: {}; give more digits",
                fingerprints.join(", ")
            );
            return Ok(Status::NO);
        }
    }
    Ok(Status::OK)
}
