//! What other threads see of the writer: they bring jobs, and may ask what it is at.

use std::fs::File;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex};

use relay::incoming::Name;
use relay::incoming::drain::LEFT_MAX;
use server::{ArticleBatch, ArticleSink, Intake};
use store::Published;

use super::connection::Client;
use super::daemon_status::DaemonStatus;
use super::feeders::Feeders;
use super::feeds::Feeds;
use super::intake_queue::IntakeQueue;
use super::journal;
use super::lock::lock;
use super::nntp_service::NntpService;
use super::request::FileRequest;
use super::sandbox::Sandbox;

/// So many jobs may wait; who brings more stands in the line before it.
pub const JOBS_MAX: usize = 64;

/// Something to be done.
#[derive(Debug)]
pub enum Job {
    /// Files a batch.
    File {
        /// By these flags.
        request: FileRequest,
        /// From here.
        file: Arc<File>,
        /// Who is told.
        client: Client,
    },
    /// Lends the lock until the connection ends.
    Lend(UnixStream),
    /// Reads the settings again, and tells who asked.
    Reload(Option<Client>),
    /// Looks what is due.
    Look,
}

/// What the writer is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The spool is not open.
    Closed,
    /// The lock is lent.
    Lent,
    /// The spool is open, and nothing to do.
    Idle,
    /// A job is being done.
    Busy,
}

impl State {
    /// For people.
    pub fn word(self) -> &'static str {
        match self {
            State::Closed => "closed",
            State::Lent => "lent",
            State::Idle => "idle",
            State::Busy => "busy",
        }
    }
}

/// What other threads see of the writer.
pub struct WriterHandle {
    pub(super) jobs: SyncSender<Job>,
    pub(super) state: Mutex<State>,
    pub(super) changed: Condvar,
    pub(super) is_stopping: AtomicBool,
    pub(super) is_reload_due: AtomicBool,
    pub(super) is_drain_due: AtomicBool,
    /// Files of in.coming/ that were written to, or moved there, though they may have been tried before.
    pub(super) fresh: Mutex<Vec<Name>>,
    /// A thread waits for the end of another drain.
    pub(super) is_another_at_it: AtomicBool,
    /// Jobs that were brought and not begun.
    pub(super) waiting: AtomicUsize,
    pub(super) loan: Mutex<Option<UnixStream>>,
    /// What was committed.
    pub(super) published: Arc<Published>,
    /// The news directory.
    pub(super) dir: PathBuf,
    pub(super) feeds: Arc<Feeds>,
    pub(super) feeders: Mutex<Option<Feeders>>,
    /// What came over NNTP.
    pub(super) intake_queue: Arc<IntakeQueue>,
    /// Serves it.
    pub(super) nntp_service: Mutex<Option<NntpService>>,
    /// Confines threads.
    pub(super) sandbox: Arc<Sandbox>,
}

impl ArticleSink for WriterHandle {
    fn file(&self, batch: ArticleBatch) {
        if self.intake_queue.put(batch) {
            self.look();
        }
    }

    fn intake(&self) -> Intake {
        self.intake_queue.intake()
    }

    fn log(&self, event: &server::Event<'_>) {
        journal::note_event(event);
    }
}

impl WriterHandle {
    /// Closed as yet. `jobs`: to the thread.
    pub fn new(
        jobs: SyncSender<Job>,
        feeds: Arc<Feeds>,
        dir: PathBuf,
        published: Arc<Published>,
        sandbox: Arc<Sandbox>,
    ) -> WriterHandle {
        WriterHandle {
            sandbox,
            jobs,
            state: Mutex::new(State::Closed),
            changed: Condvar::new(),
            is_stopping: AtomicBool::new(false),
            is_reload_due: AtomicBool::new(false),
            is_drain_due: AtomicBool::new(false),
            fresh: Mutex::default(),
            is_another_at_it: AtomicBool::new(false),
            waiting: AtomicUsize::new(0),
            loan: Mutex::new(None),
            published,
            dir,
            feeds,
            feeders: Mutex::new(None),
            intake_queue: Arc::default(),
            nntp_service: Mutex::new(None),
        }
    }

    /// Brings a job; waits while too many do.
    pub fn put(&self, job: Job) {
        // It fails only when the writer is closed for good: the client sees the end of the connection.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let _ = self.jobs.send(job);
    }

    /// What it is at.
    pub fn state(&self) -> State {
        *lock(&self.state)
    }

    /// What status and metrics tell of it now.
    pub fn watched(&self) -> DaemonStatus {
        let nntp_service = lock(&self.nntp_service);
        let server = nntp_service
            .as_ref()
            .map(|nntp_service| &nntp_service.server);
        let mut watched = DaemonStatus::look(
            &self.intake_queue,
            server,
            &self.published.commits,
            &self.dir,
        );
        watched.sandbox = self.sandbox.told();
        watched
    }

    /// The settings should be read again. Does not wait.
    pub fn reload(&self) {
        self.is_reload_due.store(true, Ordering::SeqCst);
        self.look();
    }

    /// Something came into in.coming/. Does not wait.
    pub fn drain(&self) {
        self.is_drain_due.store(true, Ordering::SeqCst);
        self.look();
    }

    /// This file of in.coming/ is to be tried, though it may have been before.
    pub fn is_fresh(&self, name: Name) {
        let mut fresh = lock(&self.fresh);
        // While the lock is lent nobody takes them away; what is forgotten here is tried after a reload.
        if fresh.len() < LEFT_MAX {
            fresh.push(name);
        }
    }

    /// Somebody let a feed go on, put its cursor elsewhere, or wants it served now.
    pub fn look_at_feeds(&self) {
        self.feeds.call();
    }

    /// Ends it: waits for the job in hand, and for its commit. Jobs behind it are not begun; their clients file themselves.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        self.look();
        if let Some(loan) = &*lock(&self.loan) {
            // The borrower keeps the lock for as long as he needs it; we only hear no more of it.
            let _ = loan.shutdown(Shutdown::Both);
        }
        let is_open = |state: &mut State| matches!(state, State::Idle | State::Busy);
        let closed = self.changed.wait_while(lock(&self.state), is_open);
        drop(closed);
    }

    /// Feeds finish what they are at, and their programs end: waits for that, but not for long. After [`WriterHandle::stop`].
    pub fn end_feeds(&self) {
        let feeders = lock(&self.feeders).take();
        if let Some(feeders) = feeders {
            feeders.end();
        }
    }

    fn look(&self) {
        // Where jobs are waiting it looks before the next one anyway.
        let _ = self.jobs.try_send(Job::Look);
    }

    /// There is something to do besides filing what comes over NNTP.
    pub fn is_wanted(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0 || self.is_stopping() || self.is_due()
    }

    /// The settings are to be read, or in.coming/ to be looked at.
    pub fn is_due(&self) -> bool {
        let due = [&self.is_reload_due, &self.is_drain_due];
        due.iter().any(|due| due.load(Ordering::SeqCst))
    }

    /// It is to end.
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    /// It is at something else now.
    pub fn enter(&self, state: State) {
        *lock(&self.state) = state;
        self.changed.notify_all();
    }
}
