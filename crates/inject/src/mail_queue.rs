//! Mail on its way to moderators: a file a mail in `mail.queue/`, until a program has taken it.
//!
//! *Invariant:* a mail is a file, durable, before anybody hears that it is on its way, and the file goes only after the program
//! ended with 0. So none is lost; one may be sent twice, after a crash in between.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use groups::command_line::CommandLine;

use crate::draft::Draft;
use crate::message_id;

/// The directory in a news directory.
pub const DIRECTORY: &str = "mail.queue";
/// Files of mails end in this.
const EXTENSION: &str = "mail";
/// The largest mail that is looked at, in bytes: an article and some headers.
pub const MAIL_BYTES_MAX: u64 = (1 << 30) + (1 << 20);

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
    /// The mail program did not take the mail.
    #[error("{} did not take it: {status}", program.display())]
    NotTaken {
        /// The program.
        program: PathBuf,
        /// How it ended.
        status: std::process::ExitStatus,
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

/// Gives one mail to the program on its standard input, and removes the file when it ended with 0. No shell
/// is asked.
///
/// # Errors
/// The program cannot be run or did not take it; the mail is still there.
pub fn send(mail: &Waiting, command: &CommandLine) -> Result<(), Error> {
    let bytes = mail.read()?;
    let program = OsStr::from_bytes(command.program());
    let failed = |source| Error::Program {
        program: program.into(),
        source,
    };
    let mut child = Command::new(program)
        .args(
            command
                .arguments()
                .iter()
                .map(|word| OsStr::from_bytes(word)),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .map_err(failed)?;
    // A program that reads only a part says by its status whether that was enough.
    let written = match child.stdin.take() {
        Some(mut input) => input.write_all(&bytes),
        None => Ok(()),
    };
    let status = child.wait().map_err(failed)?;
    if !status.success() {
        return Err(Error::NotTaken {
            program: program.into(),
            status,
        });
    }
    written.map_err(failed)?;
    fs::remove_file(&mail.path).map_err(at("remove", &mail.path))?;
    let queue = mail.path.parent().unwrap_or(Path::new("."));
    sync(queue)
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
        let error = send(&found[0], &CommandLine::parse(b"false").unwrap()).unwrap_err();
        assert!(matches!(error, Error::NotTaken { .. }), "{error}");
        send(&found[0], &CommandLine::parse(b"cat").unwrap()).unwrap();
        assert_eq!(list(dir.path()).unwrap().len(), 1);
    }
}
