//! `broadsheet restore`

use std::io::{self, Write};
use std::path::Path;

use anyhow::Context;
use groups::active::READABLE_NUMBER_MAX;
use serde_json::{Value, json};
use store::fsck;

use crate::answer::Answer;
use crate::backup::restore::{self, NeededObjects, Verified, find};
use crate::command::init;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::setup::by_root;
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
raised, and no number is given twice. A node of a cluster keeps its marks: its daemon applies what
came after the backup from the log.

Run by root on a terminal, it asks for the user who will run the server. That user must be able to
read BACKUPS.",
    operands: Operands {
        shown: "BACKUPS",
        least: 1,
        most: 1,
    },
    flags: &[
        DIR,
        JSON,
        Flag::new("at", "The backup to restore, by the number that `backup' printed.").value("TIME"),
        Flag::new(
            "gap",
            "Raise the high marks by N. Choose more than any group got articles since the backup; 0: leave them. Default: 10000.",
        )
        .value("N"),
        Flag::new("verify", "Verify the restored directory as fsck does."),
        init::RUN_AS,
        Flag::new(
            "check",
            "Restore nothing: compare the backup with its checksums, set damaged contents aside, so that the next backup copies these files again, and ask the object store for the objects that it needs.",
        ),
    ],
    exits: &[Meaning {
        status: Status::NO,
        when: "the backup or the restored directory is damaged, or articles in the object store cannot be reached",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let backups = given
        .operands
        .first()
        .map(Path::new)
        .unwrap_or(Path::new("."));
    if !given.has("check") {
        let root = NewsDirectory::root_to_make(given)?;
        if let Some(status) = by_root::init_as_user(given, &root)? {
            return Ok(status);
        }
    }
    let at = given.number("at")?;
    let at = at.map(|at| i64::try_from(at).unwrap_or(i64::MAX));
    let manifest = find(backups, at)?;
    let time = manifest.time;
    if given.has("check") {
        let checked = Checked {
            time,
            files: manifest.entries.len() as u64,
            verified: restore::verify(backups, &manifest),
            objects: restore::find_objects(backups, &manifest),
        };
        given.print(&checked, out)?;
        return Ok(status(checked.is_whole()));
    }
    let directory = NewsDirectory::to_make(given)?;
    let gap = given.number("gap")?.unwrap_or(GAP);
    if gap > READABLE_NUMBER_MAX {
        let what =
            format!("--gap is at most {READABLE_NUMBER_MAX}, the highest number of an article");
        return Err(given.usage(what).into());
    }
    let is_node = restore::is_of_node(&manifest);
    let rebuilt = restore::restore(backups, &manifest, directory.root(), gap)?;
    let verified = match given.has("verify") {
        true => store::fsck(directory.root(), false).map(Some),
        false => Ok(None),
    };
    let (report, failure) = match verified {
        Ok(report) => (report, None),
        Err(error) => (None, Some(error)),
    };
    let is_clean = |report: &fsck::Report| report.is_clean() && report.lost == 0;
    let is_whole = rebuilt.damaged == 0 && report.as_ref().is_none_or(is_clean);
    let restored = Restored {
        time,
        gap: (!is_node).then_some(gap),
        rebuilt,
        report,
    };
    given.print(&restored, out)?;
    by_root::note_owner(given, directory.root());
    match failure {
        Some(error) => Err(error).context("the directory is restored, but cannot be verified now"),
        None => Ok(status(is_whole)),
    }
}

fn status(is_right: bool) -> Status {
    match is_right {
        true => Status::OK,
        false => Status::NO,
    }
}

/// The result of `--check`.
struct Checked {
    time: i64,
    files: u64,
    verified: Verified,
    objects: NeededObjects,
}

impl Checked {
    fn is_whole(&self) -> bool {
        let objects = &self.objects;
        self.verified.faults.is_empty() && objects.missing.is_empty() && objects.failure.is_none()
    }
}

impl Answer for Checked {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let (faults, objects) = (&self.verified.faults, &self.objects);
        for fault in faults.iter().chain(&objects.missing) {
            eprintln!("broadsheet: {fault}");
        }
        match &self.verified.set_aside {
            None => {}
            Some(Ok(())) => eprintln!(
                "broadsheet: the next `backup' copies these files again, if the news directory still has them"
            ),
            Some(Err(error)) => eprintln!(
                "broadsheet: the next `backup' may keep the damaged contents, because they could not be set aside: {error:#}; run `restore --check' \
                 again where BACKUPS can be written, and while no backup runs"
            ),
        }
        if let Some(why) = &objects.failure {
            eprintln!("broadsheet: cannot tell which objects are there: {why}");
        }
        let (of, files) = (text::utc(self.time), text::counted(self.files, "file"));
        write!(out, "backup of {of}: {files}, {} damaged", faults.len())?;
        if objects.count > 0 {
            let count = text::counted(objects.count, "object");
            write!(out, "; the articles of {count} are in the object store")?;
            match objects.failure {
                Some(_) => write!(out, ", which cannot be asked")?,
                None => write!(out, ", {} missing", objects.missing.len())?,
            }
        }
        writeln!(out)
    }

    fn json(&self) -> Value {
        let (set_aside, objects) = (&self.verified.set_aside, &self.objects);
        json!({
            "time": self.time, "files": self.files, "faults": self.verified.faults,
            "set_aside": set_aside.as_ref().map(Result::is_ok), "objects": objects.count,
            "missing_objects": objects.missing, "object_store_failure": objects.failure,
        })
    }
}

/// A restored news directory.
struct Restored {
    time: i64,
    /// By how much the high marks were raised; `None` for a node of a cluster.
    gap: Option<u64>,
    rebuilt: store::Rebuilt,
    report: Option<fsck::Report>,
}

impl Answer for Restored {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let rebuilt = &self.rebuilt;
        for notice in &rebuilt.notices {
            writeln!(out, "{notice}")?;
        }
        write!(
            out,
            "restored the backup of {}: {} segments, {} articles, {} ids; ",
            text::utc(self.time),
            rebuilt.segments,
            rebuilt.articles,
            rebuilt.ids,
        )?;
        match self.gap {
            Some(gap) => writeln!(out, "high marks raised by {gap}")?,
            None => writeln!(
                out,
                "high marks not raised: a node of a cluster keeps its marks, and applies what came later from the log"
            )?,
        }
        self.report
            .as_ref()
            .map_or(Ok(()), |report| report.write_text(out))
    }

    fn json(&self) -> Value {
        json!({
            "time": self.time, "gap": self.gap.unwrap_or(0), "segments": self.rebuilt.segments, "articles": self.rebuilt.articles,
            "ids": self.rebuilt.ids, "damaged": self.rebuilt.damaged, "notices": self.rebuilt.notices,
            "fsck": self.report.as_ref().map(Answer::json),
        })
    }
}
