//! `broadsheet history dump`

use std::io::Write;

use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["history", "dump"],
    also: &[],
    summary: "print the whole history as text",
    about: "\
Prints one line for each article in the format of C News, the oldest first.",
    operands: Operands::NONE,
    flags: &[DIR],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let snapshot = directory.snapshot()?;
    let mut written = Ok(());
    snapshot.each_history_line(|line| {
        if written.is_ok() {
            written = out.write_all(line).and_then(|()| {
                out.write_all(
                    b"
",
                )
            });
        }
        Ok(())
    })?;
    written?;
    Ok(Status::OK)
}
