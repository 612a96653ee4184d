//! The snapshot of the mount. It sees a commit by the mapped index, and by inotify that a file took the place of another: a look
//! costs one system call where nothing changed.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::io::Errno;
use store::{Change, Error, Snapshot};

use crate::hierarchy::Hierarchy;

/// The table of groups.
const ACTIVE: &str = "active";
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

    /// Takes over what changed since.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn catch_up(&mut self) -> Result<(), Error> {
        let told = self.told();
        let change = match told.files {
            true => {
                self.snapshot.catch_up()?;
                Change::Removed
            }
            false => self.snapshot.catch_up_with_commits()?,
        };
        if change != Change::None {
            self.commits += 1;
        }
        if change == Change::Removed {
            self.removals = self.commits;
        }
        if told.active {
            self.table_mtime = mtime(&self.dir.join(ACTIVE));
            self.hierarchy.replace(Hierarchy::read(&self.dir)?);
            self.tables += 1;
            // What is known of a name may have changed.
            self.commits += 1;
            self.removals = self.commits;
        }
        Ok(())
    }

    /// Reads the events, without waiting.
    fn told(&self) -> Told {
        let mut space = [MaybeUninit::uninit(); EVENTS_BYTES];
        let mut events = Reader::new(&self.events, &mut space);
        let mut told = Told::default();
        loop {
            match events.next() {
                Ok(event) if event.events().contains(ReadFlags::CLOSE_WRITE) => {
                    // A command that filed articles closes it, too: then numbers were written over numbers.
                    let is_active = event.file_name().is_some_and(|name| name == c"active");
                    told.active |= is_active && self.has_other_length();
                }
                Ok(event) => {
                    // Of an event without a name, too: some were lost.
                    told.files = true;
                    let other = event.file_name().is_some_and(|name| name != c"active");
                    told.active |= !other;
                }
                Err(Errno::INTR) => {}
                // No more for now.
                Err(_) => return told,
            }
        }
    }

    fn has_other_length(&self) -> bool {
        let metadata = std::fs::metadata(self.dir.join(ACTIVE));
        metadata.is_ok_and(|metadata| metadata.len() != self.hierarchy.bytes() as u64)
    }
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
