//! Mounting and unmounting.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{Config, MountOption, Session, SessionACL};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::mount::{UnmountFlags, unmount};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::counters::{CountersFile, Mounted};
use crate::filesystem::{News, Say};
use crate::search::Caches;
use crate::tree::Tree;

/// Seconds that users of a mount have to leave it after SIGTERM. Then they get errors.
pub const END_SECONDS_MAX: u64 = 5;
/// The counts are written this long after the first request.
const COUNTS_EVERY: Duration = Duration::from_secs(1);
/// The source in the table of mounts.
const SOURCE: &str = "broadsheet";

/// Why a news directory cannot be mounted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The news directory cannot be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The directory to mount at cannot be used.
    #[error("cannot mount at {}", .0.display())]
    At(PathBuf, #[source] io::Error),
    /// The directory to mount at is a part of the news directory.
    #[error(
        "cannot mount at {}: it is in the news directory ({}): choose a directory outside it",
        .0.display(), .1.display()
    )]
    InNews(PathBuf, PathBuf),
    /// The directory to mount at contains the news directory, or a part of it.
    #[error(
        "cannot mount at {}: the mount would hide {} of the news directory: choose another directory",
        .0.display(), .1.display()
    )]
    AboveNews(PathBuf, PathBuf),
    /// FUSE refuses.
    #[error(
        "cannot mount at {}: load the kernel module (`modprobe fuse'), and as another user than root install fusermount3 (Debian's fuse3)",
        .0.display()
    )]
    Fuse(PathBuf, #[source] io::Error),
    /// The system lets this user mount nothing for other users.
    #[error(
        "cannot mount at {}: only root may use --allow-other unless /etc/fuse.conf has the line `user_allow_other': add it, or mount without --allow-other",
        .0.display()
    )]
    ForAll(PathBuf, #[source] io::Error),
    /// No thread can be started.
    #[error("cannot start a thread")]
    Thread(#[source] io::Error),
    /// The file system ended with an error.
    #[error("the mount at {} ended", .0.display())]
    Ended(PathBuf, #[source] io::Error),
}

impl Error {
    /// The error of a mount that FUSE refuses; fusermount3 names the setting that is missing.
    fn of_fuse(at: &Path, error: io::Error) -> Error {
        let at = at.to_owned();
        if error.to_string().contains("user_allow_other") {
            Error::ForAll(at, error)
        } else {
            Error::Fuse(at, error)
        }
    }
}

/// What to mount, and how.
#[derive(Debug, Clone)]
pub struct Mount<'a> {
    /// The news directory.
    pub dir: &'a Path,
    /// Where to mount it.
    pub at: &'a Path,
    /// The sizes of the caches.
    pub caches: Caches,
    /// How long the kernel may keep names and attributes.
    pub kept: Duration,
    /// Whether other users may read it.
    pub is_for_all: bool,
    /// Reports what an administrator should know.
    pub say: Say,
}

/// What ends a mount.
enum Event {
    Signal,
    Ended(io::Result<()>),
}

impl Mount<'_> {
    /// Mounts, and serves until it is unmounted, or a signal comes. `confine` restricts the calling thread, which then starts the one that serves;
    /// that one calls `begin` before its first request. `ready` is called when the directory can be used.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn run(
        &self,
        (confine, begin): (
            impl FnOnce() + Send + 'static,
            impl FnOnce() + Send + 'static,
        ),
        ready: impl FnOnce(),
    ) -> Result<(), Error> {
        let tree = Tree::open(self.dir, self.caches)?;
        let replaced = tree.events().map_err(Error::Thread)?;
        let news = News::new(tree, self.kept, self.say, begin);
        self.remove_dead()?;
        let at = self.at.canonicalize();
        let at = at.map_err(|error| Error::At(self.at.to_owned(), error))?;
        self.check_place(&at)?;
        let (events, wait) = channel();
        start_signals(events.clone()).map_err(Error::Thread)?;
        let session = Session::new(news.clone(), &at, &self.config());
        let mut session = session.map_err(|error| Error::of_fuse(&at, error))?;
        let mut unmounter = session.unmount_callable();
        let counts = self.start_counts(&at, &news).map_err(Error::Thread)?;
        start_following(news, replaced).map_err(Error::Thread)?;
        let thread = std::thread::Builder::new().name("mount".to_owned());
        let serve = move || {
            confine();
            // A receiver that is gone does not wait any more.
            let _ = events.send(Event::Ended(session.run()));
        };
        thread.spawn(serve).map_err(Error::Thread)?;
        ready();
        let ended = match wait.recv() {
            Ok(Event::Ended(result)) => result,
            _ => {
                if unmounter.unmount().is_err() {
                    (self.say)(&format!(
                        "{} is in use: it is no longer visible, and its users have {END_SECONDS_MAX} seconds",
                        at.display()
                    ));
                    let _ = detach(&at);
                }
                match wait.recv_timeout(Duration::from_secs(END_SECONDS_MAX)) {
                    Ok(Event::Ended(result)) => result,
                    Ok(Event::Signal) | Err(_) => Ok(()),
                }
            }
        };
        if let Some(counts) = counts {
            counts.remove();
        }
        ended.map_err(|error| Error::Ended(at, error))
    }

    fn config(&self) -> Config {
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::RO,
            MountOption::NoDev,
            MountOption::NoSuid,
            MountOption::NoExec,
            MountOption::NoAtime,
            MountOption::DefaultPermissions,
            MountOption::FSName(SOURCE.to_owned()),
        ];
        if self.is_for_all {
            config.acl = SessionACL::All;
        }
        config
    }

    /// Removes a mount whose process was killed.
    fn remove_dead(&self) -> Result<(), Error> {
        let Err(error) = std::fs::metadata(self.at) else {
            return Ok(());
        };
        let fault = |error| Error::At(self.at.to_owned(), error);
        let is_dead = error.raw_os_error() == Some(Errno::NOTCONN.raw_os_error());
        if !is_dead || !is_ours(self.at) {
            return Err(fault(error));
        }
        (self.say)(&format!(
            "the process of an earlier mount at {} was killed: that mount is removed",
            self.at.display()
        ));
        detach(self.at).map_err(fault)
    }

    /// Checks that the mount point is a directory, and hides nothing of the news directory: the mount would wait for itself whenever it
    /// reads or writes there.
    fn check_place(&self, at: &Path) -> Result<(), Error> {
        let fault = |error| Error::At(at.to_owned(), error);
        if !std::fs::metadata(at).map_err(fault)?.is_dir() {
            return Err(fault(io::ErrorKind::NotADirectory.into()));
        }
        // The segments may be on another disk, behind a symbolic link.
        for place in [self.dir.to_owned(), self.dir.join("segments")] {
            let place = place
                .canonicalize()
                .map_err(|error| Error::At(place, error))?;
            if at.starts_with(&place) {
                return Err(Error::InNews(at.to_owned(), place));
            }
            if place.starts_with(at) {
                return Err(Error::AboveNews(at.to_owned(), place));
            }
        }
        Ok(())
    }

    /// Writes the counts from now on, if this user can write in the news directory.
    fn start_counts(&self, at: &Path, news: &News) -> io::Result<Option<Arc<CountersFile>>> {
        let file = match CountersFile::create(self.dir) {
            Ok(file) => Arc::new(file),
            Err(error) => {
                (self.say)(&format!("`status' will not show this mount: {error}"));
                return Ok(None);
            }
        };
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let mut mounted = Mounted {
            at: at.display().to_string(),
            pid: std::process::id(),
            since: since.map_or(0, |since| since.as_secs() as i64),
            counters: news.counters(),
        };
        file.write(&mounted)?;
        let (kept, news) = (file.clone(), news.clone());
        let thread = std::thread::Builder::new().name("counts".to_owned());
        thread.spawn(move || {
            loop {
                news.wait_for_request();
                std::thread::sleep(COUNTS_EVERY);
                mounted.counters = news.counters();
                // The next time, where the disk is full.
                let _ = file.write(&mounted);
            }
        })?;
        Ok(Some(kept))
    }
}

fn start_signals(events: Sender<Event>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])?;
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(move || {
        // The first one ends the mount.
        if signals.forever().next().is_some() {
            let _ = events.send(Event::Signal);
        }
    })?;
    Ok(())
}

/// Lets go of replaced files while nothing is asked for.
fn start_following(news: News, replaced: OwnedFd) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("following".to_owned());
    thread.spawn(move || {
        loop {
            match poll(&mut [PollFd::new(&replaced, PollFlags::IN)], None) {
                Ok(_) => news.catch_up(),
                Err(Errno::INTR) => {}
                // Requests look, too.
                Err(_) => return,
            }
        }
    })?;
    Ok(())
}

/// Whether the mount at a directory is one of ours, as the table of mounts tells.
fn is_ours(at: &Path) -> bool {
    let (Some(parent), Some(name)) = (at.parent(), at.file_name()) else {
        return false;
    };
    let parent = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    let Ok(parent) = parent.canonicalize() else {
        return false;
    };
    let escaped = |c: u8| match c {
        b' ' | b'\t' | b'\n' | b'\\' => format!("\\{c:03o}").into_bytes(),
        _ => vec![c],
    };
    let path = parent.join(name);
    let path: Vec<u8> = path
        .as_os_str()
        .as_bytes()
        .iter()
        .copied()
        .flat_map(escaped)
        .collect();
    let table = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    let mut mounts = table.split(|&b| b == b'\n').filter_map(|line| {
        let mut fields = line.split(|&b| b == b' ');
        let at = fields.nth(4)?;
        // Optional fields, a hyphen, the type, the source.
        let source = fields.skip_while(|field| *field != b"-").nth(2)?;
        (at == path).then_some(source)
    });
    mounts.next_back() == Some(SOURCE.as_bytes())
}

/// Removes a mount from its directory, also while it is in use.
fn detach(at: &Path) -> io::Result<()> {
    match unmount(at, UnmountFlags::DETACH) {
        Ok(()) => Ok(()),
        Err(Errno::PERM) => {
            let mut command = Command::new("fusermount3");
            let status = command.args(["-u", "-z", "--"]).arg(at).status()?;
            if status.success() {
                Ok(())
            } else {
                Err(io::Error::other(format!("fusermount3: {status}")))
            }
        }
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_is_that_of_the_error() {
        let told = |why: &str| Error::of_fuse(Path::new("/m"), io::Error::other(why)).to_string();
        // As fusermount3 writes it.
        let why = "fusermount3: option allow_other only allowed if 'user_allow_other' is set in /etc/fuse.conf\n";
        let text = told(why);
        assert!(
            text.contains("/etc/fuse.conf") && !text.contains("modprobe"),
            "{text}"
        );
        assert!(told("no such device").contains("modprobe"));
    }
}
