//! `broadsheet intake show`

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::asked;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, JSON, Operands};
use daemon::{Intake, client};

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
    exits: &[asked::NO_DAEMON],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let Some(daemon) = client::owners_status(directory.root())? else {
        return asked::told_none(directory.root(), false);
    };
    given.print(&daemon.status.intake, out)?;
    Ok(Status::OK)
}

impl Answer for Intake {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", self.sentence())
    }

    fn json(&self) -> Value {
        json!(self)
    }
}
