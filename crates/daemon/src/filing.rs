//! Filing without the daemon: opens the spool, and serves the feeds afterwards.

use std::fs::File;
use std::io::Seek;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::ensure;
use feed::feeds;
use relay::Rules;
use relay::file::{Filer, FilerOptions};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use settings::{NewsDirectory, Settings};
use store::{AppliedEntry, Spool};

use crate::{client, say};

/// How long a program that has filed waits for the feeds that get their articles at once, seconds; then a process goes on with them alone.
pub const FEEDS_SECONDS_MAX: i64 = 5;

/// Opens the spool, reports what opening found, and makes its filer. Returns `None` when other programs held the lock for all of
/// `patience`; without `patience` it waits.
///
/// # Errors
/// Errors of the store, `sys` and the log. The directory is to be a node of a cluster: `cluster join` would refuse what was filed here.
pub fn open_filer(
    directory: &NewsDirectory,
    settings: &Settings,
    rules: Rules,
    options: FilerOptions,
    patience: Option<Duration>,
) -> anyhow::Result<Option<Filer>> {
    // A node that has joined is refused by the store.
    ensure!(
        !settings.is_node() || !AppliedEntry::read(directory.root())?.log.is_empty(),
        "{} has a section [cluster] and belongs to no cluster yet: run `broadsheet cluster join' (or `cluster init') first, and offer this again",
        directory.root().display()
    );
    let store = store::Options {
        patience,
        ..settings.store_options()
    };
    let spool = match Spool::open(directory.root(), store) {
        Err(store::Error::Locked(_)) if patience.is_some() => return Ok(None),
        opened => opened?,
    };
    for notice in &spool.notices() {
        say(notice);
    }
    for notice in feeds::keep_within_log(&spool)? {
        say(&notice);
    }
    let sys = directory.sys(settings)?;
    for notice in feeds::enrol(&spool, &sys)? {
        say(&notice);
    }
    Ok(Some(Filer::new(spool, sys, rules, options)?))
}

/// Serves the feeds that get their articles at once, if there `is_any`. The result of filing was reported before. A daemon that lent the
/// lock serves its feeds itself. `program` is the path of broadsheet.
///
/// A separate process serves them. This one waits for it for a limited time, so that a program that does not read blocks no other.
pub fn after_filing(root: &Path, program: impl AsRef<Path>, is_any: bool) {
    if is_any
        && client::status(root).is_none()
        && let Err(error) = serve_beside(root, program.as_ref())
    {
        say(&format!("feeds cannot be served now: {error}"));
    }
}

fn serve_beside(root: &Path, program: &Path) -> std::io::Result<()> {
    // No pipe: a reader of our output would have to wait for its end.
    let mut said = File::from(memfd_create("feeds", MemfdFlags::CLOEXEC)?);
    let child = Command::new(program)
        .arg0("broadsheet")
        .args(["feed", "flush", "--at-once", "--dir"])
        .arg(root)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(said.try_clone()?)
        .spawn()?;
    let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
    let patience = Timespec {
        tv_sec: FEEDS_SECONDS_MAX,
        tv_nsec: 0,
    };
    let ended =
        retry_on_intr(|| poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&patience)));
    if ended == Ok(0) {
        eprintln!(
            "broadsheet: serving the feeds takes longer than {FEEDS_SECONDS_MAX} seconds; process {} continues in the background",
            child.id()
        );
    }
    said.rewind()?;
    std::io::copy(&mut said, &mut std::io::stderr()).map(drop)
}
