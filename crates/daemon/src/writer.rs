//! The writer: one thread owns the filer and runs one job after the other.
//!
//! *Invariant:* between two jobs no article waits for a commit. So the spool can be closed there without loss, to lend the lock or to
//! end.

pub mod files;
mod in_cluster;
mod reload;

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use ::cluster::jetstream::segments::Answering;
use ::cluster::log::LogOptions;
use article::date::Utc;
use feed::Permit;
use relay::file::Filer;
use relay::incoming::Drain;
use relay::incoming::drain::{LEFT_MAX, LOCK};
use relay::rnews::{Handed, Input, Watch};
use store::{Durability, Lock, Published, Reserve, Spool, control_socket};

use self::files::Files;
use super::connection::Client;
use super::event::Event;
use super::feed_lease::{FeedHolder, Message};
use super::feeders::Feeders;
use super::feeds::Feeds;
use super::file_batches;
use super::incoming::{self, Waits};
use super::intake_queue::IntakeQueue;
use super::journal;
use super::lock::lock;
use super::mails::Mails;
use super::node::Node;
use super::posts::Posts;
use super::recorder::Recorder;
use super::request::{Answer, FileRequest, Filed, OK};
use super::sandbox::{Role, Sandbox, Starter};
use super::schedule::Schedule;
use super::writer_handle::{JOBS_MAX, Job, State, WriterHandle};
use super::{say, warn};
use crate::failure;
use settings::NewsDirectory;

/// Interval before the next attempt after filing of in.coming/ stopped (a full disk): a second, then twice as long each time, five
/// minutes at most.
const TRY_AGAIN_FIRST: Duration = Duration::from_secs(1);
const TRY_AGAIN_LAST: Duration = Duration::from_secs(300);

/// Interval at which network threads reopen all their files, while articles arrive.
const OPEN_FILES_ANEW: Duration = Duration::from_secs(600);

/// The state of the thread.
pub struct Writer {
    directory: NewsDirectory,
    files: Files,
    /// The settings at the start of the daemon: changes of some need a restart.
    started: settings::Nntp,
    filer: Option<Filer>,
    /// The spool was open before.
    was_open: bool,
    /// The node of a cluster, once the spool was open.
    node: Option<Node>,
    /// The thread that answers other nodes, while the value lives.
    segments: Option<Answering>,
    /// The hash of the settings that it tells them.
    segments_rules: u64,
    /// The settings in force are others than those that the other threads know.
    has_new_settings: bool,
    /// The log of the cluster.
    log_options: Option<LogOptions>,
    /// The lease of the feeds of a cluster.
    feed_holder: Option<Arc<FeedHolder>>,
    /// The last error of the node, while it lasts.
    log_error: String,
    /// The reported states of the node: stale, cut off, stopped.
    told_health: (bool, bool, bool),
    /// Since when the node cannot apply the log.
    fails_since: Option<(Instant, u64)>,
    writer: Arc<WriterHandle>,
    schedule: Arc<Schedule>,
    feeds: Arc<Feeds>,
    /// Remembers the files that could not be filed.
    drain: Option<Drain>,
    /// Publishes commits to the network threads.
    published: Arc<Published>,
    /// Time at which network threads last reopened all their files.
    files_opened: Instant,
    /// Created for the first post, with the settings of that time.
    posts: Option<Posts>,
    mails: Mails,
    /// Time of the next attempt at in.coming/ after filing stopped, and the last interval.
    again: Option<(Instant, Duration)>,
    /// When a node last started expire because its disk was nearly full.
    expire_begun: Option<Instant>,
    /// The setting `sandbox` at the start.
    is_confined: bool,
    /// Starts threads that run programs.
    starter: Starter,
    /// The path of the program broadsheet.
    program: PathBuf,
    /// The events of the main thread.
    events: Sender<Event>,
}

impl Writer {
    /// Starts the thread; the first event reports whether the spool could be opened.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn start(
        directory: NewsDirectory,
        files: Files,
        schedule: Arc<Schedule>,
        published: Arc<Published>,
        (sandbox, starter, program): (Arc<Sandbox>, Starter, PathBuf),
        events: Sender<Event>,
    ) -> std::io::Result<Arc<WriterHandle>> {
        let (sender, jobs) = sync_channel(JOBS_MAX);
        let feeds: Arc<Feeds> = Arc::default();
        schedule.report_to(&feeds);
        let writer = Arc::new(WriterHandle::new(
            sender,
            feeds.clone(),
            directory.root().to_owned(),
            published.clone(),
            (
                sandbox.clone(),
                schedule.clone(),
                Arc::new(Recorder::new(&directory)),
            ),
        ));
        let mailer = files.settings.mailer(&directory);
        let mails = Mails::new(directory.root(), mailer, &starter);
        let log_options = if files.settings.is_node() {
            Some(files.settings.log_options(&directory)?)
        } else {
            None
        };
        let mut this = Writer {
            directory,
            started: files.settings.nntp.clone(),
            is_confined: files.settings.sandbox,
            files,
            filer: None,
            node: None,
            segments: None,
            segments_rules: 0,
            has_new_settings: false,
            log_options,
            feed_holder: None,
            log_error: String::new(),
            told_health: (false, false, false),
            fails_since: None,
            writer: writer.clone(),
            schedule,
            feeds,
            drain: None,
            published,
            files_opened: Instant::now(),
            was_open: false,
            posts: None,
            mails,
            again: None,
            expire_begun: None,
            starter,
            program,
            events: events.clone(),
        };
        this.apply();
        this.keep_feed_lease()?;
        let thread = std::thread::Builder::new().name("writer".to_owned());
        thread.spawn(move || {
            let _end = TellEnd(events.clone());
            sandbox.confine(Role::Writer);
            let opened = this.open().map(drop);
            this.start_feeders();
            this.mails.retry();
            let is_open = opened.is_ok();
            let _ = events.send(Event::Opened(opened));
            if is_open {
                this.work(&jobs);
            }
            this.close(State::Closed);
        })?;
        Ok(writer)
    }

    /// Publishes the settings that other threads use.
    fn apply(&self) {
        let settings = &self.files.settings;
        journal::set_format(&settings.log_format);
        let keep_free = settings.nntp.keep_free;
        self.writer
            .intake_queue
            .watch_disk(self.directory.root(), keep_free);
    }

    /// Starts the feeds that send articles immediately, with the current sites.
    fn start_feeders(&mut self) {
        let mut feeders = lock(&self.writer.feeders);
        *feeders = None;
        let settings = &self.files.settings;
        if self.writer.is_stopping() {
            return;
        }
        if let Some(feed_holder) = &self.feed_holder {
            let sites = Box::new(self.files.sites.clone());
            feed_holder.put(Message::Sites(sites, settings.cluster.feeds));
            return;
        }
        match Feeders::start(
            &self.directory,
            &self.files.sites,
            (&self.feeds, &self.published),
            (&self.starter, &self.program),
            &Permit::always(),
        ) {
            Ok(started) => *feeders = Some(started),
            Err(error) => warn(&format!("cannot serve feeds immediately: {error}")),
        }
    }

    fn work(&mut self, jobs: &Receiver<Job>) {
        while !self.writer.is_stopping() {
            if self.writer.is_reload_due.swap(false, Ordering::SeqCst) {
                self.reload(None);
            }
            if self.writer.is_mail_due.swap(false, Ordering::SeqCst) {
                self.mails.retry();
            }
            if self.writer.is_drain_due.swap(false, Ordering::SeqCst) {
                self.drain();
            }
            if self.has_articles() {
                self.file_from_wire();
            }
            self.checkpoint();
            self.tell_health();
            let job = match jobs.try_recv() {
                Ok(job) => job,
                // Left for another job that is due now.
                Err(TryRecvError::Empty) if self.writer.is_due() || self.has_articles() => {
                    continue;
                }
                Err(TryRecvError::Empty) => {
                    self.rest();
                    match self.wait(jobs) {
                        Some(job) => job,
                        None => return,
                    }
                }
                Err(TryRecvError::Disconnected) => return,
            };
            if self.writer.is_stopping() {
                return;
            }
            if !matches!(job, Job::Look) {
                self.writer.waiting.fetch_sub(1, Ordering::SeqCst);
            }
            match job {
                Job::File {
                    request,
                    file,
                    client,
                } => self.file(&request, file, client),
                Job::Lend(stream) => self.lend(stream),
                Job::Reload(client) => self.reload(client),
                Job::Look => {}
            }
        }
    }

    /// The next job, or a check when in.coming/ is due for the next attempt. Returns `None` when no more jobs come.
    fn wait(&self, jobs: &Receiver<Job>) -> Option<Job> {
        // Without a spool nothing can be synced: the next job opens it.
        let node = self.node.as_ref().filter(|_| self.filer.is_some());
        let checkpoint = node.and_then(Node::checkpoint_at);
        let again = self.again.map(|(at, _)| at);
        let look = self.node.as_ref().map(Node::health);
        let look = look.and_then(|health| health.look_at(Instant::now()));
        let Some(at) = again.into_iter().chain(checkpoint).chain(look).min() else {
            return jobs.recv().ok();
        };
        match jobs.recv_timeout(at.saturating_duration_since(Instant::now())) {
            Ok(job) => Some(job),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                if again.is_some_and(|again| again <= Instant::now()) {
                    self.writer.is_drain_due.store(true, Ordering::SeqCst);
                }
                Some(Job::Look)
            }
        }
    }

    /// Without a job, opens the spool for the next one.
    fn rest(&mut self) {
        let told = self
            .open()
            .and_then(|filer| Ok(filer.spool().say_idle(true)?));
        match told {
            Ok(()) => self.writer.enter(State::Idle),
            Err(error) => warn(&failure::text_of(&error)),
        }
    }

    /// Returns the filer, opens it if necessary, and marks the writer as busy.
    fn open(&mut self) -> anyhow::Result<&mut Filer> {
        let is_opened = self.filer.is_none();
        let filer = match self.filer.take() {
            Some(filer) => filer,
            None => {
                let opened = self.open_settled();
                if opened.is_err() {
                    self.writer.enter(State::Closed);
                }
                opened?
            }
        };
        let filer = self.filer.insert(filer);
        if is_opened {
            // Another program may have filed articles meanwhile; those in the queue for the lock do not all ask the daemon.
            self.feeds.tell();
        }
        self.was_open = true;
        filer.spool().say_idle(false)?;
        self.writer.enter(State::Busy);
        Ok(filer)
    }

    fn open_settled(&mut self) -> anyhow::Result<Filer> {
        let mut filer = self.open_filer()?;
        if self.settle_settings(&filer)? {
            drop(filer);
            filer = self.open_filer()?;
        }
        self.follow_log(&mut filer)?;
        Ok(filer)
    }

    fn open_filer(&self) -> anyhow::Result<Filer> {
        let root = self.directory.root();
        let lock = Cell::new(Some(Lock::take_as_daemon(root)?));
        if self.was_open {
            // A stop waits: an end in the middle of a sync would leave the derived files in doubt. At the start, where a repair of hours may run,
            // it does not.
            self.writer.enter(State::Busy);
        }
        let settings = &self.files.settings;
        let mut store = settings.store_options();
        let mut options = settings.filer_options();
        if settings.is_node() {
            // The log of the cluster has the durable copy, and every node must decide alike.
            store.durability = Durability::None;
            store.follows_log = true;
            options.keep_free = 0;
            options.zone = &Utc;
        }
        let open = || {
            let lock = match lock.take() {
                Some(lock) => lock,
                None => Lock::take_as_daemon(root)?,
            };
            Spool::open_with(lock, root, store)
        };
        let mut spool = match self.was_open {
            true => open()?,
            // After a crash on a full disk expire has to run, and the daemon starts it.
            false => Reserve::of_expire(root).with(open)?,
        };
        spool.publish_to(self.published.clone());
        for notice in &spool.notices() {
            say(notice);
        }
        let rules = settings.rules();
        let sites = self.files.sites.clone();
        let moved = feed::feeds::keep_within_log(&spool)?;
        let enrolled = feed::feeds::enrol(&spool, &sites)?;
        for notice in moved.iter().chain(&enrolled) {
            say(notice);
        }
        Ok(Filer::new(spool, sites, rules, options)?)
    }

    fn take_posts(&mut self) -> Posts {
        match self.posts.take() {
            Some(posts) => posts,
            None => Posts::new(&self.directory, &self.files.settings, self.mails.clone()),
        }
    }

    /// A file that expire has replaced uses space until every thread has closed it.
    fn look_again(&mut self) {
        if self.files_opened.elapsed() >= OPEN_FILES_ANEW {
            self.files_opened = Instant::now();
            self.published.look_again();
        }
    }

    fn close(&mut self, state: State) {
        self.filer = None;
        self.writer.enter(state);
    }

    fn file(&mut self, request: &FileRequest, file: Arc<File>, mut client: Client) {
        let mut settings = self.files.settings.clone();
        if let Some(days) = request.sealed {
            settings.limits.article_age_days_max = days;
        }
        let mut rules = settings.rules();
        request.change(&mut rules);
        let options = relay::rnews::Options {
            strict: request.strict,
            ..self.files.settings.rnews_options()
        };
        let input = Input::Handed(Handed {
            name: request.name.clone(),
            tail: request.tail.clone(),
            file,
            is_private: false,
        });
        let feeds = self.feeds.clone();
        let age_days_max = match self.age_in_cluster(&mut rules) {
            Ok(days) => days,
            Err(why) => {
                client.say(&Answer::Message(why.to_owned()));
                client.say(&Answer::Filed(Filed::nothing()));
                return;
            }
        };
        let mut watch = Telling {
            client: &mut client,
            feeds: &feeds,
            progress: request.progress,
        };
        let outcome = self.with_outlet(rules, age_days_max, |outlet| {
            relay::rnews::run(&[input], outlet, &options, &mut watch)
        });
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => {
                client.say(&Answer::Message(failure::text_of(&error)));
                client.say(&Answer::Filed(Filed::nothing()));
                return;
            }
        };
        feeds.tell();
        if outcome.is_stopped {
            self.close(State::Closed);
        }
        client.say(&Answer::Filed(Filed::of(&outcome)));
    }

    /// Files the articles that arrived over NNTP.
    fn file_from_wire(&mut self) {
        if self.log_options.is_some() {
            return self.serve_log();
        }
        let intake_queue = self.writer.intake_queue.clone();
        let done = self.file_queue(&intake_queue);
        if let Err(error) = done {
            warn(&failure::text_of(&error));
            let why = file_batches::told(&error);
            intake_queue.stopped(why);
            intake_queue.send_all_back(why);
            self.close(State::Closed);
        }
    }

    fn file_queue(&mut self, intake_queue: &IntakeQueue) -> anyhow::Result<()> {
        let settings = &self.files.settings;
        let commit_bytes = settings.rnews_options().commit_bytes;
        let rules = settings.rules();
        let posts = self.take_posts();
        let writer = self.writer.clone();
        let filer = self.open()?;
        filer.set_rules(rules);
        let is_wanted = || writer.is_wanted();
        let filed = file_batches::file(intake_queue, filer, &posts, commit_bytes, &is_wanted);
        self.posts = Some(posts);
        self.look_again();
        if filed.filed > 0 {
            intake_queue.went_well();
            self.feeds.tell();
        }
        filed.stopped.map_or(Ok(()), Err)
    }

    /// Files the batches that wait in in.coming/; runs other jobs between its files.
    fn drain(&mut self) {
        let root = self.directory.root().to_owned();
        let everything = || Drain::new(&root, self.files.settings.drain_options());
        let mut drain = self.drain.take().unwrap_or_else(everything);
        for name in std::mem::take(&mut *lock(&self.writer.fresh)) {
            drain.try_again(&name);
        }
        let (writer, feeds) = (self.writer.clone(), self.feeds.clone());
        let is_wanted = || {
            let waits =
                writer.waiting.load(Ordering::SeqCst) > 0 || !writer.intake_queue.is_empty();
            writer.is_stopping() || waits
        };
        let done = drain.is_waiting().map_err(anyhow::Error::from);
        let done = done.and_then(|is_waiting| {
            if !is_waiting {
                return Ok(Waits::No);
            }
            let rules = self.files.settings.rules();
            Ok(self.with_outlet(rules, None, |outlet| {
                incoming::drain(&mut drain, outlet, &feeds, &is_wanted)
            })??)
        });
        let done = match done {
            // The directory is short now.
            Ok(Waits::No) => incoming::report_others(&mut drain, &self.feeds)
                .map(|()| Waits::No)
                .map_err(anyhow::Error::from),
            done => done,
        };
        let is_stopped = match &done {
            // If too many files were left, an administrator is needed.
            Ok(_) => drain.is_over() && drain.drained().left < LEFT_MAX as u64,
            Err(error) => {
                warn(&failure::text_of(error));
                true
            }
        };
        self.again = is_stopped.then(|| {
            let pause = match self.again {
                Some((_, before)) => (before * 2).min(TRY_AGAIN_LAST),
                None => TRY_AGAIN_FIRST,
            };
            (Instant::now() + pause, pause)
        });
        if drain.is_over() {
            return self.close(State::Closed);
        }
        self.drain = Some(drain);
        match done {
            Ok(Waits::ForUs) => writer.is_drain_due.store(true, Ordering::SeqCst),
            Ok(Waits::ForAnother) => self.after_another(),
            Ok(Waits::No) | Err(_) => {}
        }
    }

    /// Another drain runs, possibly for some grades only: a thread waits for its end, and then the writer checks in.coming/ again.
    fn after_another(&self) {
        if self.writer.is_another_at_it.swap(true, Ordering::SeqCst) {
            return;
        }
        let (root, writer) = (self.directory.root().to_owned(), self.writer.clone());
        let thread = std::thread::Builder::new().name("another drain".to_owned());
        let started = thread.spawn(move || {
            let over = Lock::take_named(&root, LOCK, true).map(drop);
            writer.is_another_at_it.store(false, Ordering::SeqCst);
            match over {
                Ok(()) => writer.drain(),
                Err(error) => warn(&error.to_string()),
            }
        });
        if let Err(error) = started {
            self.writer.is_another_at_it.store(false, Ordering::SeqCst);
            warn(&format!("cannot wait for another newsrun: {error}"));
        }
    }

    fn lend(&mut self, mut stream: UnixStream) {
        if control_socket::is_over(&stream) {
            // The client got the lock from another program meanwhile, or has ended.
            return self.publish_changes();
        }
        self.close(State::Lent);
        let kept = stream.try_clone();
        *lock(&self.writer.loan) = kept.ok();
        // Checked again, because an earlier stop found no loan to end.
        if !self.writer.is_stopping() && stream.write_all(control_socket::LENT).is_ok() {
            let _ = io::copy(&mut stream, &mut io::sink());
        }
        *lock(&self.writer.loan) = None;
        self.writer.enter(State::Closed);
        self.publish_changes();
        // The borrower may have freed space.
        self.writer.is_drain_due.store(true, Ordering::SeqCst);
        // The end of the stream tells it that readers see its work.
    }

    /// Shows readers and feeds what a borrower of the lock did. Opening the spool publishes it too, but the next job may be another loan, or
    /// another program may have the lock.
    fn publish_changes(&self) {
        if self.filer.is_none()
            && let Err(error) = self.published.read_again(self.directory.root())
        {
            // The spool is opened for the next job, and repairs what it can.
            warn(&error.to_string());
        }
        // An idle network thread would keep the space of files that expire has replaced.
        if let Some(service) = lock(&self.writer.nntp_service).as_ref() {
            drop(service.server.ping());
        }
        self.feeds.tell();
    }
}

/// Reports to the main thread that the writer has ended, for any reason.
struct TellEnd(Sender<Event>);

impl Drop for TellEnd {
    fn drop(&mut self) {
        let _ = self.0.send(Event::Ended);
    }
}

/// Sends messages to the client.
struct Telling<'a> {
    client: &'a mut Client,
    feeds: &'a Feeds,
    progress: bool,
}

impl Watch for Telling<'_> {
    fn message(&mut self, text: &str) {
        self.client.say(&Answer::Message(text.to_owned()));
    }

    fn progress(&mut self, bytes: u64, articles: u64) {
        self.feeds.tell();
        if self.progress {
            self.client.say(&Answer::Progress(bytes, articles));
        }
    }
}
