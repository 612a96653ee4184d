//! `broadsheet restore`

use std::io::Write;
use std::path::Path;

use crate::backup::restore::{self, find};
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, Operands};
use crate::text;

/// Default distance of the high marks from those of the backup.
const GAP: u64 = 10_000;

/// The table.
pub static COMMAND: Command = Command {
    words: &["restore"],
    also: &[],
    summary: "make a news directory of a backup",
    about: "\
Restores the newest backup in BACKUPS into a new directory, rebuilds what is derived from the articles, and compares every content
with its checksum. Articles that were filed after the backup had numbers that readers remember: so the high mark of each group is
raised, and no number is given twice.",
    operands: Operands {
        shown: "BACKUPS",
        least: 1,
        most: 1,
    },
    flags: &[
        DIR,
        Flag::new("at", "The backup to restore, by the number that `backup' printed.").value("TIME"),
        Flag::new(
            "gap",
            "Raise the high marks by N. Choose more than any group got articles since the backup; 0: leave them. Default: 10000.",
        )
        .value("N"),
        Flag::new("verify", "Verify the restored directory as fsck does."),
        Flag::new("check", "Restore nothing: only compare the backup with its checksums."),
    ],
    exits: &[Meaning {
        status: Status::NO,
        when: "the backup or the restored directory is damaged",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let backups = given.operands.first().map(Path::new).unwrap_or(Path::new("."));
    let at = given.number("at")?;
    let at = at.map(|at| i64::try_from(at).unwrap_or(i64::MAX));
    let manifest = find(backups, at)?;
    let of = text::utc(manifest.time);
    if given.has("check") {
        let faults = restore::verify(backups, &manifest);
        for fault in &faults {
            eprintln!("broadsheet: {fault}");
        }
        let files = text::counted(manifest.entries.len() as u64, "file");
        writeln!(out, "backup of {of}: {files}, {} damaged", faults.len())?;
        return Ok(if faults.is_empty() { Status::OK } else { Status::NO });
    }
    let directory = NewsDirectory::to_make(given)?;
    let gap = given.number("gap")?.unwrap_or(GAP);
    let rebuilt = restore::restore(backups, &manifest, directory.root(), gap)?;
    for notice in &rebuilt.notices {
        writeln!(out, "{notice}")?;
    }
    writeln!(
        out,
        "restored the backup of {of}: {} segments, {} articles, {} ids; high marks raised by {gap}",
        rebuilt.segments, rebuilt.articles, rebuilt.ids
    )?;
    let mut is_whole = rebuilt.damaged == 0;
    if given.has("verify") {
        let report = store::fsck(directory.root(), false)?;
        given.print(&report, out)?;
        is_whole &= report.is_clean() && report.lost == 0;
    }
    Ok(if is_whole { Status::OK } else { Status::NO })
}
