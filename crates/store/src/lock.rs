//! The one lock of the news system: `flock` on the file `lock`.

use std::fs::{File, OpenOptions};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use crate::Error;

/// Held for as long as it lives.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of a news directory; waits for it if `wait`, else fails with [`Error::Locked`].
    pub fn take(dir: &Path, wait: bool) -> Result<Lock, Error> {
        Lock::take_named(dir, "lock", wait)
    }

    /// True when somebody holds the lock of a news directory now.
    pub fn is_held(dir: &Path) -> bool {
        matches!(Lock::take(dir, false), Err(Error::Locked(_)))
    }

    /// As [`Lock::take`], for another file: `lock.expire` keeps two runs of expire apart.
    pub fn take_named(dir: &Path, name: &str, wait: bool) -> Result<Lock, Error> {
        let path = dir.join(name);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|source| Error::io("open", &path, source))?;
        let how = if wait {
            FlockOperation::LockExclusive
        } else {
            FlockOperation::NonBlockingLockExclusive
        };
        loop {
            match flock(&file, how) {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => return Err(Error::Locked(path)),
                Err(errno) => return Err(Error::io("lock", &path, errno.into())),
            }
        }
    }
}
