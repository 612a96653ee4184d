//! The writer as other threads see it: they submit jobs and query its state.

use std::fs::File;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::time::{Duration, Instant};

use relay::incoming::Name;
use relay::incoming::drain::LEFT_MAX;
use relay::log::Now;
use server::{ArticleBatch, ArticleSink, Intake};
use store::Published;

use super::connection::Client;
use super::daemon_status::{DaemonStatus, FedPeer};
use super::feed_lease::{ClusterFeeds, FeedHolder};
use super::feeders::Feeders;
use super::feeds::Feeds;
use super::intake_queue::IntakeQueue;
use super::journal;
use super::lock::lock;
use super::memory;
use super::nntp_service::NntpService;
use super::node::copying::Copying;
use super::node::health::NodeHealth;
use super::recorder::{Recorder, Taken};
use super::request::{FileRequest, NntpConnection};
use super::sandbox::Sandbox;
use super::schedule::Schedule;

/// Maximum number of waiting jobs; a thread with another job waits.
pub const JOBS_MAX: usize = 64;

/// A job for the writer.
#[derive(Debug)]
pub enum Job {
    /// File a batch.
    File {
        /// The options.
        request: FileRequest,
        /// The source.
        file: Arc<File>,
        /// The client that gets the result.
        client: Client,
    },
    /// Lend the lock until the connection ends.
    Lend(UnixStream),
    /// Read the settings again, and reply to the client.
    Reload(Option<Client>),
    /// Check what is due.
    Look,
}

/// The state of the writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// The spool is not open.
    Closed,
    /// The lock is lent.
    Lent,
    /// The spool is open, and no job runs.
    Idle,
    /// A job runs.
    Busy,
}

impl State {
    /// The name of the state.
    pub fn word(self) -> &'static str {
        match self {
            State::Closed => "closed",
            State::Lent => "lent",
            State::Idle => "idle",
            State::Busy => "busy",
        }
    }
}

/// The handle of the writer for other threads.
pub struct WriterHandle {
    pub(super) jobs: SyncSender<Job>,
    pub(super) state: Mutex<State>,
    pub(super) changed: Condvar,
    pub(super) is_stopping: AtomicBool,
    pub(super) is_reload_due: AtomicBool,
    pub(super) is_drain_due: AtomicBool,
    /// Files of in.coming/ that were written or moved there, to be tried even if they failed before.
    pub(super) fresh: Mutex<Vec<Name>>,
    /// A thread waits for the end of another drain.
    pub(super) is_another_at_it: AtomicBool,
    /// Jobs that were submitted and not started.
    pub(super) waiting: AtomicUsize,
    pub(super) loan: Mutex<Option<UnixStream>>,
    /// The published commits.
    pub(super) published: Arc<Published>,
    /// The news directory.
    pub(super) dir: PathBuf,
    pub(super) feeds: Arc<Feeds>,
    pub(super) feeders: Mutex<Option<Feeders>>,
    /// The lease of the feeds of a cluster.
    pub(super) feed_holder: OnceLock<Arc<FeedHolder>>,
    /// The articles that arrived over NNTP.
    pub(super) intake_queue: Arc<IntakeQueue>,
    /// The NNTP service.
    pub(super) nntp_service: Mutex<Option<NntpService>>,
    /// Confines threads.
    pub(super) sandbox: Arc<Sandbox>,
    /// The tasks, and the groups that readers ask for.
    pub(super) schedule: Arc<Schedule>,
    /// Records figures.
    pub(super) recorder: Arc<Recorder>,
    /// Mail waits that another program queued.
    pub(super) is_mail_due: AtomicBool,
    /// The state of the node of a cluster.
    pub(super) node_health: OnceLock<Arc<NodeHealth>>,
    /// The copy of the articles of another node, while a node makes one.
    pub(super) copying: Mutex<Option<Copying>>,
}

/// Longest wait for the counts of network threads.
const FIGURES_PATIENCE: Duration = Duration::from_secs(5);

impl ArticleSink for WriterHandle {
    fn file(&self, batch: ArticleBatch) {
        if self.intake_queue.put(batch) {
            self.look();
        }
    }

    fn intake(&self) -> Intake {
        self.intake_queue.intake()
    }

    fn is_stale(&self) -> bool {
        let health = self.node_health.get();
        health.is_some_and(|health| health.is_stale(Instant::now()))
    }

    fn group_asked(&self, group: &[u8], now: i64) {
        self.schedule.group_asked(group, now);
    }

    fn before_work(&self) {
        self.recorder.note_work();
    }

    fn input_freed(&self) {
        memory::return_free_memory();
    }

    fn log(&self, event: &server::Event<'_>) {
        journal::note_event(event);
    }
}

impl WriterHandle {
    /// A handle of a closed spool. `jobs` leads to the thread.
    pub fn new(
        jobs: SyncSender<Job>,
        feeds: Arc<Feeds>,
        dir: PathBuf,
        published: Arc<Published>,
        (sandbox, schedule, recorder): (Arc<Sandbox>, Arc<Schedule>, Arc<Recorder>),
    ) -> WriterHandle {
        WriterHandle {
            sandbox,
            schedule,
            recorder,
            is_mail_due: AtomicBool::new(false),
            node_health: OnceLock::new(),
            copying: Mutex::default(),
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
            feed_holder: OnceLock::new(),
            intake_queue: Arc::default(),
            nntp_service: Mutex::new(None),
        }
    }

    /// Submits a job; waits while too many jobs wait.
    pub fn put(&self, job: Job) {
        // Fails only after the writer has ended: the client sees the end of its connection.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let _ = self.jobs.send(job);
    }

    /// The state of the writer.
    pub fn state(&self) -> State {
        *lock(&self.state)
    }

    /// The current state for `status` and the metrics.
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
        watched.peers = FedPeer::look_at(&self.feeds.peers());
        watched.cluster_feeds = self.cluster_feeds();
        let health = self.node_health.get();
        watched.cluster_node = health.map(|health| health.told(Instant::now()));
        watched
    }

    /// The NNTP connections in the order of their numbers, and whether all network threads answered in time.
    pub fn connections(&self, patience: Duration) -> (Vec<NntpConnection>, bool) {
        let answers = lock(&self.nntp_service)
            .as_ref()
            .map(|service| service.server.connections());
        let now = Now::read().seconds;
        let (all, is_whole) = gather(answers, patience);
        let mut all: Vec<NntpConnection> = all
            .into_iter()
            .map(|status| NntpConnection::of(status, now))
            .collect();
        all.sort_by_key(|connection| connection.id);
        (all, is_whole)
    }

    /// Records the figures up to now.
    pub fn record_figures(&self) {
        self.recorder.record(|| self.take_figures());
    }

    /// The figures for a record.
    pub fn take_figures(&self) -> Taken {
        let readers = lock(&self.nntp_service)
            .as_ref()
            .map(|service| service.server.take_readers());
        let (readers, _) = gather(readers, FIGURES_PATIENCE);
        (self.watched(), readers)
    }

    /// Closes the NNTP connections with these numbers. Returns the numbers found, and whether all network threads answered in time.
    pub fn close_connections(&self, numbers: &[u64], patience: Duration) -> (Vec<u64>, bool) {
        let answers = lock(&self.nntp_service)
            .as_ref()
            .map(|service| service.server.close(numbers));
        let (mut closed, is_whole) = gather(answers, patience);
        closed.sort_unstable();
        (closed, is_whole)
    }

    /// Requests that the settings are read again. Does not wait.
    pub fn reload(&self) {
        self.is_reload_due.store(true, Ordering::SeqCst);
        self.look();
    }

    /// Requests that waiting mail is passed to the mail program. Does not wait.
    pub fn send_mail(&self) {
        self.is_mail_due.store(true, Ordering::SeqCst);
        self.look();
    }

    /// Reports a new file in in.coming/. Does not wait.
    pub fn drain(&self) {
        self.is_drain_due.store(true, Ordering::SeqCst);
        self.look();
    }

    /// Requests that a file of in.coming/ is tried even if it failed before.
    pub fn is_fresh(&self, name: Name) {
        let mut fresh = lock(&self.fresh);
        // While the lock is lent, the list is not emptied; files missing here are tried after a reload.
        if fresh.len() < LEFT_MAX {
            fresh.push(name);
        }
    }

    /// Requests a pass of the feed with this name, or of all: it was resumed, its cursor was moved, or it is to be served now.
    pub fn look_at_feeds(&self, name: Option<&[u8]>) {
        self.feeds.call(name);
    }

    /// Ends the writer: waits for the current job and its commit. Jobs that wait are not started; their clients file the batches themselves.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
        self.look();
        if let Some(loan) = &*lock(&self.loan) {
            // The borrower keeps the lock as long as it needs it.
            let _ = loan.shutdown(Shutdown::Both);
        }
        let is_open = |state: &mut State| matches!(state, State::Idle | State::Busy);
        let closed = self.changed.wait_while(lock(&self.state), is_open);
        drop(closed);
    }

    /// The feeds of a node of a cluster; `None` without a cluster.
    pub fn cluster_feeds(&self) -> Option<ClusterFeeds> {
        Some(self.feed_holder.get()?.told())
    }

    /// In a cluster: ends the feeds, and gives their lease back. Waits for a limited time. Call it before [`WriterHandle::stop`], with which the
    /// connection to the log ends.
    pub fn end_feed_lease(&self) {
        if let Some(feed_holder) = self.feed_holder.get() {
            feed_holder.end();
        }
    }

    /// Waits for a limited time until the feeds and their programs have ended. Call it after [`WriterHandle::stop`].
    pub fn end_feeds(&self) {
        let feeders = lock(&self.feeders).take();
        if let Some(feeders) = feeders {
            feeders.end();
        }
    }

    pub(super) fn look(&self) {
        // If jobs wait, the writer checks before the next one anyway.
        let _ = self.jobs.try_send(Job::Look);
    }

    /// Whether there is other work than filing articles from NNTP.
    pub fn is_wanted(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0 || self.is_stopping() || self.is_due()
    }

    /// Whether the settings must be read, in.coming/ must be checked or mail must be sent.
    pub fn is_due(&self) -> bool {
        let due = [&self.is_reload_due, &self.is_drain_due, &self.is_mail_due];
        due.iter().any(|due| due.load(Ordering::SeqCst))
    }

    /// Whether the writer must end.
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }

    /// Sets the state.
    pub fn enter(&self, state: State) {
        if matches!(state, State::Busy | State::Lent) {
            self.recorder.note_work();
        }
        *lock(&self.state) = state;
        self.changed.notify_all();
    }
}

/// The answers of all network threads, and whether they all came in time. `None` without a server.
fn gather<T>(answers: Option<Receiver<Vec<T>>>, patience: Duration) -> (Vec<T>, bool) {
    let mut all = Vec::new();
    let Some(answers) = answers else {
        return (all, true);
    };
    let until = Instant::now() + patience;
    loop {
        match answers.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(some) => all.extend(some),
            Err(RecvTimeoutError::Disconnected) => return (all, true),
            Err(RecvTimeoutError::Timeout) => return (all, false),
        }
    }
}
