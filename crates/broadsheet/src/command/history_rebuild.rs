//! `broadsheet history rebuild`

use std::io::Write;

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["history", "rebuild"],
    also: &["mkhistory"],
    summary: "make history and index again from the articles",
    about: "\
The articles in segments/ are the truth; history, overview and index are derived from them.",
    operands: Operands::NONE,
    flags: &[
        DIR,
        Flag::classic(
            's',
            "size",
            "Taken for the sake of old scripts, without effect: the index sizes itself.",
        )
        .value("MULTIPLE"),
    ],
    exits: &[Meaning {
        status: Status::NO,
        when: "articles are damaged or cannot be read, so that they are not in the new history",
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
        "{} segments, {} articles, {} ids: history, overview and index made again",
        told.segments, told.articles, told.ids
    )?;
    Ok(if told.damaged == 0 {
        Status::OK
    } else {
        Status::NO
    })
}
