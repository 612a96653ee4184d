//! `broadsheet reload`

use std::io::Write;

use crate::daemon::client;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["reload"],
    also: &[],
    summary: "let the daemon read its settings again",
    about: "\
The daemon reads broadsheet.toml, sys and the certificate again, all or nothing: where there is a fault it
is told, and the settings stay as they were. An `active' that was edited is taken up too. Addresses to
listen at, nntp.threads and nntp.metrics take a new start of the daemon; where they have changed it says so.",
    operands: Operands::NONE,
    flags: &[DIR],
    exits: &[
        Meaning {
            status: Status::OK,
            when: "the new settings are in force",
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
    let Some((told, status)) = client::reload(directory.root())? else {
        eprintln!(
            "broadsheet: no daemon serves {}",
            directory.root().display()
        );
        return Ok(Status::NO);
    };
    for text in told {
        eprintln!("broadsheet: {text}");
    }
    Ok(Status::told(status))
}
