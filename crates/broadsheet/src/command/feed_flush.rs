//! `broadsheet feed flush`

use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use feed::site_state::{self, SiteSummary};
use groups::sites::{Site, Via};
use relay::Now;
use serde_json::{Value, json};
use settings::SystemZone;
use store::Position;

use crate::answer::Answer;
use crate::directory::{NewsDirectory, OWN_PROGRAM};
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::text;
use daemon::FedPeer;
use daemon::client;
use feed::deferred::Deferred;
use feed::feeds;
use feed::serving::{Served, ServedFeed, Serving, serve_immediate, why_it_waits};

/// How long the daemon's program is waited for, and how often it is looked how far it is.
const DAEMON_PATIENCE: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How long a peer that fails, or whose hours have not come, has for another attempt.
const FAILING_AFTER: Duration = Duration::from_millis(500);

/// The table.
pub static COMMAND: Command = Command {
    words: &["feed", "flush"],
    also: &[],
    summary: "send the waiting articles of sites now",
    about: "\
Serves each SITE, or every site, once, whatever its schedule: sends batches, writes the lines of its
file, passes articles to its program or command, or files them in the other news directory. A
program that was started for it gets end of file at the end, and the command waits for it to exit.
If the daemon runs, the articles go to the daemon's program, or over its connections to the peer.
Articles that a peer deferred are offered at once.",
    operands: Operands {
        shown: "SITE...",
        least: 0,
        most: usize::MAX,
    },
    flags: &[
        DIR,
        JSON,
        Flag::new(
            "at-once",
            "Only sites that are fed as articles are filed, in a session of its own. rnews runs this when it has \
            filed and no daemon is running.",
        ),
    ],
    exits: &[
        Meaning {
            status: Status::OK,
            when: "no articles wait any more",
        },
        Meaning {
            status: Status::NO,
            when: "articles wait; the reason is reported",
        },
    ],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    let permit = crate::cluster_feeds::may_feed(&directory, &settings)?;
    let sites = directory.sys(&settings)?;
    if given.has("at-once") {
        // The end of who filed, or of his terminal, is not ours. It fails where we lead a group already, which does as well.
        let _ = rustix::process::setsid();
        serve_immediate(
            directory.root(),
            (&sites, SystemZone::read(), permit.as_ref()),
            Path::new(OWN_PROGRAM),
            &daemon::say,
        )?;
        return Ok(Status::OK);
    }
    let mut snapshot = directory.snapshot()?;
    crate::tell_all(feeds::introduce(directory.root(), &sites, snapshot.end())?);
    let chosen = feeds::chosen(&sites, &given.operands)?;
    let has_daemon = client::status(directory.root()).is_some();
    let (daemons, ours): (Vec<_>, Vec<_>) = chosen.into_iter().partition(|(_, site)| {
        has_daemon && matches!(site.via, Via::Program { .. } | Via::Nntp(_))
    });
    let (peers, others): (Vec<_>, Vec<_>) = ours
        .into_iter()
        .partition(|(_, site)| matches!(site.via, Via::Nntp(_)));
    let mut call = Call::new(directory.root(), &daemons, snapshot.end())?;
    let mut serving = Serving::new(directory.root(), &sites, Path::new(OWN_PROGRAM));
    serving.zone = SystemZone::read();
    serving.is_asked = true;
    serving.notice = &daemon::say;
    if let Some(permit) = &permit {
        serving.limit = serving.limit.within(permit);
    }
    let names: Vec<&[u8]> = others.iter().map(|(name, _)| *name).collect();
    serving.plan(&names, &snapshot);
    let mut status = Status::OK;
    let mut report = |name: &[u8], served: Result<Served, feed::Error>| {
        let (articles, why) = match served {
            Ok(served) => (articles(&served), why_it_waits(&served)),
            Err(error) => (0, Some(error.to_string())),
        };
        if why.is_some() {
            status = Status::NO;
        }
        let site = groups::shown(name);
        given.print(
            &Flushed {
                site,
                articles,
                why,
            },
            out,
        )
    };
    for (name, site) in others {
        report(name, serving.serve(name, site, &mut snapshot))?;
    }
    // These take long where a peer is slow.
    if !peers.is_empty() {
        for (name, served) in serving.serve_peers(&peers)? {
            report(name, served)?;
        }
    }
    while let Some((name, served)) = call.next() {
        report(name, served)?;
    }
    Ok(status)
}

/// The result of serving one feed.
struct Flushed {
    site: String,
    articles: u64,
    /// The reason why articles still wait.
    why: Option<String>,
}

impl Answer for Flushed {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let articles = text::counted(self.articles, "article");
        writeln!(out, "{}: {articles}", self.site)?;
        if let Some(why) = &self.why {
            eprintln!("broadsheet: {}: {why}", self.site);
        }
        Ok(())
    }

    fn json(&self) -> Value {
        json!({ "site": self.site, "articles": self.articles, "why": self.why })
    }
}

/// A call to the daemon to serve its feeds now. Only the daemon runs their programs and has the connections to their peers, so the
/// command waits until their cursors are where the log ended.
struct Call<'a> {
    root: &'a Path,
    end: Position,
    began: Instant,
    /// When it began, seconds since 1970.
    began_at: i64,
    /// The feeds that it still serves, with the number of articles that they had got before.
    feeds: Vec<(&'a [u8], u64)>,
}

impl<'a> Call<'a> {
    /// Calls the daemon, if it has any feeds. `end`: the end of the log.
    fn new(
        root: &'a Path,
        feeds: &[(&'a [u8], &Site)],
        end: Position,
    ) -> Result<Call<'a>, feed::Error> {
        let began_at = Now::read().seconds;
        let before = |name| Ok((name, look(root, name)?.cursor.sent));
        let feeds: Vec<_> = feeds
            .iter()
            .map(|(name, _)| before(*name))
            .collect::<Result<_, feed::Error>>()?;
        for (name, _) in &feeds {
            client::look_at_feed(root, name);
        }
        Ok(Call {
            root,
            end,
            began: Instant::now(),
            began_at,
            feeds,
        })
    }

    /// Waits until a feed has all articles, or they will wait; returns its result. `None`: no feed is left.
    fn next(&mut self) -> Option<ServedFeed<'a>> {
        loop {
            if self.feeds.is_empty() {
                return None;
            }
            let daemon = client::status(self.root);
            let peers = daemon.map_or(Vec::new(), |daemon| daemon.status.peers);
            let mut results = self.feeds.iter().enumerate();
            let done = results.find_map(|(at, (name, before))| {
                let served = self.result(name, *before, &peers).transpose()?;
                Some((at, served))
            });
            if let Some((at, served)) = done {
                let (name, _) = self.feeds.remove(at);
                return Some((name, served));
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// The result of a feed. `None`: the daemon still serves it.
    fn result(
        &self,
        name: &[u8],
        before: u64,
        peers: &[FedPeer],
    ) -> Result<Option<Served>, feed::Error> {
        let now = look(self.root, name)?;
        if let Some(why) = now.paused {
            return Ok(Some(Served::Paused(why)));
        }
        let delivered = |waits| {
            Ok(Some(Served::Delivered {
                articles: now.cursor.sent.saturating_sub(before),
                waits,
            }))
        };
        let is_offered = |article: &Deferred| article.offered_at() >= self.began_at;
        if now.cursor.position >= self.end && now.deferred.iter().all(is_offered) {
            return delivered(match now.deferred.len() as u64 {
                0 => None,
                count => Some(format!(
                    "the peer deferred {}; see `broadsheet feed list'",
                    text::counted(count, "article")
                )),
            });
        }
        let shown = groups::shown(name);
        let mut stopped = peers
            .iter()
            .filter(|peer| matches!(peer.state.as_str(), "failing" | "paused"));
        match stopped.find(|peer| peer.site == shown) {
            Some(peer) if self.began.elapsed() > FAILING_AFTER => delivered(Some(peer.why.clone())),
            _ if self.began.elapsed() > DAEMON_PATIENCE => {
                delivered(Some("the daemon has not sent all articles yet".to_owned()))
            }
            _ => Ok(None),
        }
    }
}

fn look(root: &Path, name: &[u8]) -> Result<SiteSummary, feed::Error> {
    site_state::look(root, name)?.ok_or_else(|| feed::Error::NoCursor(groups::shown(name)))
}

fn articles(served: &Served) -> u64 {
    match served {
        Served::Sent(sent) => sent.articles,
        Served::Delivered { articles, .. } => *articles,
        Served::Paused(_) => 0,
    }
}
