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
    summary: "trust a key no more",
    about: "\
Takes a key out of the news directory. KEY is its fingerprint, the last 8 or more digits of that or of
its id, or a whole name, as `key list' shows them.",
    operands: Operands {
        shown: "KEY",
        least: 1,
        most: 1,
    },
    flags: &[DIR],
    exits: &[Meaning {
        status: Status::NO,
        when: "there is no such key, or there are several",
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
    match keyring.meant_by(&key)[..] {
        [trusted] => Keyring::remove(directory.root(), trusted)?,
        [] => {
            eprintln!("broadsheet: no key {key}; see `broadsheet key list'");
            return Ok(Status::NO);
        }
        ref several => {
            let fingerprints: Vec<_> = several.iter().map(|one| one.key().fingerprint()).collect();
            eprintln!(
                "broadsheet: {key} may be any of {}; say which",
                fingerprints.join(", ")
            );
            return Ok(Status::NO);
        }
    }
    Ok(Status::OK)
}
