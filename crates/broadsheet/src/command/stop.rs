//! `broadsheet stop`

use std::io::Write;

use crate::daemon::client;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["stop"],
    also: &[],
    summary: "end the daemon",
    about: "Ends when the daemon has ended, which first files the batch in hand to its end.",
    operands: Operands::NONE,
    flags: &[DIR],
    exits: &[
        Meaning {
            status: Status::OK,
            when: "the daemon has ended",
        },
        Meaning {
            status: Status::NO,
            when: "no daemon runs",
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
        "broadsheet: no daemon serves {}",
        directory.root().display()
    );
    Ok(Status::NO)
}
