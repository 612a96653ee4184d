//! `broadsheet feed list`

use std::io::Write;

use feed::site_state::{self, SiteSummary};
use store::Reader;

use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::feeds::{self, Told};
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["feed", "list"],
    also: &[],
    summary: "list the sites and the articles that wait for them",
    about: "\
Prints for each site, or each SITE: its state, the number and size of the waiting articles, when the
oldest of them arrived, and the totals sent so far. Articles that expired or were cancelled while
they waited are not counted. A site with a damaged cursor is reported on standard error, and the
others are listed. A site that is no longer in sys is listed while articles wait for it.",
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
    let names = chosen.iter().map(|(name, _)| *name);
    let (told, untold) = feeds::backlogs(&directory, &sys, &reader, names)?;
    for feed in &told {
        let is_busy = site_state::is_busy(directory.root(), feed.name)?;
        match given.has("json") {
            true => writeln!(out, "{}", json(feed, is_busy))?,
            false => write_text(out, feed, is_busy)?,
        }
    }
    if given.operands.is_empty() {
        list_left_over(&directory, &sys, &reader, given.has("json"), out)?;
    }
    for (name, error) in &untold {
        eprintln!("broadsheet: {}: {error}", site_state::shown(name));
    }
    Ok(match untold.is_empty() {
        true => Status::OK,
        false => Status::ATTENTION,
    })
}

/// Feeds that are no longer in sys, but for which articles wait.
fn list_left_over(
    directory: &NewsDirectory,
    sys: &groups::Sites,
    reader: &Reader,
    is_json: bool,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let left = feeds::left_over(directory, sys)?;
    let names = left.iter().map(Vec::as_slice);
    // A damaged cursor of theirs is nobody's sorrow.
    let (told, _) = feeds::backlogs(directory, sys, reader, names)?;
    for feed in told.iter().filter(|feed| feed.backlog.articles > 0) {
        let name = site_state::shown(feed.name);
        if is_json {
            let (articles, bytes) = (feed.backlog.articles, feed.backlog.bytes);
            let told = serde_json::json!({
                "site": name, "state": "no longer in sys", "articles": articles, "bytes": bytes,
            });
            writeln!(out, "{told}")?;
        } else {
            let articles = text::counted(feed.backlog.articles, "article");
            let bytes = text::rough_bytes(feed.backlog.bytes);
            writeln!(
                out,
                "{name}  no longer in sys: remove feeds/{name} if the site does not return"
            )?;
            writeln!(out, "    waiting {articles}, {bytes}")?;
        }
    }
    Ok(())
}

fn state(look: &SiteSummary, is_busy: bool) -> String {
    match &look.paused {
        Some(why) if why.is_empty() => "paused".to_owned(),
        Some(why) => format!("paused: {why}"),
        None if is_busy => "busy".to_owned(),
        None => "ready".to_owned(),
    }
}

fn write_text(out: &mut dyn Write, feed: &Told<'_>, is_busy: bool) -> std::io::Result<()> {
    let Told {
        name,
        look,
        backlog,
    } = feed;
    out.write_all(name)?;
    writeln!(out, "  {}", state(look, is_busy))?;
    let oldest = backlog.oldest.map_or_else(String::new, |time| {
        format!(", the oldest from {}", text::utc(time))
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
        writeln!(out, "    expired before they were sent {}", cursor.skipped)?;
    }
    Ok(())
}

fn json(feed: &Told<'_>, is_busy: bool) -> serde_json::Value {
    let Told {
        name,
        look,
        backlog,
    } = feed;
    let cursor = &look.cursor;
    serde_json::json!({
        "site": site_state::shown(name),
        "state": match () {
            () if look.paused.is_some() => "paused",
            () if is_busy => "busy",
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
