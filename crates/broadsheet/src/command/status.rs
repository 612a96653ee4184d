//! `broadsheet status`

mod serving_text;

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use feed::site_state;
use relay::incoming::Name;
use serde::Serialize;
use serde_json::{Value, json};
use store::{HistoryLine, Reader};

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::failure;
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::text;
use daemon::client::{self, RunningDaemon};
use feed::feeds;

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
    let (status, feeds_error) = system_status(&directory)?;
    if let Some(error) = feeds_error {
        eprintln!("broadsheet: feeds: {}", failure::text_of(&error));
    }
    given.print(&status, out)?;
    Ok(Status::OK)
}

/// The state of a news system.
#[derive(Serialize)]
pub struct SystemStatus {
    groups: usize,
    ids: u64,
    segments: usize,
    log_bytes: u64,
    newest_arrival: Option<i64>,
    /// Batches that wait, and batches kept for a person.
    in_coming: usize,
    bad: usize,
    mail_queue: usize,
    /// `None`: they cannot be read.
    feeds: Option<Feeds>,
    /// `None`: none answers.
    daemon: Option<RunningDaemon>,
    #[serde(skip)]
    is_served: bool,
}

/// The feeds, and those for which articles wait.
#[derive(Serialize)]
struct Feeds {
    count: usize,
    behind: Vec<Behind>,
    /// Their files are damaged or lost.
    unreadable: Vec<String>,
}

#[derive(Serialize)]
struct Behind {
    site: String,
    articles: u64,
    bytes: u64,
    oldest_arrival: Option<i64>,
    paused: bool,
}

/// Reads the state of a news system, and the error that kept it from reading the feeds.
///
/// # Errors
/// The store or the mail queue cannot be read.
pub fn system_status(
    directory: &NewsDirectory,
) -> anyhow::Result<(SystemStatus, Option<anyhow::Error>)> {
    let root = directory.root();
    let reader = Reader::open(root)?;
    let (segments, log_bytes, ids) = reader.extent();
    let newest = reader.newest_line()?;
    let daemon = client::status(root);
    let feeds = Feeds::read(directory, &reader);
    let is_batch = |name: &[u8]| Name::parse(name).is_some();
    let (feeds, error) = match feeds {
        Ok(feeds) => (Some(feeds), None),
        Err(error) => (None, Some(error)),
    };
    let status = SystemStatus {
        groups: reader.active().len(),
        ids,
        segments,
        log_bytes,
        newest_arrival: newest.and_then(|line| HistoryLine::parse(&line)?.arrival),
        in_coming: files_in(&directory.file("in.coming"), is_batch),
        bad: files_in(&directory.file("bad"), |_| true),
        mail_queue: inject::mail_queue::list(root)?.len(),
        feeds,
        is_served: daemon.is_some() || client::is_served(root),
        daemon,
    };
    Ok((status, error))
}

impl Answer for SystemStatus {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let daemon = match &self.daemon {
            Some(daemon) => {
                let since = text::utc(daemon.since);
                format!("process {} since {since}, {}", daemon.pid, daemon.state)
            }
            None if self.is_served => "running, but does not reply".to_owned(),
            None => "not running".to_owned(),
        };
        let newest = self.newest_arrival;
        let feeds = self.feeds.as_ref();
        for (what, value) in [
            ("groups", self.groups.to_string()),
            ("ids in history", self.ids.to_string()),
            ("segments", self.segments.to_string()),
            ("log", text::rough_bytes(self.log_bytes)),
            (
                "newest arrival",
                newest.map_or_else(|| "none yet".to_owned(), text::utc),
            ),
            ("batches waiting", self.in_coming.to_string()),
            ("batches in bad/", self.bad.to_string()),
            ("mail waiting", self.mail_queue.to_string()),
            (
                "feeds",
                feeds.map_or_else(|| "cannot be read".to_owned(), Feeds::text),
            ),
            ("daemon", daemon),
        ] {
            writeln!(out, "{what:16} {value}")?;
        }
        match &self.daemon {
            Some(daemon) => serving_text::write(&daemon.status, out),
            None => Ok(()),
        }
    }

    fn json(&self) -> Value {
        json!(self)
    }
}

impl Feeds {
    fn read(directory: &NewsDirectory, reader: &Reader) -> anyhow::Result<Feeds> {
        let sites = directory.sys(&directory.settings()?.settings)?;
        let names = feeds::names(&sites);
        let (told, untold) =
            feeds::backlogs(directory.root(), &sites, reader, names.iter().copied())?;
        let behind = told.iter().filter(|feed| feed.backlog.articles > 0);
        let behind = behind.map(|feed| Behind {
            site: site_state::shown(feed.name),
            articles: feed.backlog.articles,
            bytes: feed.backlog.bytes,
            oldest_arrival: feed.backlog.oldest,
            paused: feed.look.paused.is_some(),
        });
        let unreadable = untold.iter().map(|(name, _)| site_state::shown(name));
        Ok(Feeds {
            count: names.len(),
            behind: behind.collect(),
            unreadable: unreadable.collect(),
        })
    }

    fn text(&self) -> String {
        let (all, behind) = (self.count, self.behind.len());
        let named = self.behind.iter().take(feeds::NAMED_MOST).map(|feed| {
            let paused = if feed.paused { ", paused" } else { "" };
            let articles = text::counted(feed.articles, "article");
            format!("{} ({articles}{paused})", feed.site)
        });
        let named = named.collect::<Vec<_>>().join(", ");
        let told = match (behind, behind.saturating_sub(feeds::NAMED_MOST)) {
            (0, _) => format!("{all}, no articles wait"),
            (_, 0) => format!("{all}, articles wait for {behind}: {named}"),
            (_, more) => format!("{all}, articles wait for {behind}: {named} and {more} more"),
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
