//! `broadsheet control log`

use std::io::{self, Write};

use relay::control::events::{self, Event};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::text;

/// Events shown without `-n`.
const SHOWN: u64 = 20;

/// The table.
pub static COMMAND: Command = Command {
    words: &["control", "log"],
    also: &[],
    summary: "show control messages and their results",
    about: "\
Prints the newest events in control.log, the oldest of them first: the request, the message, its
sender, the trusted key that signed it (or why the signature is not accepted), and the result:
`acted', `nothing' (no change was needed), `waits' (the administrator can do it with `control run
--trust') or `refused'.",
    operands: Operands::NONE,
    flags: &[
        DIR,
        JSON,
        Flag::classic('n', "events", "Print N events instead of 20.").value("N"),
    ],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    directory.settings()?;
    let count = given.number("events")?.unwrap_or(SHOWN);
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    for event in events::newest(directory.root(), count)? {
        given.print(&event, out)?;
    }
    Ok(Status::OK)
}

impl Answer for Event {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let time = text::utc(self.seconds);
        writeln!(out, "{time} {}: {}", self.control, self.done)?;
        writeln!(out, "    {}", self.why)?;
        writeln!(out, "    {} from {}", self.id, self.from)?;
        if !self.approved.is_empty() {
            writeln!(out, "    approved by {}", self.approved)?;
        }
        match self.verified.strip_prefix("no: ") {
            Some(why) => writeln!(out, "    not verified: {why}"),
            None if self.verified == "-" => Ok(()),
            None => writeln!(out, "    verified by {}", self.verified),
        }
    }

    fn json(&self) -> Value {
        json!({
            "seconds": self.seconds,
            "done": self.done,
            "id": self.id,
            "control": self.control,
            "group": self.group,
            "from": self.from,
            "approved": self.approved,
            "verified": self.verified,
            "why": self.why,
        })
    }
}
