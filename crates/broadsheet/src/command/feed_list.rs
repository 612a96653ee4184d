//! `broadsheet feed list`

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;

use feed::site_state;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::text;
use daemon::{FedPeer, client};
use feed::feeds::{self, FeedStatus};
use feed::waiting::Backlog;

/// The table.
pub static COMMAND: Command = Command {
    words: &["feed", "list"],
    also: &[],
    summary: "list the sites and the articles that wait for them",
    about: "\
Prints for each site, or each SITE: its state, the number and size of the waiting articles, when the
oldest of them arrived, and the totals sent so far. Articles that expired or were cancelled while
they waited are not counted, nor are those that the site deferred, which have a line of their own.
A site with a damaged cursor is reported on standard error, and the others are listed. What is no
longer a site is listed while articles wait for it.",
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
    if let Some(feeds) = crate::cluster_feeds::look(&directory, &settings)? {
        match given.has(JSON.name) {
            true => eprintln!("broadsheet: {}", feeds.sentence()),
            false => writeln!(out, "{}", feeds.sentence())?,
        }
        if !feeds.is_here {
            // The cursors here are those of another time.
            return Ok(Status::OK);
        }
    }
    let sys = directory.sys(&settings)?;
    let snapshot = directory.snapshot()?;
    crate::tell_all(feeds::introduce(directory.root(), &sys, snapshot.end())?);
    let left = feeds::left_over(directory.root(), &sys)?;
    let is_left = |word: &OsString| left.iter().any(|name| name == word.as_bytes());
    let (old, named): (Vec<OsString>, Vec<OsString>) =
        given.operands.iter().cloned().partition(is_left);
    let chosen = match old.is_empty() || !named.is_empty() {
        true => feeds::chosen(&sys, &named)?,
        false => Vec::new(),
    };
    let names = chosen.iter().map(|(name, _)| *name);
    let (told, untold) = feeds::backlogs(directory.root(), &sys, &snapshot, names);
    let peers = client::status(directory.root()).map_or(Vec::new(), |daemon| daemon.status.peers);
    for feed in &told {
        let is_busy = site_state::is_busy(directory.root(), feed.name)?;
        let name = groups::shown(feed.name);
        let peer = peers.iter().find(|peer| peer.site == name);
        given.print(
            &ListedFeed {
                feed,
                is_busy,
                peer,
            },
            out,
        )?;
    }
    let is_wanted =
        |name: &[u8]| given.operands.is_empty() || old.iter().any(|word| word.as_bytes() == name);
    let names = left.iter().map(Vec::as_slice);
    let names = names.filter(|name| is_wanted(name));
    // Errors of their cursors are not reported.
    let (told, _) = feeds::backlogs(directory.root(), &sys, &snapshot, names);
    for feed in told
        .iter()
        .filter(|feed| !feed.has_all() || !given.operands.is_empty())
    {
        given.print(&LeftOver(feed), out)?;
    }
    for (name, error) in &untold {
        eprintln!("broadsheet: {}: {error}", groups::shown(name));
    }
    Ok(match untold.is_empty() {
        true => Status::OK,
        false => Status::ATTENTION,
    })
}

/// A feed, and whether it is being served.
pub struct ListedFeed<'a> {
    feed: &'a FeedStatus<'a>,
    is_busy: bool,
    /// State and counts of a peer by NNTP, from the daemon.
    peer: Option<&'a FedPeer>,
}

impl ListedFeed<'_> {
    fn state(&self) -> &'static str {
        match self.feed.look.paused {
            Some(_) => "paused",
            None if self.peer.is_some_and(FedPeer::is_failing) => "failing",
            None if self.peer.is_none() && self.feed.look.failure.is_some() => "failing",
            None if self.is_busy => "busy",
            None => "ready",
        }
    }
}

impl Answer for ListedFeed<'_> {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let FeedStatus {
            name,
            look,
            backlog,
        } = self.feed;
        let cursor = &look.cursor;
        out.write_all(name)?;
        match &look.paused {
            Some(why) if why.is_empty() => writeln!(out, "  paused")?,
            Some(why) => writeln!(out, "  paused: {why}")?,
            None => writeln!(out, "  {}", self.state())?,
        }
        if let Some(peer) = self.peer.filter(|peer| !peer.why.is_empty()) {
            let next = peer.next.map_or_else(String::new, |next| {
                format!(", next attempt at {}", text::utc(next))
            });
            let since = text::utc(peer.since);
            writeln!(out, "    {} since {since}{next}", peer.why)?;
        }
        if let Some(failure) = look.failure.as_ref().filter(|_| self.peer.is_none()) {
            let since = text::utc(failure.since);
            writeln!(out, "    {} since {since}", failure.why)?;
        }
        let articles = text::counted(backlog.articles, "article");
        let bytes = text::rough_bytes(backlog.bytes);
        writeln!(out, "    waiting {articles}, {bytes}{}", oldest(backlog))?;
        deferred(self.feed, out)?;
        let last = match i64::try_from(cursor.sent_at) {
            Ok(time) if time > 0 => format!(", last at {}", text::utc(time)),
            _ => String::new(),
        };
        let sent = text::counted(cursor.sent, "article");
        let bytes = text::rough_bytes(cursor.sent_bytes);
        writeln!(out, "    sent {sent}, {bytes}{last}")?;
        if cursor.skipped > 0 {
            let skipped = cursor.skipped;
            writeln!(out, "    expired before they were sent {skipped}")?;
        }
        let Some(peer) = self.peer else {
            return Ok(());
        };
        let connections = text::counted(peer.connections, "connection");
        writeln!(
            out,
            "    since the daemon started or was reloaded: {connections} now, offered {}, accepted {}, not wanted {}, refused {}, deferred {}, given up {}, {}",
            peer.offered,
            peer.accepted,
            peer.not_wanted,
            peer.refused,
            peer.deferred,
            peer.given_up,
            text::rough_bytes(peer.bytes)
        )?;
        for refusal in &peer.refusals {
            let answer = refusal.answer.replace('_', " ");
            writeln!(out, "    {answer} {}: {}", refusal.count, refusal.reason)?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let FeedStatus {
            name,
            look,
            backlog,
        } = self.feed;
        let cursor = &look.cursor;
        json!({
            "site": groups::shown(name),
            "state": self.state(),
            "paused": look.paused,
            "failure": look.failure.as_ref().map(|failure| &failure.why),
            "articles": backlog.articles,
            "bytes": backlog.bytes,
            "oldest_arrival": backlog.oldest,
            "deferred": look.deferred.len(),
            "position": cursor.position.0,
            "sent": cursor.sent,
            "sent_bytes": cursor.sent_bytes,
            "sent_at": (cursor.sent_at > 0).then_some(cursor.sent_at),
            "skipped": cursor.skipped,
            "peer": self.peer,
        })
    }
}

/// When the oldest waiting article arrived.
fn oldest(backlog: &Backlog) -> String {
    backlog.oldest.map_or_else(String::new, |time| {
        format!(", the oldest from {}", text::utc(time))
    })
}

fn deferred(feed: &FeedStatus<'_>, out: &mut dyn Write) -> io::Result<()> {
    match feed.look.deferred.len() as u64 {
        0 => Ok(()),
        count => writeln!(out, "    deferred {}", text::counted(count, "article")),
    }
}

/// A feed that is no longer a site, but for which articles wait.
struct LeftOver<'a>(&'a FeedStatus<'a>);

impl Answer for LeftOver<'_> {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let name = groups::shown(self.0.name);
        let articles = text::counted(self.0.backlog.articles, "article");
        let bytes = text::rough_bytes(self.0.backlog.bytes);
        writeln!(
            out,
            "{name}  no longer a site: remove feeds/{name} if the site does not return"
        )?;
        let oldest = oldest(&self.0.backlog);
        writeln!(out, "    waiting {articles}, {bytes}{oldest}")?;
        deferred(self.0, out)?;
        writeln!(
            out,
            "    under another name: `broadsheet feed reset NAME --to DATE' sends what arrived since then"
        )
    }

    fn json(&self) -> Value {
        let backlog = &self.0.backlog;
        json!({
            "site": groups::shown(self.0.name), "state": "no longer in sys",
            "articles": backlog.articles, "bytes": backlog.bytes,
            "oldest_arrival": backlog.oldest, "deferred": self.0.look.deferred.len(),
        })
    }
}
