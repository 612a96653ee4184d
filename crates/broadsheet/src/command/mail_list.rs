//! `broadsheet mail list`

use std::io::{self, Write};

use inject::mail_queue::{self, QueuedMail};
use serde::Serialize;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["mail", "list"],
    also: &[],
    summary: "list the mail to moderators that waits to be sent",
    about: "\
Prints a line for each mail in mail.queue/, the oldest first: the time since when it waits, its
name, the recipient, the Message-ID and the subject, separated by tabs.",
    operands: Operands::NONE,
    flags: &[DIR, JSON],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    directory.settings()?;
    for waiting in mail_queue::list(directory.root())? {
        let mail = waiting.read()?;
        let header = |name| QueuedMail::header(&mail, name);
        let listed = ListedMail {
            name: waiting.name(),
            since: waiting.since,
            to: header("To"),
            message_id: header("Message-ID"),
            subject: header("Subject"),
            bytes: mail.len(),
        };
        given.print(&listed, out)?;
    }
    Ok(Status::OK)
}

/// A mail in the queue.
#[derive(Serialize)]
struct ListedMail {
    name: String,
    since: i64,
    to: String,
    message_id: String,
    subject: String,
    bytes: usize,
}

impl Answer for ListedMail {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let since = text::utc(self.since);
        let (name, to, id, subject) = (&self.name, &self.to, &self.message_id, &self.subject);
        writeln!(out, "{since}\t{name}\t{to}\t{id}\t{subject}")
    }

    fn json(&self) -> Value {
        json!(self)
    }
}
