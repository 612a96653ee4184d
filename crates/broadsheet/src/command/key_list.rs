//! `broadsheet key list`

use std::io::Write;

use relay::Keyring;

use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["key", "list"],
    also: &[],
    summary: "list the keys trusted for control messages",
    about: "\
Prints each key in the news directory: its id and first user id, fingerprint, algorithm and size,
the groups it is trusted for, and the weak hashes accepted in its signatures.",
    operands: Operands::NONE,
    flags: &[DIR, JSON],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    directory.settings()?;
    for trusted in &Keyring::read(directory.root())?.keys {
        given.print(trusted, out)?;
    }
    Ok(Status::OK)
}
