//! One NNTP session without a daemon, or beside it: for inetd, ssh and the like. It files as rnews does, under the lock, which a daemon
//! lends.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use server::{Intake, Newsroom, Outcome, Parcel};
use store::Board;

use super::door;
use super::lock::lock;
use super::posts::Posts;
use super::silo::Silo;
use super::tray::Tray;
use super::{say, wire};
use crate::directory::NewsDirectory;
use crate::settings::Settings;
use crate::{failure, filing, serving};

/// How long an article waits for others that file.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often it is looked whether others filed.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Serves one session over a socket to its end. `address`: where it comes from; `None`: this machine.
///
/// # Errors
/// Those of the settings and the store.
pub fn serve_one(
    directory: &NewsDirectory,
    socket: OwnedFd,
    address: Option<SocketAddr>,
) -> anyhow::Result<()> {
    let settings = directory.settings()?.settings;
    let certificates = door::certificates(directory, &settings)?;
    let board = Board::new();
    let alone = Arc::new(Alone {
        directory: directory.clone(),
        settings: settings.clone(),
        board: board.clone(),
        looked: Mutex::new((Instant::now(), None)),
    });
    let plan = door::plan(directory, &settings, (alone, board), certificates);
    Ok(server::serve_one(plan, socket, address)?)
}

/// Files by itself.
struct Alone {
    directory: NewsDirectory,
    settings: Settings,
    board: Arc<Board>,
    /// When others' work was looked for last, and when the index was written then.
    looked: Mutex<(Instant, Option<SystemTime>)>,
}

impl Alone {
    fn file_all(&self, tray: &Tray) -> anyhow::Result<()> {
        let settings = &self.settings;
        let posts = Posts::new(&self.directory, settings)?;
        let (rules, options) = (settings.rules(), settings.filer_options());
        let filer = filing::open(&self.directory, settings, rules, options, Some(PATIENCE))?;
        let Some(mut filer) = filer else {
            anyhow::bail!("other programs are filing; try again later");
        };
        let mut silo = Silo::new(Instant::now());
        let commit_bytes = settings.rnews_options().commit_bytes;
        let turn = wire::file(tray, &mut filer, &posts, &mut silo, commit_bytes, &|| false);
        let are_feeds = serving::done_filing(filer);
        serving::after_filing(&self.directory, are_feeds);
        self.look();
        turn.stopped.map_or(Ok(()), Err)
    }

    fn look(&self) {
        if let Err(error) = self.board.read_again(self.directory.root()) {
            say(&error.to_string());
        }
    }
}

impl Newsroom for Alone {
    fn file(&self, parcel: Parcel) {
        let tray = Tray::default();
        tray.put(parcel);
        if let Err(error) = self.file_all(&tray) {
            say(&failure::text_of(&error));
            let outcome = Outcome::TryLater(wire::told(&error).as_bytes().to_vec());
            while let Some(mut parcel) = tray.take(Duration::ZERO) {
                parcel.judge_rest(&outcome);
                parcel.send_back();
            }
        }
    }

    fn intake(&self) -> Intake {
        Intake::Open
    }

    fn before_turn(&self) {
        let mut looked = lock(&self.looked);
        if looked.0.elapsed() < LOOK_AGAIN {
            return;
        }
        looked.0 = Instant::now();
        // Each commit ends with a mark in the mapped index, which tells no time; but it writes `active` before that.
        let written = std::fs::metadata(self.directory.file("active"));
        let written = written.and_then(|told| told.modified()).ok();
        if written != looked.1 {
            looked.1 = written;
            drop(looked);
            self.look();
        }
    }
}
