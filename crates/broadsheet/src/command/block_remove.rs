//! `broadsheet block remove`

use std::io::Write;

use crate::block_edit::{edit, named};
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["block", "remove"],
    also: &[],
    summary: "accept the articles of a blocked sender again",
    about: "\
Removes a line from the file blocks, and reloads the daemon. KIND and PATTERN are those that `block
list' prints.",
    operands: Operands {
        shown: "KIND PATTERN",
        least: 2,
        most: 2,
    },
    flags: &[DIR],
    exits: &[Meaning {
        status: Status::NO,
        when: "there is no such block",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let (kind, pattern) = named(given)?;
    let directory = NewsDirectory::meant(given)?;
    edit(&directory, out, |blocks| {
        let before = blocks.len();
        blocks.retain(|block| !(block.kind == kind && block.pattern == pattern));
        let is_changed = blocks.len() < before;
        if !is_changed {
            let pattern = groups::shown(&pattern);
            eprintln!(
                "broadsheet: there is no block of {} {pattern}; see `broadsheet block list'",
                kind.word()
            );
        }
        is_changed
    })
}
