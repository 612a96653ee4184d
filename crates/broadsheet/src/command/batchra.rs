//! `broadsheet batchra`

use std::io::Write;

use store::Reader;

use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, Operands};
use crate::ihave;

/// The table.
pub static COMMAND: Command = Command {
    words: &["batchra"],
    also: &[],
    summary: "make a batch of requested articles",
    about: "\
Reads the ids of sendme messages from standard input, one a line (those that the site SITE.sendme of sys
gets), and prints a batch of the articles they ask for, as far as they are here.",
    operands: Operands::NONE,
    flags: &[DIR],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let reader = Reader::open(directory.root())?;
    let mut native = Vec::new();
    ihave::each_wanted(&reader, |id| {
        if let Some(stored) = reader.article(id)? {
            native.clear();
            stored.record().push_native(&mut native);
            writeln!(out, "#! rnews {}", native.len())?;
            out.write_all(&native)?;
        }
        Ok(())
    })?;
    Ok(Status::OK)
}
