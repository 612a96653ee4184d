//! `broadsheet status`

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use relay::incoming::Name;
use store::{HistoryLine, Reader};

use crate::daemon::client;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["status"],
    also: &[],
    summary: "say how the news system does",
    about: "\
Articles, groups, segments, the newest arrival, batches waiting in in.coming/ and kept in bad/, and
whether a daemon serves the news directory.",
    operands: Operands::NONE,
    flags: &[DIR, JSON],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let reader = Reader::open(directory.root())?;
    let (segments, log_bytes, ids) = reader.extent();
    let arrival = reader
        .newest_line()?
        .and_then(|line| HistoryLine::parse(&line)?.arrival);
    let (waiting, bad) = (
        files_in(&directory.file("in.coming"), |name| {
            Name::parse(name).is_some()
        }),
        files_in(&directory.file("bad"), |_| true),
    );
    let daemon = client::status(directory.root());
    let groups = reader.active().len();
    if given.has("json") {
        let answer = serde_json::json!({
            "groups": groups, "ids": ids, "segments": segments, "log_bytes": log_bytes,
            "newest_arrival": arrival, "in_coming": waiting, "bad": bad, "daemon": daemon,
        });
        writeln!(out, "{answer}")?;
        return Ok(Status::OK);
    }
    let runs = daemon.map_or_else(
        || "does not run".to_owned(),
        |doing| {
            format!(
                "process {} since {}, {}",
                doing.pid,
                text::utc(doing.since),
                doing.state
            )
        },
    );
    let newest = arrival.map_or_else(|| "none yet".to_owned(), text::utc);
    for (what, value) in [
        ("groups", groups.to_string()),
        ("ids remembered", ids.to_string()),
        ("segments", segments.to_string()),
        ("log", text::rough_bytes(log_bytes)),
        ("newest arrival", newest),
        ("batches waiting", waiting.to_string()),
        ("batches in bad/", bad.to_string()),
        ("daemon", runs),
    ] {
        writeln!(out, "{what:16} {value}")?;
    }
    Ok(Status::OK)
}

fn files_in(path: &Path, counts: impl Fn(&[u8]) -> bool) -> usize {
    std::fs::read_dir(path).map_or(0, |entries| {
        let names = entries.flatten().map(|entry| entry.file_name());
        names.filter(|name| counts(name.as_bytes())).count()
    })
}
