//! `broadsheet newsrunning`: holds newsrun up, or lets it go on.

use std::io::{self, Write};

use relay::incoming::{is_stopped, set_stopped};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, JSON, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["newsrunning"],
    also: &[],
    summary: "pause newsrun, or resume it",
    about: "\
`off' creates the file in.coming/stop: newsrun then files only batches of grade 0, after at most 50
others. `on' removes it. Without an operand the command prints the state. Batches are still accepted
into in.coming/, and rnews still files.

  broadsheet newsrunning off",
    operands: Operands {
        shown: "on|off",
        least: 0,
        most: 1,
    },
    flags: &[DIR, JSON],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    directory.settings()?;
    match given.operands.first() {
        None => {
            let is_on = !is_stopped(directory.root());
            given.print(&NewsRunning { is_on }, out)?;
        }
        Some(word) if word == "on" => set_stopped(directory.root(), false)?,
        Some(word) if word == "off" => set_stopped(directory.root(), true)?,
        Some(word) => {
            let told = format!("the operand must be on or off, not `{}'", word.display());
            return Err(given.usage(told).into());
        }
    }
    Ok(Status::OK)
}

/// Whether batches in in.coming/ are filed.
struct NewsRunning {
    is_on: bool,
}

impl Answer for NewsRunning {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", if self.is_on { "on" } else { "off" })
    }

    fn json(&self) -> Value {
        json!({ "newsrunning": self.is_on })
    }
}
