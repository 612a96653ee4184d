//! The daemon from its start to its end.

use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use relay::log::Now;
use settings::NewsDirectory;
use store::{Lock, Published};

use super::alarms;
use super::event::Event;
use super::lock::lock;
use super::memory;
use super::metrics;
use super::nntp_service::{self, Listen};
use super::notify::{notify, start_watchdog};
use super::sandbox::{Sandbox, Starter};
use super::schedule::Schedule;
use super::writer::Writer;
use super::writer::files::Files;
use super::writer_handle::WriterHandle;
use super::{client, incoming, other_files, say, signals, socket, warn};

/// How long a start waits for the lock of another daemon that does not reply.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);
/// Interval between attempts to take that lock.
const LOCK_RETRY: Duration = Duration::from_millis(20);

/// A daemon that serves a news directory. Dropping it stops it.
pub struct Daemon {
    root: PathBuf,
    addresses: Vec<SocketAddr>,
    sender: Sender<Event>,
    events: Receiver<Event>,
    schedule: Arc<Schedule>,
    writer: Arc<WriterHandle>,
    /// The process starts again at once.
    starts_again: bool,
    _lock: Lock,
}

/// The reason why a daemon has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was stopped.
    Stopped,
    /// A copy of the articles of another node waits to take the place of those here: start again.
    CopyIsWhole,
}

/// The options of a daemon, besides the settings.
pub struct Options<'a> {
    /// Addresses in addition to those of the settings.
    pub listen: &'a Listen,
    /// The path of broadsheet, for the commands that the daemon starts.
    pub program: &'a Path,
    /// Stop at SIGTERM and SIGINT, and reload at SIGHUP.
    pub takes_signals: bool,
    /// Called before the spool is opened, while the daemon keeps others out: finishes what an earlier process left.
    pub before_open: &'a dyn Fn(&Path) -> anyhow::Result<()>,
}

/// Stops a daemon from another thread.
#[derive(Clone)]
pub struct Stopper(Sender<Event>);

impl Stopper {
    /// Makes [`Daemon::run`] return.
    pub fn stop(&self) {
        // Without a receiver, the daemon has ended.
        let _ = self.0.send(Event::Stop);
    }
}

impl Daemon {
    /// Starts to serve a news directory. Returns `None` when it was stopped before the spool was open.
    ///
    /// # Errors
    /// The reason why it cannot start.
    pub fn start(
        directory: NewsDirectory,
        options: &Options<'_>,
    ) -> anyhow::Result<Option<Daemon>> {
        memory::return_large_buffers();
        let since = Now::read().seconds;
        let files = Files::read(&directory)?;
        let directory = directory.by_full_name()?;
        let root = directory.root().to_owned();
        check_owner(&root)?;
        let lock_of_daemon = take_lock(&root)?;
        (options.before_open)(&root)?;
        let listeners = nntp_service::listen(&files.settings, options.listen)?;
        let addresses = listeners.iter().map(|listener| listener.address).collect();
        let certificates = nntp_service::certificates(&directory, &files.settings)?;
        let metrics = files.settings.nntp.metrics_address();
        let metrics = metrics.map_err(anyhow::Error::msg)?;
        let metrics = metrics.map(metrics::listen).transpose()?;
        let settings = files.settings.clone();
        let published = Published::new();
        let (sender, events) = channel();
        if options.takes_signals {
            signals::start(sender.clone())?;
        }
        let read = directory.settings()?;
        let other_faults = other_files::look_at(&directory, &read);
        let schedule = Arc::new(Schedule::new(&root, &settings, options.program)?);
        if Lock::is_held(&root) {
            say("waiting for another program that files articles");
        }
        let (sandbox, starter) = (Sandbox::new(&root, settings.sandbox), Starter::start()?);
        objects::start_threads_by(starter.for_clients(&sandbox));
        let writer = Writer::start(
            directory.clone(),
            files,
            schedule.clone(),
            published.clone(),
            (sandbox.clone(), starter.clone(), options.program.to_owned()),
            sender.clone(),
        )?;
        let is_open = wait_until_open(&events, &sender)?;
        let daemon = Daemon {
            root,
            addresses,
            sender,
            events,
            schedule,
            writer,
            starts_again: false,
            _lock: lock_of_daemon,
        };
        if !is_open {
            return Ok(None);
        }
        let Daemon { root, writer, .. } = &daemon;
        // The disk may fill before the next expire.
        store::Reserve::of_expire(root).create();
        let control = socket::listen(root)?;
        let figures = writer.clone();
        writer.recorder.start(move || {
            // sendbatches may have noted an outage.
            figures.feeds.note_outage();
            figures.take_figures()
        })?;
        alarms::start(directory.clone(), writer.clone())?;
        incoming::start(root, writer.clone())?;
        daemon.schedule.clone().start()?;
        let nntp_service = nntp_service::open(
            &directory,
            &settings,
            (writer.clone() as Arc<_>, published),
            (&sandbox, &starter),
            listeners,
            certificates,
        )?;
        let serves_nntp = nntp_service.is_some();
        *lock(&writer.nntp_service) = nntp_service;
        // A reload has to find the service.
        socket::start(control, writer.clone(), daemon.sender.clone(), since)?;
        if let Some(listener) = metrics {
            metrics::start(listener, directory, writer.clone(), since, sandbox)?;
        }
        let served = writer.clone();
        start_watchdog(move |within| {
            let answers = lock(&served.nntp_service)
                .as_ref()
                .map(|service| service.server.ping());
            answers.is_none_or(|answers| {
                answers.recv_timeout(within) == Err(RecvTimeoutError::Disconnected)
            })
        });
        // None of these files keeps it from serving.
        for finding in &other_faults.findings {
            warn(&finding.sentence());
        }
        notify("READY=1");
        say(&format!(
            "serving {}, process {}",
            root.display(),
            std::process::id()
        ));
        if !serves_nntp {
            say(
                "no address for newsreaders and peers: enable broadsheet-nntp.socket, or set nntp.listen in broadsheet.toml",
            );
        }
        Ok(Some(daemon))
    }

    /// The addresses at which it serves NNTP.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns a handle to stop it from another thread.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.sender.clone())
    }

    /// Serves until it is stopped, or has to start again.
    ///
    /// # Errors
    /// The writer thread has ended.
    pub fn run(mut self) -> anyhow::Result<Ended> {
        loop {
            match self.events.recv() {
                Ok(Event::Reload) => self.writer.reload(),
                Ok(Event::Stop) => return Ok(Ended::Stopped),
                Ok(Event::CopyIsWhole) => {
                    say("the copy of another node is whole: starting again with it");
                    self.starts_again = true;
                    let events = std::mem::replace(&mut self.events, channel().1);
                    drop(self);
                    let is_stopped = events.try_iter().any(|event| matches!(event, Event::Stop));
                    return Ok(if is_stopped {
                        Ended::Stopped
                    } else {
                        Ended::CopyIsWhole
                    });
                }
                Ok(Event::Opened(_)) => {}
                Ok(Event::Ended) | Err(_) => {
                    anyhow::bail!(
                        "the writer thread has ended; restart the daemon and report this error"
                    )
                }
            }
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // systemd would wait for the end of a process that goes on.
        if !self.starts_again {
            notify("STOPPING=1");
        }
        self.schedule.stop();
        drop(lock(&self.writer.copying).take());
        self.writer.record_figures();
        // Drops the connections. An article without a reply may be filed or not; the peer sends it again.
        let nntp_service = lock(&self.writer.nntp_service).take();
        drop(nntp_service);
        self.writer.end_feed_lease();
        self.writer.stop();
        self.writer.end_feeds();
        socket::remove(&self.root);
        if !self.starts_again {
            say("stopped");
        }
    }
}

/// Returns `false` when the daemon was stopped before. A reload that was requested meanwhile follows.
fn wait_until_open(events: &Receiver<Event>, sender: &Sender<Event>) -> anyhow::Result<bool> {
    let mut is_reload_due = false;
    loop {
        match events.recv() {
            Ok(Event::Opened(opened)) => {
                if is_reload_due {
                    let _ = sender.send(Event::Reload);
                }
                return opened.map(|()| true);
            }
            Ok(Event::Reload) => is_reload_due = true,
            Ok(Event::CopyIsWhole) => {}
            Ok(Event::Stop | Event::Ended) | Err(_) => return Ok(false),
        }
    }
}

/// Takes the lock against a second daemon. A killed daemon holds it until the kernel has freed its memory, and a supervisor starts the
/// next one before.
fn take_lock(root: &Path) -> anyhow::Result<Lock> {
    let began = Instant::now();
    let mut is_waiting = false;
    loop {
        match Lock::take_named(root, client::LOCK, false) {
            Err(store::Error::Locked(_)) => {}
            taken => return Ok(taken?),
        }
        let place = root.display();
        if let Some(daemon) = client::status_within(root, LOCK_PATIENCE) {
            anyhow::bail!("{place} is already served by process {}", daemon.pid);
        }
        if began.elapsed() >= LOCK_PATIENCE {
            anyhow::bail!("{place} is already served by a daemon that is starting or stopping");
        }
        if !is_waiting {
            say("waiting for the end of another daemon that serves this directory");
            is_waiting = true;
        }
        std::thread::sleep(LOCK_RETRY);
    }
}

/// A daemon of another user would leave files that the commands of the owner cannot change.
fn check_owner(root: &Path) -> anyhow::Result<()> {
    let owner = std::fs::metadata(root)?.uid();
    let own = rustix::process::geteuid().as_raw();
    if owner != own {
        anyhow::bail!(
            "{} belongs to user {owner}, not to user {own}: start the daemon as its owner",
            root.display()
        );
    }
    Ok(())
}
