//! `broadsheet status`

mod serving_text;

use std::io::{self, Write};

use daemon::{DaemonState, FeedsStatus, SystemStatus, system_status};
use feed::feeds::NAMED_MOST;
use mount::counters::Mounted;
use report::failed_tasks::FailedTask;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::failure;
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["status"],
    also: &[],
    summary: "show the state of the news system",
    about: "\
Prints articles, groups, segments, the newest arrival, the number of batches in in.coming/ and in
bad/, the mail in mail.queue/, the feeds with waiting articles (a few by name; all with --json), those that
cannot be served, the mounts with the hits of their caches, and whether the daemon is running. For a running daemon: the articles it filed, the duration of its
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

impl Answer for SystemStatus {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let daemon = match &self.daemon {
            Some(daemon) => {
                let since = text::utc(daemon.since);
                format!("process {} since {since}, {}", daemon.pid, daemon.state)
            }
            None => match self.daemon_state {
                DaemonState::Running | DaemonState::Silent => "running, but does not reply",
                DaemonState::None => "not running",
                DaemonState::Unknown => "unknown: only the owner of the news directory may ask it",
            }
            .to_owned(),
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
            (
                "batches waiting",
                match self.newsrunning {
                    true => count_text(self.in_coming),
                    false => format!(
                        "{} (newsrunning is off: `broadsheet newsrunning on')",
                        count_text(self.in_coming)
                    ),
                },
            ),
            ("batches in bad/", count_text(self.bad)),
            ("mail waiting", self.mail_queue.to_string()),
            (
                "feeds",
                feeds.map_or_else(|| "cannot be read".to_owned(), feeds_text),
            ),
            ("daemon", daemon),
        ] {
            writeln!(out, "{what:16} {value}")?;
        }
        for FailedTask { task, at, how } in &self.failed_tasks {
            let at = text::utc(*at);
            writeln!(
                out,
                "{:16} {task}, {at}: {how}; the journal has its messages",
                "failed task"
            )?;
        }
        for feed in feeds.iter().flat_map(|feeds| &feeds.failing) {
            let (site, state, remedy) = (&feed.site, feed.state(), &feed.remedy);
            writeln!(out, "{:16} {site}: {state}; {remedy}", "failing feed")?;
        }
        for mount in &self.mounts {
            writeln!(out, "{:16} {}", "mount", mount_text(mount))?;
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

fn count_text(count: Option<usize>) -> String {
    count.map_or_else(
        || "the directory cannot be read".to_owned(),
        |count| count.to_string(),
    )
}

/// A mount in one line.
fn mount_text(mount: &Mounted) -> String {
    let counts = &mount.counters;
    let percent = |part: u64, rest: u64| match part + rest {
        0 => "-".to_owned(),
        all => format!("{} %", part * 100 / all),
    };
    let searched = counts.offset_passes + counts.offset_misses;
    format!(
        "{}, process {}; name cache: {} of {}, {} stale; offset cache: {} of {}",
        mount.at,
        mount.pid,
        percent(counts.name_hits, counts.name_misses),
        text::counted(counts.name_hits + counts.name_misses, "name"),
        counts.name_stale,
        percent(counts.offset_hits, searched),
        text::counted(counts.offset_hits + searched, "search"),
    )
}

/// The feeds in one line.
fn feeds_text(feeds: &FeedsStatus) -> String {
    if let Some(told) = &feeds.elsewhere {
        return told.clone();
    }
    let (all, behind) = (feeds.count, feeds.behind.len());
    let named = feeds.behind.iter().take(NAMED_MOST).map(|feed| {
        let paused = if feed.paused { ", paused" } else { "" };
        let articles = text::counted(feed.articles, "article");
        let deferred = match feed.deferred {
            0 => String::new(),
            count => format!(", {count} deferred"),
        };
        format!("{} ({articles}{deferred}{paused})", feed.site)
    });
    let named = named.collect::<Vec<_>>().join(", ");
    let told = match (behind, behind.saturating_sub(NAMED_MOST)) {
        (0, _) => format!("{all}, no articles wait"),
        (_, 0) => format!("{all}, articles wait for {behind}: {named}"),
        (_, more) => format!("{all}, articles wait for {behind}: {named} and {more} more"),
    };
    match feeds.unreadable.as_slice() {
        [] => told,
        [one, ..] => format!(
            "{told}; {} cannot be read, such as {one}: see `broadsheet feed list'",
            feeds.unreadable.len()
        ),
    }
}
