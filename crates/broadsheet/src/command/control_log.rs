//! `broadsheet control log`

use std::io::Write;

use relay::control::events::{self, Event};
use serde_json::json;

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
        match given.has("json") {
            true => writeln!(out, "{}", json(&event))?,
            false => write_text(&event, out)?,
        }
    }
    Ok(Status::OK)
}

fn json(event: &Event) -> serde_json::Value {
    json!({
        "seconds": event.seconds,
        "done": event.done,
        "id": event.id,
        "control": event.control,
        "group": event.group,
        "from": event.from,
        "approved": event.approved,
        "verified": event.verified,
        "why": event.why,
    })
}

fn write_text(event: &Event, out: &mut dyn Write) -> anyhow::Result<()> {
    writeln!(
        out,
        "{} {}: {}",
        text::utc(event.seconds),
        event.control,
        event.done
    )?;
    writeln!(out, "    {}", event.why)?;
    writeln!(out, "    {} from {}", event.id, event.from)?;
    if !event.approved.is_empty() {
        writeln!(out, "    approved by {}", event.approved)?;
    }
    match event.verified.strip_prefix("no: ") {
        Some(why) => writeln!(out, "    not verified: {why}")?,
        None if event.verified == "-" => {}
        None => writeln!(out, "    verified by {}", event.verified)?,
    }
    Ok(())
}
