//! `broadsheet status`

mod serving_text;

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use feed::site_state;
use relay::incoming::Name;
use store::{HistoryLine, Reader};

use crate::daemon::client;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::failure;
use crate::feeds;
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["status"],
    also: &[],
    summary: "show the state of the news system",
    about: "\
Prints articles, groups, segments, the newest arrival, the number of batches in in.coming/ and in
bad/, the mail in mail.queue/, the feeds with waiting articles (a few by name; all with --json), and
whether the daemon is running. For a running daemon: the articles it filed, the duration of its
commits, whether it accepts articles, and, if it serves NNTP, its connections and the articles
received by each entry of [[access]].",
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
    let mail = inject::mail_queue::list(directory.root())?.len();
    let feeds = Feeds::look(&directory, &reader);
    if let Err(error) = &feeds {
        eprintln!("broadsheet: feeds: {}", failure::text_of(error));
    }
    if given.has("json") {
        let answer = serde_json::json!({
            "groups": groups, "ids": ids, "segments": segments, "log_bytes": log_bytes,
            "newest_arrival": arrival, "in_coming": waiting, "bad": bad, "daemon": daemon,
            "mail_queue": mail, "feeds": feeds.as_ref().ok().map(Feeds::json),
        });
        writeln!(out, "{answer}")?;
        return Ok(Status::OK);
    }
    let runs = daemon.as_ref().map_or_else(
        || match client::is_served(directory.root()) {
            true => "running, but does not reply".to_owned(),
            false => "not running".to_owned(),
        },
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
        ("ids in history", ids.to_string()),
        ("segments", segments.to_string()),
        ("log", text::rough_bytes(log_bytes)),
        ("newest arrival", newest),
        ("batches waiting", waiting.to_string()),
        ("batches in bad/", bad.to_string()),
        ("mail waiting", mail.to_string()),
        (
            "feeds",
            feeds
                .as_ref()
                .map_or_else(|_| "cannot be read".to_owned(), Feeds::text),
        ),
        ("daemon", runs),
    ] {
        writeln!(out, "{what:16} {value}")?;
    }
    if let Some(doing) = &daemon {
        serving_text::write(&doing.watched, out)?;
    }
    Ok(Status::OK)
}

/// The feeds, and those for which articles wait.
struct Feeds {
    all: usize,
    behind: Vec<serde_json::Value>,
    words: Vec<String>,
    /// Their files are damaged or lost.
    unreadable: Vec<String>,
}

impl Feeds {
    fn look(directory: &NewsDirectory, reader: &Reader) -> anyhow::Result<Feeds> {
        let sites = directory.sys(&directory.settings()?.settings)?;
        let names = feeds::names(&sites);
        let (told, untold) = feeds::backlogs(directory, &sites, reader, names.iter().copied())?;
        let mut feeds = Feeds {
            all: names.len(),
            behind: Vec::new(),
            words: Vec::new(),
            unreadable: untold
                .iter()
                .map(|(name, _)| site_state::shown(name))
                .collect(),
        };
        for feed in told.iter().filter(|feed| feed.backlog.articles > 0) {
            let name = site_state::shown(feed.name);
            let (articles, is_paused) = (feed.backlog.articles, feed.look.paused.is_some());
            feeds.behind.push(serde_json::json!({
                "site": name, "articles": articles, "bytes": feed.backlog.bytes,
                "oldest_arrival": feed.backlog.oldest, "paused": is_paused,
            }));
            let paused = if is_paused { ", paused" } else { "" };
            let articles = text::counted(articles, "article");
            feeds.words.push(format!("{name} ({articles}{paused})"));
        }
        Ok(feeds)
    }

    fn json(&self) -> serde_json::Value {
        serde_json::json!({ "count": self.all, "behind": self.behind, "unreadable": self.unreadable })
    }

    fn text(&self) -> String {
        let (all, behind) = (self.all, self.words.len());
        let more = behind.saturating_sub(feeds::NAMED_MOST);
        let words: Vec<&str> = self
            .words
            .iter()
            .take(feeds::NAMED_MOST)
            .map(String::as_str)
            .collect();
        let words = words.join(", ");
        let told = match (behind, more) {
            (0, _) => format!("{all}, no articles wait"),
            (_, 0) => format!("{all}, articles wait for {behind}: {words}"),
            _ => format!("{all}, articles wait for {behind}: {words} and {more} more"),
        };
        match self.unreadable.as_slice() {
            [] => told,
            [one, ..] => format!(
                "{told}; {} cannot be read, such as {one}: see `broadsheet feed list'",
                self.unreadable.len()
            ),
        }
    }
}

fn files_in(path: &Path, counts: impl Fn(&[u8]) -> bool) -> usize {
    std::fs::read_dir(path).map_or(0, |entries| {
        let names = entries.flatten().map(|entry| entry.file_name());
        names.filter(|name| counts(name.as_bytes())).count()
    })
}
