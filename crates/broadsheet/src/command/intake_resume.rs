//! `broadsheet intake resume`

use std::io::Write;

use crate::asked;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, Operands};
use daemon::client;

/// The table.
pub static COMMAND: Command = Command {
    words: &["intake", "resume"],
    also: &[],
    summary: "accept articles over NNTP again",
    about: "\
Ends an `intake pause'.",
    operands: Operands::NONE,
    flags: &[DIR],
    exits: &[asked::NO_DAEMON],
    run,
};

fn run(given: &Given, _: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    asked::told_none(directory.root(), client::pause(directory.root(), None)?)
}
