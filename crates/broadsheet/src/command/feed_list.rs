//! `broadsheet feed list`

use std::io::Write;

use feed::place::{self, Look};
use feed::waiting::Backlog;
use store::Reader;

use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::feeds;
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["feed", "list"],
    also: &[],
    summary: "list the sites with what waits for them",
    about: "\
For each site, or each SITE: its state, the articles that wait for it and their bytes, when the oldest of them arrived, and
what it has got so far. An article that expired or was cancelled while it waited does not count.",
    operands: Operands {
        shown: "SITE...",
        least: 0,
        most: usize::MAX,
    },
    flags: &[DIR, JSON],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    let sys = directory.sys(&settings)?;
    let reader = Reader::open(directory.root())?;
    feeds::introduce(&directory, &sys, reader.end())?;
    let chosen = feeds::chosen(&sys, &given.operands)?;
    let names = || chosen.iter().map(|(name, _)| *name);
    let told = feeds::backlogs(&directory, &sys, &reader, names())?;
    let is_told = |name: &&[u8]| told.iter().any(|told| told.name == *name);
    if told.len() < chosen.len()
        && let Some(lost) = names().find(|name| !is_told(name))
    {
        return Err(feed::Error::Unknown(place::shown(lost)).into());
    }
    for feed in &told {
        match given.has("json") {
            true => writeln!(out, "{}", json(feed.name, &feed.look, &feed.backlog))?,
            false => write_text(out, feed.name, &feed.look, &feed.backlog)?,
        }
    }
    Ok(Status::OK)
}

fn state(look: &Look) -> String {
    match &look.paused {
        Some(why) if why.is_empty() => "paused".to_owned(),
        Some(why) => format!("paused: {why}"),
        None if look.busy => "being served".to_owned(),
        None => "ready".to_owned(),
    }
}

fn write_text(
    out: &mut dyn Write,
    name: &[u8],
    look: &Look,
    backlog: &Backlog,
) -> std::io::Result<()> {
    out.write_all(name)?;
    writeln!(out, "  {}", state(look))?;
    let oldest = backlog.oldest.map_or_else(String::new, |time| {
        format!(", the oldest of {}", text::utc(time))
    });
    let articles = text::counted(backlog.articles, "article");
    let bytes = text::rough_bytes(backlog.bytes);
    writeln!(out, "    waiting {articles}, {bytes}{oldest}")?;
    if !look.deferred.is_empty() {
        let deferred = text::counted(look.deferred.len() as u64, "article");
        writeln!(out, "    deferred {deferred}")?;
    }
    let cursor = &look.cursor;
    let last = match i64::try_from(cursor.sent_at) {
        Ok(time) if time > 0 => format!(", last at {}", text::utc(time)),
        _ => String::new(),
    };
    let sent = text::counted(cursor.sent, "article");
    let bytes = text::rough_bytes(cursor.sent_bytes);
    writeln!(out, "    sent {sent}, {bytes}{last}")?;
    if cursor.skipped > 0 {
        writeln!(out, "    gone before they were sent {}", cursor.skipped)?;
    }
    Ok(())
}

fn json(name: &[u8], look: &Look, backlog: &Backlog) -> serde_json::Value {
    let cursor = &look.cursor;
    serde_json::json!({
        "site": place::shown(name),
        "state": match () {
            () if look.paused.is_some() => "paused",
            () if look.busy => "busy",
            () => "ready",
        },
        "paused": look.paused,
        "articles": backlog.articles,
        "bytes": backlog.bytes,
        "oldest_arrival": backlog.oldest,
        "deferred": look.deferred.len(),
        "position": cursor.position.0,
        "sent": cursor.sent,
        "sent_bytes": cursor.sent_bytes,
        "sent_at": (cursor.sent_at > 0).then_some(cursor.sent_at),
        "skipped": cursor.skipped,
    })
}
