//! `broadsheet mail send`

use std::io::Write;

use inject::mail_queue;

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["mail", "send"],
    also: &[],
    summary: "send the waiting mail to moderators",
    about: "\
Passes each mail in mail.queue/, or each NAME, to the command in post.sendmail on its standard
input. Mail that the command accepted (it exited with 0) is removed; the rest stays in the queue.
Run this regularly if mail cannot always be sent at once.",
    operands: Operands {
        shown: "NAME...",
        least: 0,
        most: usize::MAX,
    },
    flags: &[DIR, JSON],
    exits: &[Meaning {
        status: Status::NO,
        when: "some mail is still in the queue",
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
        match mail_queue::send_by(&mail, &settings.post.sendmail) {
            Ok(true) => sent += 1,
            Ok(false) => {
                eprintln!(
                    "broadsheet: mail cannot be sent: post.sendmail is not set, or its program does not exist"
                );
                waiting += 1;
                break;
            }
            // That one tells.
            Err(mail_queue::Error::Busy) => {}
            Err(error) => {
                eprintln!("broadsheet: {} stays in the queue: {error}", mail.name());
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
