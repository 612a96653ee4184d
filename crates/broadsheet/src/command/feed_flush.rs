//! `broadsheet feed flush`

use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use feed::site_state;
use groups::sites::Via;
use serde_json::{Value, json};
use settings::SystemZone;
use store::{Position, Snapshot};

use crate::answer::Answer;
use crate::directory::{NewsDirectory, OWN_PROGRAM};
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::text;
use daemon::client;
use feed::feeds;
use feed::serving::{Served, Serving, serve_immediate, why_it_waits};

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
If the daemon runs, the articles go to the daemon's program, or over its connections to the peer.",
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
    let sites = directory.sys(&settings)?;
    if given.has("at-once") {
        // The end of who filed, or of his terminal, is not ours. It fails where we lead a group already, which does as well.
        let _ = rustix::process::setsid();
        serve_immediate(
            directory.root(),
            (&sites, SystemZone::read()),
            Path::new(OWN_PROGRAM),
            &daemon::say,
        )?;
        return Ok(Status::OK);
    }
    let mut snapshot = Snapshot::open(directory.root())?;
    crate::tell_all(feeds::introduce(directory.root(), &sites, snapshot.end())?);
    let chosen = feeds::chosen(&sites, &given.operands)?;
    let mut serving = Serving::new(directory.root(), &sites, Path::new(OWN_PROGRAM));
    serving.zone = SystemZone::read();
    let names: Vec<&[u8]> = chosen.iter().map(|(name, _)| *name).collect();
    serving.plan(&names, &snapshot)?;
    let mut status = Status::OK;
    for (name, site) in chosen {
        let shown = site_state::shown(name);
        let is_kept = matches!(site.via, Via::Program { .. } | Via::Nntp(_));
        let is_the_daemons = is_kept && client::status(directory.root()).is_some();
        let served = match is_the_daemons {
            true => by_the_daemon(&directory, name, snapshot.end()),
            false => serving.serve(name, site, &mut snapshot),
        };
        let (articles, why) = match served {
            Ok(served) => (articles(&served), why_it_waits(&served)),
            Err(error) => (0, Some(error.to_string())),
        };
        if why.is_some() {
            status = Status::NO;
        }
        let flushed = Flushed {
            site: shown,
            articles,
            why,
        };
        given.print(&flushed, out)?;
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

/// The daemon runs the program, or has the connections to the peer, and nobody else may beside it: it is called, and we wait until the
/// cursor is where the log ended.
fn by_the_daemon(
    directory: &NewsDirectory,
    name: &[u8],
    end: Position,
) -> Result<Served, feed::Error> {
    let root = directory.root();
    let look = || {
        site_state::look(root, name)?.ok_or_else(|| feed::Error::Unknown(site_state::shown(name)))
    };
    let before = look()?.cursor.sent;
    client::look_at_feeds(root);
    let began = Instant::now();
    loop {
        let now = look()?;
        if let Some(why) = now.paused {
            return Ok(Served::Paused(why));
        }
        let has_all = now.cursor.position >= end;
        let looks = client::status(root).map_or(Vec::new(), |daemon| daemon.status.peers);
        let shown = site_state::shown(name);
        let peer = looks.into_iter().find(|peer| peer.site == shown);
        if !has_all
            && began.elapsed() > FAILING_AFTER
            && let Some(peer) =
                peer.filter(|peer| matches!(peer.state.as_str(), "failing" | "paused"))
        {
            return Ok(Served::Delivered {
                articles: now.cursor.sent.saturating_sub(before),
                waits: Some(peer.why),
            });
        }
        if has_all || began.elapsed() > DAEMON_PATIENCE {
            let waits = (!has_all).then(|| "the daemon has not sent all articles yet".to_owned());
            return Ok(Served::Delivered {
                articles: now.cursor.sent.saturating_sub(before),
                waits,
            });
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn articles(served: &Served) -> u64 {
    match served {
        Served::Sent(sent) => sent.articles,
        Served::Delivered { articles, .. } => *articles,
        Served::Paused(_) => 0,
    }
}
