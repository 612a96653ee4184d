//! `broadsheet pull`

use std::fs::File;
use std::io::{self, Seek, Write};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use daemon::client::{self, FileRequest};
use feed::serving;
use indicatif::{HumanBytes, ProgressBar};
use pull::marks::DIRECTORY;
use pull::{Error, Interest, News, Pulled, Source};
use relay::rnews::{self, Handed, Input, Summary, Watch};
use rustix::fs::{MemfdFlags, memfd_create};
use serde_json::{Value, json};
use settings::Settings;
use store::{Lock, Snapshot};

use crate::answer::Answer;
use crate::directory::{NewsDirectory, OWN_PROGRAM};
use crate::exit::{Meaning, Status};
use crate::flags::{Command, DIR, Flag, Given, JSON, Operands};
use crate::pull_status::{PullStatus, awake};
use crate::text;

/// The table.
pub static COMMAND: Command = Command {
    words: &["pull"],
    also: &[],
    summary: "fetch articles from servers where this site is a reader",
    about: "\
Fetches what is new from each server with a [[pull]] table, or from those named NAME: of the groups
in active that match its wildmat, the articles whose ids history does not know. They are filed like
those of rnews. The first time it takes the last articles of each group; how far it came is kept in
pull/NAME in the news directory, and moves on only when the articles are on the disk. With
post = true, posts made here go to the server first.

The daemon pulls by the schedule of the table. All servers are visited at the same time.

With rest_days, groups that no reader asks for rest. The daemon notes when readers ask, and pulls
at once when one asks for a group that rests; --status shows the state of each group.",
    operands: Operands {
        shown: "NAME...",
        least: 0,
        most: usize::MAX,
    },
    flags: &[
        DIR,
        Flag::new(
            "status",
            "Fetch nothing; print how far each group was read, and whether it rests.",
        ),
        JSON,
    ],
    exits: &[
        Meaning {
            status: Status::OK,
            when: "everything new is on the disk",
        },
        Meaning {
            status: Status::AGAIN,
            when: "a server failed or refused some of it, or another pull from it is running: what came is filed; retry later",
        },
    ],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let directory = directory.by_full_name()?;
    let settings = directory.settings()?.settings;
    let sources = chosen(given, &settings)?;
    let active = directory.active()?;
    let groups: Vec<Vec<u8>> = active.ids().map(|id| active.name(id).to_vec()).collect();
    let interest = Interest::read(directory.root())?;
    if given.has("status") {
        for source in &sources {
            let status = PullStatus::look(&directory, source, &groups, interest.as_ref())?;
            given.print(&status, out)?;
        }
        return Ok(Status::OK);
    }
    let marks = directory.file(DIRECTORY);
    // The marks in it count only when its own name is on the disk.
    store::make_directories(&marks, 0o777)
        .with_context(|| format!("cannot make {}", marks.display()))?;
    let shared = Shared {
        directory: &directory,
        settings: &settings,
        interest,
        are_feeds: Mutex::new(false),
        bar: crate::progress::bar("{pos}/{len} articles {wide_bar} {per_sec} {eta} {msg}"),
    };
    let visits: Vec<Visited> = std::thread::scope(|scope| {
        let threads = sources.iter().map(|source| {
            let (shared, groups) = (&shared, &groups);
            scope.spawn(move || shared.visit(source, groups))
        });
        let threads: Vec<_> = threads.collect();
        let joined = threads.into_iter().zip(&sources);
        joined
            .map(|(thread, source)| {
                thread.join().unwrap_or_else(|_| {
                    Visited::failed(source, "the program has an error".to_owned())
                })
            })
            .collect()
    });
    if let Some(bar) = &shared.bar {
        bar.finish_and_clear();
    }
    let mut status = Status::OK;
    for visited in &visits {
        if visited.why.is_some() {
            status = Status::AGAIN;
        }
        given.print(visited, out)?;
    }
    out.flush()?;
    let are_feeds = *shared
        .are_feeds
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    daemon::after_filing(directory.root(), OWN_PROGRAM, are_feeds);
    Ok(status)
}

/// The servers to visit.
fn chosen<'s>(given: &Given, settings: &'s Settings) -> anyhow::Result<Vec<&'s Source>> {
    let all = &settings.pulls;
    if given.operands.is_empty() {
        anyhow::ensure!(
            !all.is_empty(),
            "{} has no [[pull]] table: there is no server to pull from",
            settings::FILE
        );
        return Ok(all.iter().collect());
    }
    let mut chosen: Vec<&Source> = Vec::new();
    for name in &given.operands {
        let name = name.to_string_lossy();
        let hint =
            || groups::nearest::hint(&name, "", all.iter().map(|source| source.name.as_str()));
        let source = all
            .iter()
            .find(|source| *source.name == *name)
            .ok_or_else(|| anyhow::anyhow!("no [[pull]] table has the name `{name}'{}", hint()))?;
        // Two visits of one server would wait for each other's lock.
        if chosen.iter().all(|known| known.name != source.name) {
            chosen.push(source);
        }
    }
    Ok(chosen)
}

/// State that the threads of all servers share.
struct Shared<'a> {
    directory: &'a settings::NewsDirectory,
    settings: &'a Settings,
    /// When readers asked for each group.
    interest: Option<Interest>,
    /// Whether feeds want to be served at once; held while a batch is filed.
    are_feeds: Mutex<bool>,
    bar: Option<ProgressBar>,
}

impl Shared<'_> {
    fn visit(&self, source: &Source, groups: &[Vec<u8>]) -> Visited {
        let root = self.directory.root();
        // Two runs would move the same marks.
        let lock = format!("{DIRECTORY}/{}.lock", source.name);
        let _lock = match Lock::take_named(root, &lock, false) {
            Ok(lock) => lock,
            Err(store::Error::Locked(_)) => {
                return Visited::failed(source, "another pull from it is running".to_owned());
            }
            Err(error) => return Visited::failed(source, error.to_string()),
        };
        let mut news = Filing {
            shared: self,
            name: &source.name,
            summary: Summary::default(),
            shown: Pulled::default(),
        };
        let article_bytes_max = self.settings.limits.article_bytes_max;
        let (awake, resting) = awake(source, groups, self.interest.as_ref());
        let (pulled, result) = pull::pull(
            source,
            (root, &self.settings.name, &awake),
            article_bytes_max,
            &mut news,
        );
        Visited {
            name: source.name.clone(),
            pulled,
            summary: news.summary,
            resting,
            why: result.err().map(|error| error.to_string()),
        }
    }

    fn say(&self, text: &str) {
        let tell = || eprintln!("broadsheet: {text}");
        match &self.bar {
            Some(bar) => bar.suspend(tell),
            None => tell(),
        }
    }
}

/// Files the articles of one server.
struct Filing<'a> {
    shared: &'a Shared<'a>,
    name: &'a str,
    summary: Summary,
    /// The figures of the progress bar.
    shown: Pulled,
}

impl Filing<'_> {
    /// Files a batch with the daemon, or without it.
    fn file_input(&mut self, input: Input) -> anyhow::Result<rnews::Status> {
        let (directory, settings) = (self.shared.directory, self.shared.settings);
        let are_feeds = &self.shared.are_feeds;
        let mut are_feeds = are_feeds.lock().unwrap_or_else(PoisonError::into_inner);
        let request = FileRequest::default();
        let handed = client::file(directory.root(), vec![input], &request, false, self);
        self.summary.add(&handed.summary);
        if handed.left.is_empty() {
            return Ok(handed.status);
        }
        let (rules, options) = (settings.rules(), settings.filer_options());
        let Some(mut filer) = daemon::open_filer(directory, settings, rules, options, None)? else {
            anyhow::bail!("the lock is not free");
        };
        let outcome = rnews::run(&handed.left, &mut filer, &settings.rnews_options(), self);
        *are_feeds |= serving::done_filing(filer);
        self.summary.add(&outcome.summary);
        Ok(outcome.status.max(handed.status))
    }
}

impl News for Filing<'_> {
    fn snapshot(&mut self) -> Result<Snapshot, Error> {
        let snapshot = Snapshot::open(self.shared.directory.root())?;
        crate::tell_all(snapshot.notices().to_vec());
        Ok(snapshot)
    }

    fn file(&mut self, batch: Vec<u8>) -> Result<(), Error> {
        let fail = |error: io::Error| Error::Filing(format!("cannot pass a batch: {error}"));
        let file = memfd_create("pull", MemfdFlags::CLOEXEC).map_err(|errno| fail(errno.into()))?;
        let mut file = File::from(file);
        file.write_all(&batch)
            .and_then(|()| file.rewind())
            .map_err(fail)?;
        drop(batch);
        let input = Input::Handed(Handed {
            name: format!("articles of {}", self.name),
            tail: self.name.to_owned(),
            file: Arc::new(file),
            is_private: true,
        });
        match self.file_input(input) {
            // Refused articles are in the log, and their ids in history.
            Ok(rnews::Status::Fine | rnews::Status::Bad) => Ok(()),
            Ok(rnews::Status::Attention) => {
                Err(Error::Filing("the articles were not filed".to_owned()))
            }
            Err(error) => Err(Error::Filing(format!("{error:#}"))),
        }
    }

    fn message(&mut self, text: &str) {
        self.shared.say(&format!("{}: {text}", self.name));
    }

    fn progress(&mut self, pulled: &Pulled) {
        if let Some(bar) = &self.shared.bar {
            bar.inc_length(pulled.wanted - self.shown.wanted);
            let done = |pulled: &Pulled| {
                pulled.fetched
                    + pulled.gone
                    + pulled.too_large
                    + pulled.not_asked_for
                    + pulled.refused
                    + pulled.given_up
            };
            bar.inc(done(pulled) - done(&self.shown));
            bar.set_message(format!("{} {}", self.name, HumanBytes(pulled.bytes)));
        }
        self.shown = pulled.clone();
    }
}

impl Watch for Filing<'_> {
    fn message(&mut self, text: &str) {
        News::message(self, text);
    }
}

/// The result of a visit.
struct Visited {
    name: String,
    pulled: Pulled,
    summary: Summary,
    /// Groups that rest.
    resting: u64,
    /// Why it ended early.
    why: Option<String>,
}

impl Visited {
    fn failed(source: &Source, why: String) -> Visited {
        Visited {
            name: source.name.clone(),
            pulled: Pulled::default(),
            summary: Summary::default(),
            resting: 0,
            why: Some(why),
        }
    }
}

impl Answer for Visited {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let (pulled, filed) = (&self.pulled, &self.summary);
        let articles = text::counted(pulled.fetched, "article");
        write!(
            out,
            "{}: {articles} from {}",
            self.name,
            text::counted(pulled.groups, "group")
        )?;
        write!(
            out,
            "; {} accepted, {} refused, {} known",
            filed.accepted, filed.refused, pulled.known
        )?;
        for (count, what) in [
            (pulled.gone, "gone"),
            (pulled.too_large, "too large"),
            (pulled.not_asked_for, "not asked for"),
            (pulled.refused, "refused by the server"),
            (pulled.given_up, "given up"),
            (pulled.posted, "posted"),
            (pulled.posts_refused, "posts refused by the server"),
            (
                pulled.groups_renumbered,
                "groups numbered anew by the server",
            ),
            (pulled.groups_refused, "groups refused by the server"),
            (pulled.placeholders, "groups without articles at leafnode"),
            (self.resting, "groups at rest"),
        ] {
            if count > 0 {
                write!(out, ", {count} {what}")?;
            }
        }
        writeln!(out)?;
        if let Some(why) = &self.why {
            eprintln!("broadsheet: {}: {why}", self.name);
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let (pulled, filed) = (&self.pulled, &self.summary);
        json!({
            "server": self.name,
            "groups": pulled.groups,
            "groups_missing": pulled.groups_missing,
            "groups_resting": self.resting,
            "groups_renumbered": pulled.groups_renumbered,
            "groups_refused": pulled.groups_refused,
            "placeholders": pulled.placeholders,
            "fetched": pulled.fetched,
            "accepted": filed.accepted,
            "duplicates": filed.duplicates,
            "refused": filed.refused,
            "refused_by_server": pulled.refused,
            "given_up": pulled.given_up,
            "known": pulled.known,
            "gone": pulled.gone,
            "too_large": pulled.too_large,
            "not_asked_for": pulled.not_asked_for,
            "posted": pulled.posted,
            "posts_refused": pulled.posts_refused,
            "bytes": pulled.bytes,
            "why": self.why,
        })
    }
}
