//! `broadsheet fsck`

use std::io::{self, Write};

use relay::Now;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::{task_record, text};

/// The table.
pub static COMMAND: Command = Command {
    words: &["fsck"],
    also: &[],
    summary: "verify every file of the store",
    about: "\
Verifies the checksum of each article, and compares history, overview, index and `active' with the
articles. Unreadable blocks count as damage. With --repair, the rest of a damaged article is saved
in bad/ and its id is removed from history, so that it can be received again; bad/lost.ids lists
these ids, one a line, as input for `broadsheet batchsm'.",
    operands: Operands::NONE,
    flags: &[
        DIR,
        JSON,
        Flag::new(
            "repair",
            "Rebuild damaged files from the articles, where that is possible.",
        ),
    ],
    exits: &[Meaning {
        status: Status::NO,
        when: "damage was found, and not all of it was repaired",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let repair = given.has("repair");
    let directory = NewsDirectory::meant(given)?;
    let began = Now::read().seconds;
    let report = store::fsck(directory.root(), repair)?;
    task_record::record(&directory, "fsck", &result(&report), began);
    given.print(&report, out)?;
    // What was lost is not repaired, even where the files are in order again.
    Ok(match report.is_clean() && report.lost == 0 {
        true => Status::OK,
        false => Status::NO,
    })
}

/// The result in a line, for the report.
fn result(report: &store::fsck::Report) -> String {
    let verdict = match (report.is_clean(), report.lost) {
        (true, 0) => "clean",
        (true, _) => "clean now, but articles were lost",
        (false, _) => "not clean",
    };
    let segments = text::counted(report.segments, "segment");
    let articles = text::counted(report.articles, "article");
    format!("{verdict}: {segments}, {articles}")
}

impl Answer for store::fsck::Report {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for notice in &self.notices {
            writeln!(out, "{notice}")?;
        }
        for finding in &self.findings {
            let repaired = if finding.repaired { " (repaired)" } else { "" };
            let (path, offset) = (finding.path.display(), finding.offset);
            writeln!(out, "{path} at byte {offset}: {}{repaired}", finding.what)?;
        }
        let more = self.faults.saturating_sub(self.findings.len() as u64);
        if more > 0 {
            writeln!(out, "and {more} more")?;
        }
        let verdict = match (self.is_clean(), self.lost) {
            (true, 0) => "clean",
            (true, _) => {
                "clean now, but articles were lost: see bad/. To request them from a site, see `broadsheet help batchsm'"
            }
            (false, _) if self.repairs => "not clean: what is not repaired says what to do",
            (false, _) => "not clean: run `broadsheet fsck --repair'",
        };
        if self.offloaded > 0 {
            writeln!(
                out,
                "{} segments in the object store were read from there",
                self.offloaded
            )?;
        }
        writeln!(
            out,
            "{} segments, {} articles, {} history lines, {} bytes: {verdict}",
            self.segments, self.articles, self.lines, self.bytes
        )
    }

    fn json(&self) -> Value {
        let findings = self.findings.iter().map(
            |f| json!({ "file": f.path, "offset": f.offset, "what": f.what, "mended": f.repaired }),
        );
        let lost_ids = self.lost_ids.iter().map(|id| groups::escaped(id));
        json!({
            "clean": self.is_clean(), "segments": self.segments, "offloaded": self.offloaded, "articles": self.articles,
            "history_lines": self.lines, "bytes": self.bytes, "holes": self.holes, "lost": self.lost,
            "faults": self.faults, "findings": findings.collect::<Vec<_>>(), "notices": self.notices,
            "lost_ids": lost_ids.collect::<Vec<_>>(),
        })
    }
}
