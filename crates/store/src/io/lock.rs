//! The one lock of the news system: `flock` on the file `lock`.
//!
//! A daemon holds it while it runs, and lends it: a program that waits for the lock asks over the daemon's socket
//! ([`crate::io::control_socket`]); the daemon closes its spool, and opens it again after the borrower has released the lock.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use crate::{
    Error,
    io::control_socket::{self, Loan},
};

/// The content of the file while the holder has no work. A holder that never writes it counts as busy.
const IDLE: &[u8; 5] = b"idle\n";
const BUSY: &[u8; 5] = b"busy\n";
/// Interval between checks of a waiting program whether a daemon can be asked.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// The lock, held while the value lives.
#[derive(Debug)]
pub struct Lock {
    // In this order: the lock is free before the daemon notices its return.
    file: File,
    _loan: Option<Loan>,
}

impl Lock {
    /// Takes the lock of a news directory; waits up to `patience`, then fails with [`Error::Locked`].
    /// `None` waits without a limit.
    ///
    /// While it waits, it asks the daemon, if there is one, to lend the lock.
    pub fn take(dir: &Path, patience: Option<Duration>) -> Result<Lock, Error> {
        let taken = match Lock::take_named(dir, "lock", false) {
            Err(Error::Locked(_)) if patience.is_none_or(|most| !most.is_zero()) => {
                Lock::wait_or_borrow(dir, patience)
            }
            taken => taken,
        }?;
        taken.say_idle(false)?;
        Ok(taken)
    }

    /// Waits for the lock without asking the daemon; for the daemon itself.
    pub fn take_as_daemon(dir: &Path) -> Result<Lock, Error> {
        let lock = Lock::take_named(dir, "lock", true)?;
        lock.say_idle(false)?;
        Ok(lock)
    }

    /// Whether another program holds the lock of a news directory now and has work.
    pub fn is_held(dir: &Path) -> bool {
        let is_taken = matches!(Lock::take_named(dir, "lock", false), Err(Error::Locked(_)));
        let says_idle = || {
            let mut said = *BUSY;
            let read =
                File::open(dir.join("lock")).and_then(|file| file.read_exact_at(&mut said, 0));
            read.is_ok() && said == *IDLE
        };
        is_taken && !says_idle()
    }

    /// Records whether the holder has no work now, for [`Lock::is_held`].
    ///
    /// # Errors
    /// An I/O error.
    pub fn say_idle(&self, is_idle: bool) -> Result<(), Error> {
        let word = if is_idle { IDLE } else { BUSY };
        let mut said = [0; IDLE.len()];
        let is_said = match self.file.read_exact_at(&mut said, 0) {
            Ok(()) => said == *word,
            // An empty file counts as busy.
            Err(_) => !is_idle,
        };
        if is_said {
            return Ok(());
        }
        self.file
            .write_all_at(word, 0)
            .map_err(|source| Error::io("write", Path::new("lock"), source))
    }

    /// As [`Lock::take`], for another file, without asking its holder: `lock.expire` prevents two simultaneous runs of expire.
    pub fn take_named(dir: &Path, name: &str, wait: bool) -> Result<Lock, Error> {
        let path = dir.join(name);
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
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
                Ok(()) => return Ok(Lock { file, _loan: None }),
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::WOULDBLOCK) => return Err(Error::Locked(path)),
                Err(errno) => return Err(Error::io("lock", &path, errno.into())),
            }
        }
    }

    /// Waits in `flock`, and asks the daemon meanwhile. It finds a daemon that starts later,
    /// and continues if the daemon ends or another replaces it. After the time limit the thread keeps waiting; if
    /// it gets the lock then, it releases it at once.
    fn wait_or_borrow(dir: &Path, patience: Option<Duration>) -> Result<Lock, Error> {
        let began = Instant::now();
        let (sender, taken) = channel();
        let place = dir.to_owned();
        std::thread::Builder::new()
            .name("lock".to_owned())
            .spawn(move || sender.send(Lock::take_named(&place, "lock", true)))
            .map_err(|source| Error::io("wait for", &dir.join("lock"), source))?;
        let mut loan = None;
        loop {
            if loan.as_ref().is_none_or(control_socket::is_over) {
                loan = control_socket::ask(dir).ok();
            }
            let left = patience.map(|most| most.saturating_sub(began.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(Error::Locked(dir.join("lock")));
            }
            match taken.recv_timeout(left.map_or(LOOK_AGAIN, |left| left.min(LOOK_AGAIN))) {
                Ok(lock) => {
                    return lock.map(|lock| Lock {
                        _loan: loan.map(Loan),
                        ..lock
                    });
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::Locked(dir.join("lock")));
                }
            }
        }
    }
}
