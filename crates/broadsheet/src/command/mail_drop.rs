//! `broadsheet mail drop`

use std::io::Write;

use inject::mail_queue;

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["mail", "drop"],
    also: &[],
    summary: "remove waiting mail without sending it",
    about: "\
Removes each mail NAME of `mail list' from mail.queue/. Its post is lost, unless the poster has it, who
gets no message about it. The log gets a line.",
    operands: Operands {
        shown: "NAME...",
        least: 1,
        most: usize::MAX,
    },
    flags: &[DIR],
    exits: &[Meaning {
        status: Status::NO,
        when: "there is no mail NAME, or it is being sent, or was sent meanwhile",
    }],
    run,
};

fn run(given: &Given, _: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    directory.settings()?;
    let waiting = mail_queue::list(directory.root())?;
    let mut status = Status::OK;
    for name in &given.operands {
        let Some(mail) = waiting.iter().find(|mail| **name == *mail.name()) else {
            let name = name.display();
            eprintln!("broadsheet: no mail {name} waits: see `broadsheet mail list'");
            status = Status::NO;
            continue;
        };
        match mail.drop_unsent() {
            Err(mail_queue::Error::Busy) => {
                let name = mail.name();
                eprintln!("broadsheet: {name} is being sent by another process");
                status = Status::NO;
            }
            dropped => {
                if !dropped? {
                    eprintln!("broadsheet: {} was sent meanwhile", mail.name());
                    status = Status::NO;
                }
            }
        }
    }
    Ok(status)
}
