//! `broadsheet backup`

use std::io::{self, Write};
use std::path::Path;

use relay::Now;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::backup::take::{self, Taken};
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::task_record;
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["backup"],
    also: &[],
    summary: "back up the news directory",
    about: "\
Adds a backup to the directory BACKUPS, which must be outside the news directory. The daemon may run, and articles may be filed
meanwhile: the backup has all that was filed before it began. Filing waits while the small files are copied; expire waits until the
end. Contents that an earlier backup has are not copied again. The index and the log are left out.
The headers of the segments are verified; fsck verifies the articles.

  broadsheet backup /srv/backup/news
  broadsheet restore /srv/backup/news --dir /srv/news2",
    operands: Operands {
        shown: "[BACKUPS]",
        least: 0,
        most: 1,
    },
    flags: &[
        DIR,
        JSON,
        Flag::new(
            "keep",
            "Afterwards remove all backups but the newest N, unless this one has damage. Default: all are kept.",
        )
        .value("N"),
    ],
    exits: &[
        Meaning {
            status: Status::NO,
            when: "the backup was made, but a segment or active is damaged in it, or the list of an older backup is: do what the message says, and back up again",
        },
        Meaning {
            status: Status::ATTENTION,
            when: "the backup was made, but the disk cannot read parts of some files; each is reported, and all else is in the backup",
        },
    ],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    // It reports what is no news directory.
    let backup = directory.settings()?.settings.backup;
    let began = Now::read().seconds;
    let place = given.operands.first().map(Path::new);
    let mut keep = given.number("keep")?;
    let backups = match (place, backup.to.as_str()) {
        (Some(place), _) => place,
        (None, "") => {
            return Err(given
                .usage("name the directory of the BACKUPS, or set backup.to")
                .into());
        }
        (None, to) => {
            keep = keep.or(Some(backup.keep).filter(|keep| *keep > 0));
            Path::new(to)
        }
    };
    if keep == Some(0) {
        return Err(given.usage("--keep needs at least 1").into());
    }
    let keep = keep.map(|keep| usize::try_from(keep).unwrap_or(usize::MAX));
    let taken = take::take(directory.root(), backups, keep)?;
    given.print(&taken, out)?;
    // Of the backups for which the settings say where.
    if place.is_none() {
        task_record::record(&directory, "backup", &result(&taken), began);
    }
    Ok(match (taken.unreadable, taken.faults.is_empty()) {
        (1.., _) => Status::ATTENTION,
        (0, true) => Status::OK,
        (0, false) => Status::NO,
    })
}

/// The result in a line, for the report.
fn result(taken: &Taken) -> String {
    let files = text::counted(taken.files, "file");
    let bytes = groups::size::rough_bytes(taken.bytes);
    let new = groups::size::rough_bytes(taken.new_bytes);
    let faults = match taken.faults.len() as u64 {
        0 => String::new(),
        count => format!(", {}", text::counted(count, "fault")),
    };
    format!("{files}, {bytes}, {new} of them new{faults}")
}

impl Answer for Taken {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for fault in &self.faults {
            eprintln!("broadsheet: {fault}, and back up again");
        }
        let files = text::counted(self.files, "file");
        let bytes = groups::size::rough_bytes(self.bytes);
        let new = groups::size::rough_bytes(self.new_bytes);
        writeln!(
            out,
            "backup {} of {}: {files}, {bytes}, {new} of them new",
            self.time,
            text::utc(self.time)
        )?;
        if self.removed > 0 {
            let removed = text::counted(self.removed as u64, "old backup");
            writeln!(out, "removed {removed}")?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        json!({
            "time": self.time, "files": self.files, "bytes": self.bytes, "new_bytes": self.new_bytes,
            "removed": self.removed, "faults": self.faults,
            "unreadable": self.unreadable,
        })
    }
}
