//! `broadsheet mail send`

use std::ffi::OsString;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use inject::mail_queue;
use serde_json::{Value, json};

use crate::answer::Answer;
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
input, or to the server in post.mail_server. Mail that the command (it exited with 0) or the server
accepted is removed; the rest stays in the queue. Run this regularly if mail cannot always be sent at once.",
    operands: Operands {
        shown: "NAME...",
        least: 0,
        most: usize::MAX,
    },
    flags: &[DIR, JSON],
    exits: &[Meaning {
        status: Status::NO,
        when: "some mail is still in the queue, or there is no mail NAME",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let mailer = directory.settings()?.settings.mailer(&directory);
    let is_meant = |name: &str| {
        given.operands.is_empty() || given.operands.iter().any(|operand| *operand == *name)
    };
    let waiting = mail_queue::list(directory.root())?;
    let is_unknown = |name: &&OsString| !waiting.iter().any(|mail| **name == *mail.name());
    let unknown: Vec<_> = given.operands.iter().filter(is_unknown).collect();
    for name in &unknown {
        let name = name.display();
        eprintln!("broadsheet: no mail {name} waits: see `broadsheet mail list'");
    }
    let mut queue_run = QueueRun::default();
    let began = Instant::now();
    for mail in waiting {
        if !is_meant(&mail.name()) {
            continue;
        }
        match mailer.send(&mail) {
            Ok(true) => queue_run.sent += 1,
            Ok(false) => {
                eprintln!(
                    "broadsheet: mail cannot be sent: neither post.mail_server nor post.sendmail is set, or the program does not exist"
                );
                queue_run.failed += 1;
                break;
            }
            Err(mail_queue::Error::Busy) => {
                let name = mail.name();
                eprintln!("broadsheet: {name} is being sent by another process");
                queue_run.failed += 1;
            }
            Err(error) => {
                eprintln!("broadsheet: {} stays in the queue: {error}", mail.name());
                queue_run.failed += 1;
                // The next one would probably wait as long.
                if !error.is_of_one_mail() && began.elapsed() > FAILING_MAX {
                    eprintln!("broadsheet: the mail after it waits for the next run");
                    break;
                }
            }
        }
    }
    given.print(&queue_run, out)?;
    Ok(match queue_run.failed == 0 && unknown.is_empty() {
        true => Status::OK,
        false => Status::NO,
    })
}

/// Time after which a run ends at the next error of the server or the program.
const FAILING_MAX: Duration = Duration::from_secs(60);

/// The number of mails that were accepted, and of those met that wait. The text reports only the latter, one by one.
#[derive(Default)]
struct QueueRun {
    sent: u64,
    failed: u64,
}

impl Answer for QueueRun {
    fn write_text(&self, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }

    fn json(&self) -> Value {
        json!({ "sent": self.sent, "failed": self.failed })
    }
}
