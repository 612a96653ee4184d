//! `broadsheet batchih`

use std::io::Write;

use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, Operands};
use crate::ihave;

/// The table.
pub static COMMAND: Command = Command {
    words: &["batchih"],
    also: &[],
    summary: "make a batch of ihave messages",
    about: "\
Reads message-ids from standard input, the first of each line, and prints a batch of control messages that
offer these articles to SITE. What it wants it asks for with sendme, which `batchra' answers.",
    operands: Operands {
        shown: "SITE",
        least: 1,
        most: 1,
    },
    flags: &[DIR],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let mut ids = Vec::new();
    ihave::each_id(|id| {
        ids.push(id.to_vec());
        Ok(())
    })?;
    ihave::print_messages(given, &directory, "ihave", &ids, out)?;
    Ok(Status::OK)
}
