//! `broadsheet intake show`

use std::io::Write;

use crate::daemon::client;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["intake", "show"],
    also: &[],
    summary: "show whether articles are accepted over NNTP",
    about: "\
Prints the state and its reason: open; paused by an administrator; stopped after an error (the
daemon retries soon); full, while less than [nntp] keep_free is free on the disk.",
    operands: Operands::NONE,
    flags: &[DIR, JSON],
    exits: &[client::NO_DAEMON],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let Some(doing) = client::status(directory.root()) else {
        return client::told_none(directory.root(), false);
    };
    let intake = &doing.watched.intake;
    match (given.has("json"), intake.why.is_empty()) {
        (true, _) => writeln!(out, "{}", serde_json::to_string(intake)?)?,
        (false, true) => writeln!(out, "{}", intake.state)?,
        (false, false) => writeln!(out, "{}: {}", intake.state, intake.why)?,
    }
    Ok(Status::OK)
}
