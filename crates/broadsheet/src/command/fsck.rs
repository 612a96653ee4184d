//! `broadsheet fsck`

use std::io::Write;

use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};

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
    let directory = NewsDirectory::meant(given)?;
    let report = store::fsck(directory.root(), given.has("repair"))?;
    let clean = report.is_clean();
    if given.has("json") {
        let findings: Vec<_> = report
            .findings
            .iter()
            .map(|f| serde_json::json!({ "file": f.path, "offset": f.offset, "what": f.what, "mended": f.repaired }))
            .collect();
        let answer = serde_json::json!({
            "clean": clean, "segments": report.segments, "articles": report.articles, "history_lines": report.lines,
            "bytes": report.bytes, "holes": report.holes, "lost": report.lost, "faults": report.faults, "findings": findings,
            "notices": report.notices,
            "lost_ids": report.lost_ids.iter().map(|id| String::from_utf8_lossy(id)).collect::<Vec<_>>(),
        });
        writeln!(out, "{answer}")?;
    } else {
        for notice in &report.notices {
            writeln!(out, "{notice}")?;
        }
        for finding in &report.findings {
            let repaired = if finding.repaired { " (repaired)" } else { "" };
            writeln!(
                out,
                "{} at byte {}: {}{repaired}",
                finding.path.display(),
                finding.offset,
                finding.what
            )?;
        }
        let told = report.findings.len() as u64;
        if report.faults > told {
            writeln!(out, "and {} more", report.faults - told)?;
        }
        let verdict = match (clean, report.lost) {
            (true, 0) => "clean",
            (true, _) => {
                "clean now, but articles were lost: see bad/. To request them from a site, see `broadsheet help batchsm'"
            }
            (false, _) => "not clean: run `broadsheet fsck --repair'",
        };
        writeln!(
            out,
            "{} segments, {} articles, {} history lines, {} bytes: {verdict}",
            report.segments, report.articles, report.lines, report.bytes
        )?;
    }
    // What was lost is not repaired, even where the files are in order again.
    let whole = clean && report.lost == 0;
    Ok(if whole { Status::OK } else { Status::NO })
}
