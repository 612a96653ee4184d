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
    summary: "list the keys trusted with control messages",
    about: "\
Prints each key of the news directory: its id and first name, fingerprint, algorithm and size, the
groups it may speak for, and the weak hashes that its signatures may be made over.",
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
