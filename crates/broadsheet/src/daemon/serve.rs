//! From the start of the daemon to its end.

use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use relay::log::Now;
use store::{Lock, Published};

use super::event::Event;
use super::lock::lock;
use super::metrics;
use super::nntp_service::{self, Listen};
use super::notify::{notify, start_watchdog};
use super::sandbox::{Sandbox, Starter};
use super::schedule::Schedule;
use super::writer::{Files, Writer};
use super::writer_handle::WriterHandle;
use super::{client, incoming, say, signals, socket};
use crate::directory::NewsDirectory;
use crate::exit::Status;

/// Serves a news directory until it is told to stop.
///
/// # Errors
/// What keeps it from starting, or from going on.
pub fn serve(directory: NewsDirectory, more: &Listen) -> anyhow::Result<Status> {
    let since = Now::read().seconds;
    let files = Files::read(&directory)?;
    let directory = directory.by_full_name()?;
    let root = directory.root().to_owned();
    check_owner(&root)?;
    let _lock = match Lock::take_named(&root, client::LOCK, false) {
        Err(store::Error::Locked(_)) => anyhow::bail!(already(&directory)),
        taken => taken?,
    };
    let listeners = nntp_service::listen(&files.settings, more)?;
    let certificates = nntp_service::certificates(&directory, &files.settings)?;
    let metrics = files.settings.nntp.metrics_address();
    let metrics = metrics.map_err(anyhow::Error::msg)?;
    let metrics = metrics.map(metrics::listen).transpose()?;
    let settings = files.settings.clone();
    let published = Published::new();
    let (sender, events) = channel();
    signals::start(sender.clone())?;
    let schedule = Arc::new(Schedule::new(&root, &files.settings)?);
    if Lock::is_held(&root) {
        say("another program files; waiting for it to end");
    }
    let (sandbox, starter) = (Sandbox::new(&root, settings.sandbox), Starter::start()?);
    let writer = Writer::start(
        directory.clone(),
        files,
        schedule.clone(),
        published.clone(),
        (sandbox.clone(), starter.clone()),
        sender.clone(),
    )?;
    let served = match wait_until_open(&events)? {
        Some(Status::OK) => {
            socket::start(socket::listen(&root)?, writer.clone(), sender, since)?;
            incoming::start(&root, writer.clone())?;
            schedule.clone().start()?;
            let room_and_board = (writer.clone() as Arc<_>, published);
            let confining = (&sandbox, &starter);
            let nntp_service = nntp_service::open(
                &directory,
                &settings,
                room_and_board,
                confining,
                listeners,
                certificates,
            )?;
            *lock(&writer.nntp_service) = nntp_service;
            if let Some(listener) = metrics {
                metrics::start(listener, directory.clone(), writer.clone(), since, sandbox)?;
            }
            start_watchdog();
            notify("READY=1");
            say(&format!(
                "serving {}, process {}",
                root.display(),
                std::process::id()
            ));
            until_stopped(&events, &writer)
        }
        _ => Ok(Status::OK),
    };
    notify("STOPPING=1");
    schedule.stop();
    // Drops the connections. What they handed in and was not answered may be filed or not; they send it again.
    let nntp_service = lock(&writer.nntp_service).take();
    drop(nntp_service);
    writer.stop();
    writer.end_feeds();
    socket::remove(&root);
    say("stopped");
    served
}

/// `None`: told to stop before.
fn wait_until_open(events: &Receiver<Event>) -> anyhow::Result<Option<Status>> {
    loop {
        match events.recv() {
            Ok(Event::Opened(opened)) => return opened.map(|()| Some(Status::OK)),
            Ok(Event::Reload) => {}
            Ok(Event::Stop | Event::Ended) | Err(_) => return Ok(None),
        }
    }
}

fn until_stopped(events: &Receiver<Event>, writer: &WriterHandle) -> anyhow::Result<Status> {
    loop {
        match events.recv() {
            Ok(Event::Reload) => writer.reload(),
            Ok(Event::Stop) => return Ok(Status::OK),
            Ok(Event::Opened(_)) => {}
            Ok(Event::Ended) | Err(_) => {
                anyhow::bail!("the thread that files has ended; start again, and report this")
            }
        }
    }
}

fn already(directory: &NewsDirectory) -> String {
    let place = directory.root().display();
    match client::status(directory.root()) {
        Some(doing) => format!("{place} is served already, by process {}", doing.pid),
        None => format!("{place} is served already, by a daemon that is starting or stopping"),
    }
}

/// A daemon of another user would leave files that the commands of the owner cannot change.
fn check_owner(root: &std::path::Path) -> anyhow::Result<()> {
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
