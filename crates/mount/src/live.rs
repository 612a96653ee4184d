//! The snapshot of the mount. It sees a commit by the mapped index, and by inotify that a file took the place of another: a look
//! costs one system call where nothing changed.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;
use store::{Change, Error, Snapshot};

use crate::hierarchy::Hierarchy;

/// The table of groups.
const ACTIVE: &str = "active";
/// The least time from a look that failed to the next.
const RETRY: Duration = Duration::from_millis(20);
/// How long a new index may end before the known end of the log: so far it replays the last segment. Later the log counts as cut off there.
const REPLAY: Duration = Duration::from_secs(60);
/// Buffer for events, bytes.
const EVENTS_BYTES: usize = 4 << 10;

/// What the mount knows of the news directory.
#[derive(Debug)]
pub struct Live {
    dir: PathBuf,
    /// The articles.
    pub snapshot: Snapshot,
    /// The groups.
    pub hierarchy: Hierarchy,
    events: OwnedFd,
    /// What was told and is not taken over yet: it could not be read.
    pending: Told,
    /// When to try again, if the last look failed.
    retry: Option<Instant>,
    /// Since when the end of the log lies before the known one.
    replayed_since: Option<Instant>,
    /// The first error since the last look that succeeded; the caller of [`Live::take_failure`] has it.
    failure: Option<Error>,
    /// The number of commits seen.
    pub commits: u64,
    /// The commit since which nothing was removed.
    pub removals: u64,
    /// The number of tables of groups seen.
    pub tables: u64,
    /// When the table of groups was written before it was read, epoch seconds.
    pub table_mtime: i64,
}

/// What the events tell.
#[derive(Debug, Default, Clone, Copy)]
struct Told {
    /// A file took the place of another.
    files: bool,
    /// `active` did, or was written.
    active: bool,
}

const ALL: Told = Told {
    files: true,
    active: true,
};

impl Live {
    /// Opens a news directory.
    ///
    /// # Errors
    /// A file cannot be read, or the directory cannot be watched.
    pub fn open(dir: &Path) -> Result<Live, Error> {
        // Before anything is read, so that no change is missed.
        let events = watch(dir)?;
        Ok(Live {
            dir: dir.to_owned(),
            snapshot: Snapshot::open(dir)?,
            hierarchy: Hierarchy::read(dir)?,
            events,
            pending: Told::default(),
            retry: None,
            replayed_since: None,
            failure: None,
            commits: 1,
            removals: 1,
            tables: 1,
            table_mtime: mtime(&dir.join(ACTIVE)),
        })
    }

    /// The news directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// A descriptor that can be read when a file took the place of another.
    ///
    /// # Errors
    /// There are no more descriptors.
    pub fn events(&self) -> std::io::Result<OwnedFd> {
        self.events.try_clone()
    }

    /// Takes over what changed since. Where a file cannot be read, as while `history rebuild` makes the index anew, everything stays as it was
    /// seen last, and a call at least [`RETRY`] later tries again.
    pub fn catch_up(&mut self) {
        if self.retry.is_some_and(|retry| Instant::now() < retry) {
            return;
        }
        let looked = self.look();
        let was_behind = self.retry.is_some();
        let is_behind = !matches!(looked, Ok(true));
        self.retry = is_behind.then(|| Instant::now() + RETRY);
        if let (Err(error), false) = (looked, was_behind) {
            self.failure = Some(error);
        }
    }

    /// The error since which nothing new is seen, once.
    pub fn take_failure(&mut self) -> Option<Error> {
        self.failure.take()
    }

    /// Takes over what changed. False: the log is being replayed.
    fn look(&mut self) -> Result<bool, Error> {
        self.listen();
        let change = if self.pending.files {
            let mut fresh = self.snapshot.clone();
            fresh.catch_up()?;
            if fresh.end() < self.snapshot.end() {
                let since = self.replayed_since.get_or_insert_with(Instant::now);
                if since.elapsed() < REPLAY {
                    return Ok(false);
                }
            }
            self.snapshot = fresh;
            self.replayed_since = None;
            self.pending.files = false;
            Change::Removed
        } else {
            self.snapshot.catch_up_with_commits()?
        };
        if change != Change::None {
            self.commits += 1;
        }
        if change == Change::Removed {
            self.removals = self.commits;
        }
        if self.pending.active {
            self.table_mtime = mtime(&self.dir.join(ACTIVE));
            self.hierarchy.replace(Hierarchy::read(&self.dir)?);
            self.pending.active = false;
            self.tables += 1;
            // What is known of a name may have changed.
            self.commits += 1;
            self.removals = self.commits;
        }
        Ok(true)
    }

    /// Reads the events, without waiting.
    fn listen(&mut self) {
        let mut space = [MaybeUninit::uninit(); EVENTS_BYTES];
        let mut events = Reader::new(&self.events, &mut space);
        let (dir, length) = (&self.dir, self.hierarchy.bytes() as u64);
        let told = &mut self.pending;
        loop {
            match events.next() {
                Ok(event) if event.events().contains(ReadFlags::CLOSE_WRITE) => {
                    // A command that filed articles closes it, too: then numbers were written over numbers.
                    let is_active = event.file_name().is_some_and(|name| name == c"active");
                    told.active |= is_active && has_other_length(dir, length);
                }
                Ok(event) => match event.file_name() {
                    Some(name) if name == c"active" => told.active = true,
                    Some(name) => told.files |= is_of_the_store(name.to_bytes()),
                    // Some events were lost.
                    None => *told = ALL,
                },
                Err(Errno::INTR) => {}
                // No more for now.
                Err(_) => return,
            }
        }
    }
}

/// Whether a snapshot reads a file of this name: one of the log, or derived from it.
fn is_of_the_store(name: &[u8]) -> bool {
    name.first().is_some_and(u8::is_ascii_digit)
        || [&b"index"[..], b"expired", b"cancels"].contains(&name)
}

fn has_other_length(dir: &Path, length: u64) -> bool {
    let metadata = std::fs::metadata(dir.join(ACTIVE));
    metadata.is_ok_and(|metadata| metadata.len() != length)
}

fn mtime(path: &Path) -> i64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.mtime())
}

fn watch(dir: &Path) -> Result<OwnedFd, Error> {
    let fault = |path: &Path, errno: Errno| Error::Io {
        doing: "watch",
        path: path.to_owned(),
        source: errno.into(),
    };
    let events = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
    let events = events.map_err(|errno| fault(dir, errno))?;
    let segments = dir.join("segments");
    let replaced = WatchFlags::MOVED_TO | WatchFlags::DELETE | WatchFlags::ONLYDIR;
    for (path, flags) in [
        (dir, replaced | WatchFlags::CLOSE_WRITE),
        (&segments, replaced),
    ] {
        add_watch(&events, path, flags).map_err(|errno| fault(path, errno))?;
    }
    Ok(events)
}
