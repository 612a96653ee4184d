//! `broadsheet mail list`

use std::io::Write;

use inject::mail_queue::{self, QueuedMail};

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
        let (to, id, subject) = (header("To"), header("Message-ID"), header("Subject"));
        let name = waiting.name();
        if given.has("json") {
            let told = serde_json::json!({
                "name": name, "since": waiting.since, "to": to, "message_id": id, "subject": subject,
                "bytes": mail.len(),
            });
            writeln!(out, "{told}")?;
        } else {
            let since = text::utc(waiting.since);
            writeln!(out, "{since}\t{name}\t{to}\t{id}\t{subject}")?;
        }
    }
    Ok(Status::OK)
}
