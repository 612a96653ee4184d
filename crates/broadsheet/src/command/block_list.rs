//! `broadsheet block list`

use std::io::{self, Write};

use relay::blocks::Block;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["block", "list"],
    also: &[],
    summary: "list the blocked senders",
    about: "\
Prints a line for each block: kind, pattern, end and reason, separated by tabs. `-': it does not end.",
    operands: Operands::NONE,
    flags: &[DIR, JSON],
    exits: &[],
    run,
};

/// A block, and whether it has ended.
struct Listed<'a> {
    block: &'a Block,
    has_ended: bool,
}

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let now = relay::Now::read().seconds;
    for block in NewsDirectory::meant(given)?.blocks()?.blocks() {
        let has_ended = block.until.is_some_and(|until| until <= now);
        given.print(&Listed { block, has_ended }, out)?;
    }
    Ok(Status::OK)
}

impl Answer for Listed<'_> {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Block {
            kind,
            pattern,
            until,
            reason,
        } = self.block;
        let until = until.map_or_else(|| "-".to_owned(), text::utc);
        let ended = if self.has_ended { " (ended)" } else { "" };
        let pattern = groups::shown(pattern);
        writeln!(out, "{}\t{pattern}\t{until}{ended}\t{reason}", kind.word())
    }

    fn json(&self) -> Value {
        json!({
            "kind": self.block.kind.word(),
            "pattern": groups::escaped(&self.block.pattern),
            "until": self.block.until,
            "ended": self.has_ended,
            "reason": self.block.reason,
        })
    }
}
