//! `broadsheet group remove`

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use store::Spool;

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, Operands};

/// The table.
pub static COMMAND: Command = Command {
    words: &["group", "remove"],
    also: &["delgroup"],
    summary: "remove a group",
    about: "\
Takes the group out of `active', `active.times' and `newsgroups'. Its articles stay until they
expire; those cross-posted elsewhere stay readable there.",
    operands: Operands {
        shown: "GROUP",
        least: 1,
        most: 1,
    },
    flags: &[DIR],
    exits: &[Meaning {
        status: Status::NO,
        when: "there is no such group",
    }],
    run,
};

fn run(given: &Given, _out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let options = directory.settings()?.settings.store_options();
    let Some(name) = given.operands.first() else {
        return Ok(Status::NO);
    };
    let shown = name.display();
    let name = name.as_encoded_bytes();
    if matches!(name, b"control" | b"junk") {
        eprintln!("broadsheet: a news system needs the group {shown}");
        return Ok(Status::NO);
    }
    let mut spool = Spool::open(directory.root(), options)?;
    if spool.active().find(name).is_none() {
        eprintln!("broadsheet: no group {shown}");
        return Ok(Status::NO);
    }
    spool.remove_group(name)?;
    spool.commit()?;
    // The lock is held until here, so nobody else writes these files meanwhile.
    drop_lines(&directory.file("active.times"), name)?;
    drop_lines(&directory.file("newsgroups"), name)?;
    Ok(Status::OK)
}

/// Rewrites a file without the lines whose first word is `name`.
fn drop_lines(path: &Path, name: &[u8]) -> anyhow::Result<()> {
    let Ok(text) = std::fs::read(path) else {
        return Ok(());
    };
    let first_word = |line: &[u8]| {
        let end = line
            .iter()
            .position(|b| b.is_ascii_whitespace())
            .unwrap_or(line.len());
        line.get(..end) == Some(name)
    };
    let kept: Vec<&[u8]> = text
        .split_inclusive(|&b| b == b'\n')
        .filter(|line| !first_word(line))
        .collect();
    let fresh = path.with_extension("new");
    std::fs::write(&fresh, kept.concat())
        .with_context(|| format!("cannot write {}", fresh.display()))?;
    std::fs::rename(&fresh, path).with_context(|| format!("cannot put {} in place", path.display()))
}
