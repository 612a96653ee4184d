//! One NNTP session without a daemon, or beside it: for inetd, ssh and the like. It files as rnews does, under the lock, which a daemon
//! lends.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SendError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use feed::serving::done_filing;
use server::{ArticleBatch, ArticleSink, Intake, TransferOutcome};
use store::Published;

use super::intake_queue::{IntakeQueue, IntakeState};
use super::lock::lock;
use super::mails::Mails;
use super::nntp_service;
use super::posts::Posts;
use super::request::RunningDaemon;
use super::sandbox::{Sandbox, Starter};
use super::{client, file_batches, journal, warn};
use crate::{failure, filing};
use settings::{NewsDirectory, Settings};

/// How long an article waits for other programs that file.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a reply of the daemon about its intake stays valid.
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// How long to wait for the daemon's reply.
const DAEMON_PATIENCE: Duration = Duration::from_secs(2);
/// Interval between checks whether other programs filed articles.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Serves one session over a socket to its end. `address` is that of the client; `None` means this machine. `program` is the path of broadsheet. Returns
/// whether it ended within an article.
///
/// # Errors
/// Errors of the settings and the store.
pub fn serve_one(
    directory: &NewsDirectory,
    socket: OwnedFd,
    address: Option<SocketAddr>,
    program: &Path,
) -> anyhow::Result<bool> {
    let settings = directory.settings()?.settings;
    journal::set_format(&settings.log_format);
    let certificates = nntp_service::certificates(directory, &settings)?;
    let published = Published::new();
    let (sandbox, starter) = (
        Sandbox::new(directory.root(), settings.sandbox),
        Starter::start()?,
    );
    objects::start_threads_by(starter.for_clients(&sandbox));
    let (free, work) = sync_channel(0);
    let alone = Arc::new(Alone {
        directory: directory.clone(),
        program: program.to_owned(),
        settings: settings.clone(),
        published: published.clone(),
        looked: Mutex::new((Instant::now(), None)),
        intake_state: IntakeQueue::default(),
        asked: Mutex::default(),
        starter: starter.clone(),
        free,
    });
    alone
        .intake_state
        .watch_disk(directory.root(), settings.nntp.keep_free);
    let filing = alone.clone();
    let thread = std::thread::Builder::new().name("filing".to_owned());
    thread.spawn(move || filing.do_what_comes(&work))?;
    let confining = (&sandbox, &starter);
    let plan = nntp_service::plan(
        directory,
        &settings,
        (alone, published),
        confining,
        certificates,
    );
    // Only this thread is confined.
    Ok(server::serve_one(plan, socket, address)?)
}

/// Files without the daemon.
struct Alone {
    directory: NewsDirectory,
    /// The path of the program broadsheet.
    program: PathBuf,
    settings: Settings,
    published: Arc<Published>,
    /// The time of the last check for other programs' articles, and the modification time of the index then.
    looked: Mutex<(Instant, Option<SystemTime>)>,
    /// The state of the disk; no articles are queued.
    intake_state: IntakeQueue,
    /// The time of the last request to a daemon, and its reason for accepting no articles.
    asked: Mutex<Option<(Instant, Option<Arc<str>>)>>,
    starter: Starter,
    free: SyncSender<FreeWork>,
}

/// Work of the thread that is not confined, and the channel for its result.
enum FreeWork {
    /// Files a batch.
    File(ArticleBatch, SyncSender<()>),
    /// Asks the daemon for its status: the thread of the session may not connect to control.sock.
    AskDaemon(SyncSender<Option<RunningDaemon>>),
}

impl Alone {
    /// Files, starts programs and asks the daemon, in a thread that is not confined.
    fn do_what_comes(&self, work: &Receiver<FreeWork>) {
        for work in work {
            // The session waits for the result.
            match work {
                FreeWork::File(batch, done) => {
                    self.file_here(batch);
                    let _ = done.send(());
                }
                FreeWork::AskDaemon(told) => {
                    let root = self.directory.root();
                    let _ = told.send(client::status_within(root, DAEMON_PATIENCE));
                }
            }
        }
    }

    fn file_here(&self, batch: ArticleBatch) {
        let intake_queue = IntakeQueue::default();
        intake_queue.put(batch);
        if let Err(error) = self.file_all(&intake_queue) {
            warn(&failure::text_of(&error));
            let outcome = TransferOutcome::Deferred(file_batches::told(&error).as_bytes().to_vec());
            while let Some(mut batch) = intake_queue.take(Duration::ZERO) {
                batch.set_remaining(&outcome);
                batch.return_to_sender();
            }
        }
    }

    fn file_all(&self, intake_queue: &IntakeQueue) -> anyhow::Result<()> {
        let settings = &self.settings;
        let root = self.directory.root();
        let mails = Mails::new(root, settings.mailer(&self.directory), &self.starter);
        let posts = Posts::new(&self.directory, settings, mails);
        let (rules, options) = (settings.rules(), settings.filer_options());
        let filer = filing::open_filer(&self.directory, settings, rules, options, Some(PATIENCE))?;
        let Some(mut filer) = filer else {
            anyhow::bail!("other programs are filing; try again later");
        };
        let commit_bytes = settings.rnews_options().commit_bytes;
        let filed = file_batches::file(intake_queue, &mut filer, &posts, commit_bytes, &|| false);
        let are_feeds = done_filing(filer);
        filing::after_filing(self.directory.root(), &self.program, are_feeds);
        self.look();
        filed.stopped.map_or(Ok(()), Err)
    }

    /// The reason why the daemon of this news directory accepts no articles: it applies to this session too. The daemon is asked at
    /// intervals, so that a client with many articles does not keep it busy.
    fn closed_by_daemon(&self) -> Option<Arc<str>> {
        let mut asked = lock(&self.asked);
        if let Some((when, told)) = &*asked
            && when.elapsed() < ASK_AGAIN
        {
            return told.clone();
        }
        let (told, wait) = sync_channel(1);
        // The thread ends with the process only.
        let _ = self.free.send(FreeWork::AskDaemon(told));
        let daemon = wait.recv().ok().flatten();
        let intake = daemon.map(|daemon| daemon.status.intake);
        let closed = intake.filter(|intake| intake.state == IntakeState::Paused.word());
        let why = closed.map(|intake| Arc::from(intake.why));
        *asked = Some((Instant::now(), why.clone()));
        why
    }

    fn look(&self) {
        if let Err(error) = self.published.read_again(self.directory.root()) {
            warn(&error.to_string());
        }
    }
}

impl ArticleSink for Alone {
    fn file(&self, batch: ArticleBatch) {
        let (done, wait) = sync_channel(1);
        if let Err(SendError(FreeWork::File(mut batch, _))) =
            self.free.send(FreeWork::File(batch, done))
        {
            // The thread ends with the process only.
            batch.set_remaining(&TransferOutcome::Deferred(b"Cannot file now".to_vec()));
            batch.return_to_sender();
        }
        // The batch was returned before; the filed articles are visible to the next query.
        let _ = wait.recv();
    }

    fn intake(&self) -> Intake {
        if let Some(why) = self.closed_by_daemon() {
            return Intake::Closed(why);
        }
        self.intake_state.look_at_disk();
        self.intake_state.intake()
    }

    fn log(&self, event: &server::Event<'_>) {
        journal::note_event(event);
    }

    fn before_work(&self) {
        let mut looked = lock(&self.looked);
        if looked.0.elapsed() < LOOK_AGAIN {
            return;
        }
        looked.0 = Instant::now();
        // Each commit updates the mapped index, which does not change its modification time; but the commit writes `active` before.
        let written = std::fs::metadata(self.directory.file("active"));
        let written = written.and_then(|told| told.modified()).ok();
        if written != looked.1 {
            looked.1 = written;
            drop(looked);
            self.look();
        }
    }
}
