//! `broadsheet key list`

use std::io::Write;

use relay::Keyring;

use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::key_report;

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
        match given.has("json") {
            true => writeln!(out, "{}", key_report::json(trusted))?,
            false => key_report::write_text(out, trusted)?,
        }
    }
    Ok(Status::OK)
}
