//! `broadsheet reload`

use std::io::Write;

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands};
use daemon::client;

/// The table.
pub static COMMAND: Command = Command {
    words: &["reload"],
    also: &[],
    summary: "make the daemon reload its settings",
    about: "\
The daemon reads broadsheet.toml, sys, blocks and the certificate again, all or nothing: if one has an
error, the error is reported and the old settings stay in force. So they do if a file has an error that
is read only when it is needed: explist, batchparms, mailpaths, moderators, users, control.ctl,
controlperm or a key. Changes to `active' are read as well. The addresses to listen at, nntp.threads and nntp.metrics change only with a restart of the
daemon; if they differ, that is reported. On a node of a cluster, settings by which all nodes decide are
put in force by `broadsheet cluster apply'.",
    operands: Operands::NONE,
    flags: &[DIR],
    exits: &[
        Meaning {
            status: Status::OK,
            when: "the new settings are in force",
        },
        Meaning {
            status: Status::NO,
            when: "no daemon is running",
        },
        Meaning {
            status: Status::ATTENTION,
            when: "the new settings are in force, but bad lines of `active' count for nothing",
        },
    ],
    run,
};

fn run(given: &Given, _: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let Some((told, status)) = client::reload(directory.root())? else {
        eprintln!(
            "broadsheet: no daemon is running for {}",
            directory.root().display()
        );
        return Ok(Status::NO);
    };
    for text in told {
        eprintln!("broadsheet: {text}");
    }
    Ok(Status::told(status))
}
