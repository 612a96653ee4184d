//! `broadsheet mail send`

use std::io::Write;

use inject::mail_queue;

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::posting;

/// The table.
pub static COMMAND: Command = Command {
    words: &["mail", "send"],
    also: &[],
    summary: "send the mail that waits for moderators",
    about: "\
Gives each mail in mail.queue/, or those that are named, to the program of post.sendmail on its standard input. What the
program took (it ended with 0) is removed; the rest stays. Run it now and then where posts to moderated
groups could not be mailed at once.",
    operands: Operands {
        shown: "NAME...",
        least: 0,
        most: usize::MAX,
    },
    flags: &[DIR, JSON],
    exits: &[Meaning {
        status: Status::NO,
        when: "some of it still waits",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    let is_meant = |name: &str| {
        given.operands.is_empty() || given.operands.iter().any(|operand| *operand == *name)
    };
    let (mut sent, mut waiting) = (0u64, 0u64);
    for mail in mail_queue::list(directory.root())? {
        if !is_meant(&mail.name()) {
            continue;
        }
        match posting::send(&mail, &settings) {
            Ok(true) => sent += 1,
            Ok(false) => {
                eprintln!("broadsheet: there is no program to send mail: set post.sendmail");
                waiting += 1;
                break;
            }
            // That one tells.
            Err(mail_queue::Error::Busy) => {}
            Err(error) => {
                eprintln!("broadsheet: {} still waits: {error}", mail.name());
                waiting += 1;
            }
        }
    }
    if given.has("json") {
        writeln!(
            out,
            "{}",
            serde_json::json!({ "sent": sent, "failed": waiting })
        )?;
    }
    Ok(match waiting {
        0 => Status::OK,
        _ => Status::NO,
    })
}
