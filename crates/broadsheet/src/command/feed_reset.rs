//! `broadsheet feed reset`

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use article::date;
use feed::cursor::{Cursor, CursorFile};
use feed::site_directory;
use feed::site_state::SiteState;
use feed::start::{self, Start};
use store::{Position, Snapshot};

use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Command, DIR, Flag, Given, Operands};
use daemon::client;
use feed::feeds;
use settings::SystemZone;

/// How long to wait for a busy site, and the retry interval.
const PATIENCE: Duration = Duration::from_secs(5);
const ASK_EVERY: Duration = Duration::from_millis(10);

/// The table.
pub static COMMAND: Command = Command {
    words: &["feed", "reset"],
    also: &[],
    summary: "move the cursor of a site",
    about: "\
Sets the place in the log where the feed of the site continues. If it moves back, articles are sent
again (the site rejects duplicates); if it moves forward, the articles between are not sent, nor are
those that the site has deferred. For articles that were filed before the site was configured, the
current subscription decides.

  broadsheet feed reset SITE --to oldest
  broadsheet feed reset SITE --to '20 Nov 2026'
  broadsheet feed reset SITE --to '<id@host>'",
    operands: Operands {
        shown: "SITE...",
        least: 1,
        most: usize::MAX,
    },
    flags: &[
        DIR,
        Flag::new(
            "to",
            "`now', `oldest', a date (the first article that arrived then or later), a Message-ID, or a position \
            in the log.",
        )
        .value("WHERE"),
    ],
    exits: &[],
    run,
};

fn run(given: &Given, out: &mut dyn Write) -> anyhow::Result<Status> {
    let directory = NewsDirectory::meant(given)?;
    let settings = directory.settings()?.settings;
    crate::cluster_feeds::must_be_here(&directory, &settings)?;
    let sys = directory.sys(&settings)?;
    let snapshot = directory.snapshot()?;
    crate::tell_all(feeds::introduce(directory.root(), &sys, snapshot.end())?);
    let to = given.value("to").ok_or_else(|| {
        given.usage("the new position is missing: add --to with now, oldest, a date, a Message-ID or a position")
    })?;
    let position = position(&snapshot, to.as_bytes()).ok_or_else(|| {
        given.usage(format!(
            "--to `{}' is not now, oldest, a date, a Message-ID in history, or a position",
            to.to_string_lossy()
        ))
    })??;
    let names = feeds::names(&sys);
    for site in &given.operands {
        let name = site.as_bytes();
        match take(directory.root(), name) {
            Ok(mut place) => place.reset(position)?,
            Err(feed::Error::Cursor(_) | feed::Error::NoCursor(_) | feed::Error::Unknown(_))
                if names.contains(&name) =>
            {
                let cursor = Cursor::new(position);
                let site = site_directory::directory(directory.root(), name)?;
                store::make_directories(&site, 0o777)?;
                CursorFile::create(&site, cursor)?;
                take(directory.root(), name)?.reset(position)?;
            }
            Err(error) => return Err(error.into()),
        }
        client::look_at_feed(directory.root(), name);
        writeln!(out, "{}: position {}", site.to_string_lossy(), position.0)?;
    }
    Ok(Status::OK)
}

/// Waits a little for who serves the site at this moment, such as the daemon.
fn take(root: &Path, name: &[u8]) -> Result<SiteState, feed::Error> {
    let began = Instant::now();
    let mut is_called = false;
    loop {
        match SiteState::take_only(root, name) {
            Err(feed::Error::Busy(_)) if began.elapsed() < PATIENCE => {
                if !std::mem::replace(&mut is_called, true) {
                    // It leaves the site to us when what is in flight is answered.
                    client::look_at_feed(root, name);
                }
                std::thread::sleep(ASK_EVERY);
            }
            taken => return taken,
        }
    }
}

/// The position that a word stands for. `None`: it is no such word.
fn position(snapshot: &Snapshot, word: &[u8]) -> Option<Result<Position, feed::Error>> {
    if let Some(number) = article::decimal::parse(word) {
        let within = snapshot.oldest().0..=snapshot.end().0;
        return Some(Ok(Position(number.clamp(*within.start(), *within.end()))));
    }
    let start = match word {
        b"now" => Start::Now,
        b"oldest" => Start::Oldest,
        id if id.starts_with(b"<") => {
            return match snapshot.history_line(id) {
                Ok(line) => line?.position.map(Ok),
                Err(error) => Some(Err(error.into())),
            };
        }
        date => Start::Date(date::parse(date, &SystemZone)?),
    };
    Some(start::position(snapshot, start))
}
