//! `broadsheet stop`

use std::io::Write;

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands};
use daemon::client;

/// The table.
pub static COMMAND: Command = Command {
    words: &["stop"],
    also: &[],
    summary: "stop the daemon",
    about: "\
Returns when the daemon has exited. It files the current batch to its end first.",
    operands: Operands::NONE,
    flags: &[DIR],
    exits: &[
        Meaning {
            status: Status::OK,
            when: "the daemon has exited",
        },
        Meaning {
            status: Status::NO,
            when: "no daemon is running",
        },
    ],
    run,
};

fn run(given: &Given, _: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    if client::stop(directory.root())? {
        return Ok(Status::OK);
    }
    eprintln!(
        "broadsheet: no daemon is running for {}",
        directory.root().display()
    );
    Ok(Status::NO)
}
