//! Mail on its way to moderators: a file a mail in `mail.queue/`, until a program has taken it.
//!
//! *Invariant:* a mail is a file, durable, before anybody hears that it is on its way, and the file goes only after the program
//! ended with 0. So none is lost; one may be sent twice, after a crash in between.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use groups::command_line::CommandLine;

use crate::draft::Draft;
use crate::message_id;

/// The directory in a news directory.
pub const DIRECTORY: &str = "mail.queue";
/// Files of mails end in this.
const EXTENSION: &str = "mail";
/// The largest mail that is looked at, in bytes: an article and some headers.
pub const MAIL_BYTES_MAX: u64 = (1 << 30) + (1 << 20);
/// How long the mail program may take for one mail, in seconds.
pub const MAIL_SECONDS_MAX: u64 = 600;

/// What cannot be done about mail.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or the directory.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On which file.
        path: PathBuf,
        /// The system's own error.
        source: io::Error,
    },
    /// The mail program cannot be started or spoken to.
    #[error("cannot run {}: {source}", program.display())]
    Program {
        /// The program.
        program: PathBuf,
        /// The system's own error.
        source: io::Error,
    },
    /// Somebody else is sending this mail now.
    #[error("it is being sent already")]
    Busy,
    /// The mail program did not end.
    #[error("{} did not end within {seconds} seconds", program.display())]
    TooLong {
        /// The program.
        program: PathBuf,
        /// How long it had.
        seconds: u64,
    },
    /// The mail program did not take the mail.
    #[error("{} did not take it: {status}", program.display())]
    NotTaken {
        /// The program.
        program: PathBuf,
        /// How it ended.
        status: ExitStatus,
    },
}

impl Error {
    /// True when there is no such mail program.
    pub fn is_no_program(&self) -> bool {
        matches!(self, Error::Program { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// True when the disk (or quota) is full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Error::Io { source, .. }
            if matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
    }
}

fn at(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}

/// Keeps a mail, durably. Gives its file.
///
/// # Errors
/// It cannot be written; then nothing is there.
pub fn keep(dir: &Path, mail: &[u8], seconds: i64, chance: u64) -> Result<PathBuf, Error> {
    let queue = dir.join(DIRECTORY);
    if !queue.is_dir() {
        let made = DirBuilder::new().recursive(true).mode(0o770).create(&queue);
        made.map_err(at("make", &queue))?;
        sync(dir)?;
    }
    let mut code = Vec::new();
    message_id::code(chance, &mut code);
    let name = format!("{seconds}.{}", String::from_utf8_lossy(&code));
    let fresh = queue.join(format!("{name}.new"));
    let path = queue.join(format!("{name}.{EXTENSION}"));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o640)
        .open(&fresh)
        .and_then(|mut file| {
            file.write_all(mail)?;
            file.sync_all()
        })
        .map_err(at("write", &fresh))
        .and_then(|()| fs::rename(&fresh, &path).map_err(at("put in place", &path)))
        .and_then(|()| sync(&queue));
    if written.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    written.map(|()| path)
}

fn sync(queue: &Path) -> Result<(), Error> {
    File::open(queue)
        .and_then(|directory| directory.sync_all())
        .map_err(at("sync", queue))
}

/// A mail that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Its file.
    pub path: PathBuf,
    /// Since when, in seconds since 1970, as its name says.
    pub since: i64,
}

impl Waiting {
    /// The mail itself.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(&self) -> Result<Vec<u8>, Error> {
        let reading = || -> io::Result<Vec<u8>> {
            let mut mail = Vec::new();
            io::Read::read_to_end(
                &mut io::Read::take(File::open(&self.path)?, MAIL_BYTES_MAX),
                &mut mail,
            )?;
            Ok(mail)
        };
        reading().map_err(at("read", &self.path))
    }

    /// The name of its file.
    pub fn name(&self) -> String {
        let name = self.path.file_stem().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// One of its headers, for people: control characters become blanks.
    pub fn header(mail: &[u8], name: &str) -> String {
        let draft = Draft::parse(mail).unwrap_or_default();
        crate::refusal::shown(draft.value(name).unwrap_or_default())
    }
}

/// All that wait, the oldest first. What is no mail is passed over.
///
/// # Errors
/// The directory cannot be read. A missing one is empty.
pub fn list(dir: &Path) -> Result<Vec<Waiting>, Error> {
    let queue = dir.join(DIRECTORY);
    let entries = match fs::read_dir(&queue) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(at("read", &queue)(error)),
    };
    let mut waiting = Vec::new();
    for entry in entries {
        let path = entry.map_err(at("read", &queue))?.path();
        if path.extension().is_none_or(|end| end != EXTENSION) {
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(since) = name.split('.').next().and_then(|word| word.parse().ok()) {
            waiting.push(Waiting { path, since });
        }
    }
    waiting.sort_by(|a, b| (a.since, &a.path).cmp(&(b.since, &b.path)));
    Ok(waiting)
}

/// Gives one mail to the program as its standard input, and removes the file when it ended with 0; a program that reads only a
/// part says by its status that this was enough. No shell is asked. Who comes at the same time for the same mail fails with
/// [`Error::Busy`], and one that is gone has been sent.
///
/// # Errors
/// The program cannot be run or did not take it; the mail is still there.
pub fn send(mail: &Waiting, command: &CommandLine, limit: Duration) -> Result<(), Error> {
    let file = match File::open(&mail.path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(at("read", &mail.path)(error)),
    };
    // The program holds the lock too, should this process end before it.
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(Error::Busy),
        Err(TryLockError::Error(error)) => return Err(at("lock", &mail.path)(error)),
    }
    // Whoever held the lock before may have sent it.
    if file.metadata().map_err(at("read", &mail.path))?.nlink() == 0 {
        return Ok(());
    }
    let program = OsStr::from_bytes(command.program());
    let failed = |source| Error::Program {
        program: program.into(),
        source,
    };
    let words = command.arguments().iter();
    let child = Command::new(program)
        .args(words.map(|word| OsStr::from_bytes(word)))
        .stdin(Stdio::from(file))
        .stdout(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let Some(status) = wait(child, limit).map_err(failed)? else {
        return Err(Error::TooLong {
            program: program.into(),
            seconds: limit.as_secs(),
        });
    };
    if !status.success() {
        return Err(Error::NotTaken {
            program: program.into(),
            status,
        });
    }
    fs::remove_file(&mail.path).map_err(at("remove", &mail.path))?;
    let queue = mail.path.parent().unwrap_or(Path::new("."));
    sync(queue)
}

/// How a program ended; `None`: it did not in time, and was killed.
fn wait(mut child: Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() >= limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mails_are_kept_in_order_and_leftovers_are_passed_over() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(list(dir.path()).unwrap(), []);
        keep(dir.path(), b"Subject: two\n\n", 20, 7).unwrap();
        keep(dir.path(), b"Subject: one\n\n", 9, 7).unwrap();
        fs::write(dir.path().join("mail.queue/9.z.new"), b"torn").unwrap();
        let found = list(dir.path()).unwrap();
        assert_eq!(
            found.iter().map(|mail| mail.since).collect::<Vec<_>>(),
            [9, 20]
        );
        let mail = found[0].read().unwrap();
        assert_eq!(Waiting::header(&mail, "subject"), "one");
        let send = |mail: &Waiting, command: &[u8]| {
            let limit = Duration::from_millis(300);
            super::send(mail, &CommandLine::parse(command).unwrap(), limit)
        };
        let error = send(&found[0], b"false").unwrap_err();
        assert!(matches!(error, Error::NotTaken { .. }), "{error}");
        let error = send(&found[0], b"sleep 100").unwrap_err();
        assert!(matches!(error, Error::TooLong { .. }), "{error}");
        // Somebody else sends it.
        let other = File::open(&found[0].path).unwrap();
        other.lock().unwrap();
        let error = send(&found[0], b"cat").unwrap_err();
        assert!(matches!(error, Error::Busy), "{error}");
        drop(other);
        assert_eq!(list(dir.path()).unwrap().len(), 2);
        send(&found[0], b"cat").unwrap();
        assert_eq!(list(dir.path()).unwrap().len(), 1);
        // It is gone, so it was sent.
        send(&found[0], b"false").unwrap();
        // Not a byte of it is read, and that is enough.
        fs::write(&found[1].path, vec![b'x'; 1 << 20]).unwrap();
        send(&found[1], b"true").unwrap();
        assert_eq!(list(dir.path()).unwrap(), []);
    }
}
