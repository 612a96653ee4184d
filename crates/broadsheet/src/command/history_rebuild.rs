//! `broadsheet history rebuild`

use std::io::Write;

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["history", "rebuild"],
    also: &["mkhistory"],
    summary: "rebuild history and index from the articles",
    about: "\
History, overview and index are derived from the articles in segments/.",
    operands: Operands::NONE,
    flags: &[
        DIR,
        Flag::classic(
            's',
            "size",
            "Accepted without effect for old scripts: the index chooses its own size.",
        )
        .value("MULTIPLE"),
    ],
    exits: &[Meaning {
        status: Status::NO,
        when: "articles are damaged or unreadable, and are not in the new history; or the object store did not give those of a segment",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let told = store::rebuild(directory.root())?;
    for notice in &told.notices {
        writeln!(out, "{notice}")?;
    }
    writeln!(
        out,
        "{} segments, {} articles, {} ids: history, overview and index were rebuilt",
        told.segments, told.articles, told.ids
    )?;
    Ok(if told.damaged == 0 {
        Status::OK
    } else {
        Status::NO
    })
}
