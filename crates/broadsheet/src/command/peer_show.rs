//! `broadsheet peer show`

use std::io::{self, Write};

use anyhow::Context;
use daemon::client;
use feed::feeds::{self, FeedStatus};
use groups::sites::Via;
use serde_json::{Value, json};

use super::peer_add::{OWN_HOST, lines_json, own_host, write_lines};
use crate::answer::Answer;
use crate::directory::NewsDirectory;
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Given, JSON, Operands};
use crate::peer::entry::{self, Direction};
use crate::peer::exchanged::ExchangedGroups;
use crate::peer::lines::{Headers, Lines, Ours, for_others};
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["peer", "show"],
    also: &[],
    summary: "show a peer, and the lines for its administrator",
    about: "\
Prints how a peer is fed and what waits for it, the addresses from which it may feed us, and the
lines that the administrator of the other site needs: for Broadsheet, and for INN.",
    operands: Operands {
        shown: "NAME",
        least: 1,
        most: 1,
    },
    flags: &[DIR, JSON, OWN_HOST],
    exits: &[Meaning {
        status: Status::NO,
        when: "there is no such peer",
    }],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    let name = given.operands.first();
    let name = name
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let sites = directory.sys(&settings)?;
    let site = sites.feed(name.as_bytes());
    let via = site.and_then(|site| match &site.via {
        Via::Nntp(via) => Some(via),
        _ => None,
    });
    let mut entries = settings.access.entries.iter();
    let entry = entries.find(|entry| entry.name == name && entry.place.is_some());
    let direction = match (via, entry) {
        (Some(_), Some(_)) => Direction::Both,
        (Some(_), None) => Direction::Out,
        (None, Some(_)) => Direction::In,
        (None, None) => {
            eprintln!(
                "broadsheet: no [[site]] with `via = {{ nntp = ... }}' and no [[access]] is named `{name}': `peer add' makes them"
            );
            return Ok(Status::NO);
        }
    };
    let path = directory.file(settings::FILE);
    let toml = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let sent = settings::patterns_of_site(&toml, &name)?.unwrap_or_else(|| "all".to_owned());
    let taken = entry.map_or("*", |entry| entry.send.as_str());
    let own = match own_host(given)? {
        Some(own) => Some(own),
        None => settings::own_host_for(&toml, &name)?,
    };
    let bind = via.and_then(|via| via.server.bind);
    let lines = for_others(
        &Ours::of(&settings, own.as_deref(), bind),
        direction,
        &ExchangedGroups::of_patterns(&sent),
        &ExchangedGroups::of_send(taken, &directory.active()?),
        Headers {
            sent: via.is_some_and(|via| via.headfeed),
            taken: entry.is_some_and(|entry| entry.headfeed) && settings.headers_only,
        },
    );
    let snapshot = directory.snapshot()?;
    crate::tell_all(feeds::introduce(directory.root(), &sites, snapshot.end())?);
    let names = via.map(|_| name.as_bytes());
    let (told, untold) = feeds::backlogs(directory.root(), &sites, &snapshot, names.into_iter());
    let peers = client::status(directory.root()).map_or(Vec::new(), |daemon| daemon.status.peers);
    for (_, error) in &untold {
        eprintln!("broadsheet: {name}: {error}");
    }
    let shown = Shown {
        name: &name,
        address: via.map(|via| entry::address(&via.server)),
        status: told.first(),
        failing: peers
            .iter()
            .find(|peer| peer.site == name && peer.is_failing())
            .map(|peer| format!("{} since {}", peer.why, text::utc(peer.since))),
        from: entry.map(|entry| entry.from.iter().map(ToString::to_string).collect()),
        taken,
        sent: &sent,
        lines,
    };
    given.print(&shown, out)?;
    Ok(Status::OK)
}

/// A peer.
struct Shown<'a> {
    name: &'a str,
    /// Where we feed it.
    address: Option<String>,
    status: Option<&'a FeedStatus<'a>>,
    /// Why the daemon cannot feed it.
    failing: Option<String>,
    /// From where it feeds us.
    from: Option<Vec<String>>,
    taken: &'a str,
    sent: &'a str,
    lines: Vec<Lines>,
}

impl Answer for Shown<'_> {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", self.name)?;
        if let Some(address) = &self.address {
            writeln!(out, "    we feed it: {} to {address}", self.sent)?;
        }
        if let Some(FeedStatus { look, backlog, .. }) = self.status {
            let state = match &look.paused {
                Some(why) if why.is_empty() => "paused".to_owned(),
                Some(why) => format!("paused: {why}"),
                None => match &self.failing {
                    Some(why) => format!("failing: {why}"),
                    None => "ready".to_owned(),
                },
            };
            let waiting = text::counted(backlog.articles, "article");
            let sent = text::counted(look.cursor.sent, "article");
            writeln!(out, "    {state}, waiting {waiting}, sent {sent}")?;
        }
        if let Some(from) = &self.from {
            let from = from.join(", ");
            writeln!(out, "    it feeds us: {} from {from}", self.taken)?;
        }
        writeln!(out)?;
        write_lines(&self.lines, out)
    }

    fn json(&self) -> Value {
        json!({
            "name": self.name,
            "address": self.address,
            "groups": self.address.as_ref().map(|_| self.sent),
            "paused": self.status.map(|status| status.look.paused.is_some()),
            "waiting": self.status.map(|status| status.backlog.articles),
            "sent": self.status.map(|status| status.look.cursor.sent),
            "from": self.from,
            "send": self.from.as_ref().map(|_| self.taken),
            "lines": lines_json(&self.lines),
        })
    }
}
