//! The queue of mail to moderators: one file per mail in `mail.queue/`, until a program or a mail server has accepted it.
//!
//! *Invariant:* a mail is durable in its file before the poster gets a reply, and the file is removed only after the program
//! exited with 0, or the server accepted the mail. So no mail is lost; a crash in between may send one twice.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use groups::command_line::CommandLine;
use relay::Now;
use relay::log::{self, Code};
use rustix::process::{Pid, Signal, kill_process_group};
use rustix::rand::{GetRandomFlags, getrandom};
use store::disk::{Access, RealDisk};

use crate::draft::Draft;
use crate::mailbox::{self, RECIPIENT_BYTES_MAX};
use crate::{message_id, smtp};

/// Why mail waits that nothing sends.
pub const NO_WAY: &str = "no program or server sends it: see post.sendmail and post.mail_server, and then run `broadsheet mail send'";

/// Name of the directory in a news directory.
pub const DIRECTORY: &str = "mail.queue";
/// Extension of mail files.
const EXTENSION: &str = "mail";
/// Largest mail that is read, bytes: an article and some headers.
pub const MAIL_BYTES_MAX: u64 = (1 << 30) + (1 << 20);
/// Maximum number of mails that wait. More are refused, so that posters cannot fill the disk while no mail is accepted.
pub const QUEUED_MAILS_MAX: usize = 10_000;
/// Time limit of the mail program, or the mail server, for one mail, seconds.
pub const MAIL_SECONDS_MAX: u64 = 600;

/// Longest header of a mail that is read, bytes.
const HEAD_BYTES: u64 = 1 << 20;

/// The access to a mail.
const ACCESS: Access = Access {
    mode: 0o640,
    owner: None,
};

/// The errors of the mail queue.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A system call on a file or the directory failed.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The failed action.
        doing: &'static str,
        /// Its file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The mail program cannot be started, or waiting for it failed.
    #[error("cannot run {}: {source}", program.display())]
    Program {
        /// The program.
        program: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// Too many mails wait.
    #[error(
        "{DIRECTORY}/ holds {QUEUED_MAILS_MAX} mails that were not accepted: `broadsheet mail list' shows them, `broadsheet mail send' tries again"
    )]
    Full,
    /// Another process is sending this mail.
    #[error("another process is sending it")]
    Busy,
    /// The mail program did not exit in time.
    #[error("{} did not exit within {seconds} seconds", program.display())]
    TooLong {
        /// The program.
        program: PathBuf,
        /// Its time limit, seconds.
        seconds: u64,
    },
    /// The mail program did not accept the mail.
    #[error("{} did not accept it: {status}", program.display())]
    NotTaken {
        /// The program.
        program: PathBuf,
        /// Its exit status.
        status: ExitStatus,
    },
    /// The mail program did not accept the mail in a process with `no_new_privs`, and no mail server of this machine answers.
    #[error(
        "{} did not accept it: {status}; it cannot gain its rights under a systemd unit with NoNewPrivileges, and no mail server answers \
         at port 25 of this machine: start one, or set post.mail_server",
        program.display()
    )]
    NoRights {
        /// The program.
        program: PathBuf,
        /// Its exit status.
        status: ExitStatus,
    },
    /// The mail server did not accept the mail.
    #[error(transparent)]
    Server(#[from] smtp::Error),
    /// A mail cannot be written or removed durably.
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl Error {
    /// True if the error may concern one mail only, so that the next mail is worth a try.
    pub fn is_of_one_mail(&self) -> bool {
        match self {
            Error::NotTaken { .. } => true,
            Error::Server(error) => error.is_of_this_mail(),
            _ => false,
        }
    }

    /// True if the mail program does not exist.
    pub fn is_no_program(&self) -> bool {
        matches!(self, Error::Program { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// True if the disk (or quota) is full.
    pub fn is_disk_full(&self) -> bool {
        match self {
            Error::Store(error) => error.is_disk_full(),
            Error::Io { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            ),
            _ => false,
        }
    }
}

fn at(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Io {
        doing,
        path: path.to_owned(),
        source,
    }
}

/// Stores a mail of the news system to its administrator durably: a report, or an alarm. Returns its file. `to` is a safe address, `host` the text
/// behind the `@` of our own; `seconds`: now, since 1970.
///
/// # Errors
/// As [`enqueue`]; the kernel has no random numbers.
pub fn enqueue_own(
    dir: &Path,
    (to, host): (&str, &str),
    subject: &str,
    text: &[u8],
    seconds: i64,
) -> Result<PathBuf, Error> {
    let mut random = [0; 8];
    getrandom(&mut random, GetRandomFlags::empty())
        .map_err(|errno| at("make a name in", &dir.join(DIRECTORY))(errno.into()))?;
    let random = u64::from_ne_bytes(random);
    let mut date = Vec::new();
    article::date::write_utc(&mut date, seconds);
    let date = String::from_utf8_lossy(&date);
    let mut mail = format!(
        "To: {to}\nFrom: News <news@{host}>\nSubject: {subject}\nDate: {date}\nMessage-ID: <report.{random:016x}@{host}>\n\
         Auto-Submitted: auto-generated\nMIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n\
         Content-Transfer-Encoding: 8bit\n\n"
    )
    .into_bytes();
    mail.extend_from_slice(text);
    enqueue(dir, &mail, seconds, random)
}

/// Stores a mail durably. Returns its file.
///
/// # Errors
/// The mail cannot be written, or [`QUEUED_MAILS_MAX`] mails wait; then nothing is stored.
pub fn enqueue(dir: &Path, mail: &[u8], seconds: i64, random: u64) -> Result<PathBuf, Error> {
    let queue = dir.join(DIRECTORY);
    store::make_directories(&queue, 0o770).map_err(at("make", &queue))?;
    if list(dir)?.len() >= QUEUED_MAILS_MAX {
        return Err(Error::Full);
    }
    let mut code = Vec::new();
    message_id::code(random, &mut code);
    let name = format!("{seconds}.{}", String::from_utf8_lossy(&code));
    let path = queue.join(format!("{name}.{EXTENSION}"));
    store::replace_as(&RealDisk, &path, ACCESS, |file| file.write_at(mail, 0))?;
    Ok(path)
}

/// A mail in the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedMail {
    /// Its file.
    pub path: PathBuf,
    /// The time of queueing, seconds since 1970, from its name.
    pub since: i64,
}

impl QueuedMail {
    /// Reads the mail.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(&self) -> Result<Vec<u8>, Error> {
        let reading = || -> io::Result<Vec<u8>> {
            let mut mail = Vec::new();
            io::Read::read_to_end(
                &mut io::Read::take(store::regular::open(&self.path)?, MAIL_BYTES_MAX),
                &mut mail,
            )?;
            Ok(mail)
        };
        reading().map_err(at("read", &self.path))
    }

    /// Reads its header, up to the empty line.
    fn head(&self) -> Vec<u8> {
        let mut head = Vec::new();
        let Ok(file) = store::regular::open(&self.path) else {
            return head;
        };
        let mut file = io::BufReader::new(io::Read::take(file, HEAD_BYTES));
        while io::BufRead::read_until(&mut file, b'\n', &mut head).is_ok_and(|bytes| bytes > 1) {}
        head
    }

    /// The message-id of the post that it has; `None` for a mail of the news system itself.
    pub fn post_id(&self) -> Option<Vec<u8>> {
        let draft = Draft::parse(&self.head()).ok()?;
        draft.value("Newsgroups")?;
        draft.value("Message-ID").map(<[u8]>::to_vec)
    }

    /// Writes a line about the post with this id into the log, for people.
    fn log(&self, id: &[u8], text: &str) {
        if let Some(news) = self.path.parent().and_then(Path::parent) {
            let text = (id, text.as_bytes());
            let _ = log::append(news, Now::read(), log::LOCAL, Code::Moderated, text);
        }
    }

    /// Removes it from the queue without sending it. Returns whether it was there: another process may have sent it.
    ///
    /// # Errors
    /// [`Error::Busy`], or it cannot be removed.
    pub fn drop_unsent(&self) -> Result<bool, Error> {
        let Some(file) = self.lock()? else {
            return Ok(false);
        };
        let to = recipient(&file).unwrap_or_default();
        let id = self.post_id();
        self.remove()?;
        if let Some(id) = id {
            let text = format!("dropped from {DIRECTORY}/, not mailed to the moderator {to}");
            self.log(&id, &text);
        }
        Ok(true)
    }

    /// Opens and locks its file. `None`: it has been sent.
    fn lock(&self) -> Result<Option<File>, Error> {
        let file = match store::regular::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(at("read", &self.path)(error)),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::Busy),
            Err(TryLockError::Error(error)) => return Err(at("lock", &self.path)(error)),
        }
        // The previous holder of the lock may have sent it.
        let links = file.metadata().map_err(at("read", &self.path))?.nlink();
        Ok((links > 0).then_some(file))
    }

    fn remove(&self) -> Result<(), Error> {
        fs::remove_file(&self.path).map_err(at("remove", &self.path))?;
        Ok(store::sync_parent(&RealDisk, &self.path)?)
    }

    /// The name of its file.
    pub fn name(&self) -> String {
        let name = self.path.file_stem().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Reads the address that the mail goes to; `None`: the file cannot be read, or has none.
    pub fn recipient(&self) -> Option<String> {
        recipient(&store::regular::open(&self.path).ok()?).ok()
    }

    /// Returns one of its headers for display: control characters become blanks.
    pub fn header(mail: &[u8], name: &str) -> String {
        let draft = Draft::parse(mail).unwrap_or_default();
        crate::refusal::shown(draft.value(name).unwrap_or_default())
    }
}

/// Lists the queue, the oldest mail first. Other files are skipped.
///
/// # Errors
/// The directory cannot be read. A missing directory is an empty queue.
pub fn list(dir: &Path) -> Result<Vec<QueuedMail>, Error> {
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
            waiting.push(QueuedMail { path, since });
        }
    }
    waiting.sort_by(|a, b| (a.since, &a.path).cmp(&(b.since, &b.path)));
    Ok(waiting)
}

/// Passes the open and locked file of a mail to `deliver`, and removes the mail after a success. A concurrent call for the same mail fails
/// with [`Error::Busy`]; a mail whose file is gone has been sent.
///
/// # Errors
/// Those of `deliver`, or the file cannot be read or removed.
pub fn deliver(
    mail: &QueuedMail,
    deliver: impl FnOnce(File) -> Result<(), Error>,
) -> Result<(), Error> {
    let Some(lock) = mail.lock()? else {
        return Ok(());
    };
    let file = lock.try_clone().map_err(at("read", &mail.path))?;
    let recipient = recipient(&lock);
    deliver(file)?;
    if let (Ok(recipient), Some(id)) = (recipient, mail.post_id()) {
        mail.log(&id, &format!("mailed to the moderator {recipient}"));
    }
    mail.remove()
}

/// Runs the program with the mail as its standard input, without a shell, and removes the file if it exits with 0, as [`deliver`]; it
/// need not read all of its input.
///
/// # Errors
/// The program cannot be run or did not accept the mail, which is still in the queue.
pub fn send(mail: &QueuedMail, command: &CommandLine, limit: Duration) -> Result<(), Error> {
    // The program inherits the lock, in case this process ends first.
    deliver(mail, |file| run(file, command, limit))
}

fn run(mail: File, command: &CommandLine, limit: Duration) -> Result<(), Error> {
    let program = OsStr::from_bytes(command.program());
    let failed = |source| Error::Program {
        program: program.into(),
        source,
    };
    let words = command.arguments().iter();
    let child = Command::new(program)
        .args(words.map(|word| OsStr::from_bytes(word)))
        .stdin(Stdio::from(mail))
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(failed)?;
    let Some(status) = wait(child, limit).map_err(failed)? else {
        return Err(Error::TooLong {
            program: program.into(),
            seconds: limit.as_secs(),
        });
    };
    if status.success() {
        Ok(())
    } else {
        Err(Error::NotTaken {
            program: program.into(),
            status,
        })
    }
}

/// Waits for a program; `None` if it exceeded the limit and was killed, with the programs that it started: each of them has the lock.
fn wait(mut child: Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let began = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if began.elapsed() >= limit {
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}

/// The address in the first line, `To:`. The file is at its begin again.
pub(crate) fn recipient(mut mail: &File) -> io::Result<String> {
    let mut line = Vec::new();
    BufReader::new(mail.take(RECIPIENT_BYTES_MAX as u64 + 8)).read_until(b'\n', &mut line)?;
    mail.rewind()?;
    let address = line.strip_prefix(b"To:").map(<[u8]>::trim_ascii);
    let address = address.filter(|address| mailbox::is_safe_recipient(address));
    let address = address.and_then(|address| std::str::from_utf8(address).ok());
    address.map(str::to_owned).ok_or_else(|| {
        let told = "its first line is not `To: ADDRESS'";
        io::Error::new(io::ErrorKind::InvalidData, told)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mails_are_listed_in_order_and_leftovers_are_skipped() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(list(dir.path()).unwrap(), []);
        enqueue(dir.path(), b"Subject: two\n\n", 20, 7).unwrap();
        enqueue(dir.path(), b"Subject: one\n\n", 9, 7).unwrap();
        fs::write(dir.path().join("mail.queue/9.z.new"), b"partial").unwrap();
        let found = list(dir.path()).unwrap();
        assert_eq!(
            found.iter().map(|mail| mail.since).collect::<Vec<_>>(),
            [9, 20]
        );
        let mail = found[0].read().unwrap();
        assert_eq!(QueuedMail::header(&mail, "subject"), "one");
        let send = |mail: &QueuedMail, command: &[u8]| {
            let limit = Duration::from_millis(300);
            super::send(mail, &CommandLine::parse(command).unwrap(), limit)
        };
        let error = send(&found[0], b"false").unwrap_err();
        assert!(matches!(error, Error::NotTaken { .. }), "{error}");
        // What the program started would keep the mail locked.
        for words in [
            "sleep 100",
            "sh -c 'sleep 100; true'",
            "sh -c 'sleep 100 & wait'",
        ] {
            let error = loop {
                match send(&found[0], words.as_bytes()).unwrap_err() {
                    // A process that was killed has it open for a moment.
                    Error::Busy => std::thread::sleep(Duration::from_millis(5)),
                    error => break error,
                }
            };
            assert!(matches!(error, Error::TooLong { .. }), "{words}: {error}");
        }
        // Another process is sending it.
        let other = File::open(&found[0].path).unwrap();
        other.lock().unwrap();
        let error = send(&found[0], b"cat").unwrap_err();
        assert!(matches!(error, Error::Busy), "{error}");
        drop(other);
        assert_eq!(list(dir.path()).unwrap().len(), 2);
        send(&found[0], b"cat").unwrap();
        assert_eq!(list(dir.path()).unwrap().len(), 1);
        // A mail without a file has been sent.
        send(&found[0], b"false").unwrap();
        // The program reads nothing of it, which is enough.
        fs::write(&found[1].path, vec![b'x'; 1 << 20]).unwrap();
        send(&found[1], b"true").unwrap();
        assert_eq!(list(dir.path()).unwrap(), []);
    }

    #[test]
    fn a_full_queue_takes_no_mail() {
        let dir = tempfile::tempdir().unwrap();
        let first = enqueue(dir.path(), b"Subject: one\n\n", 9, 7).unwrap();
        for number in 1..QUEUED_MAILS_MAX {
            fs::write(first.with_file_name(format!("10.{number}.mail")), b"").unwrap();
        }
        let error = enqueue(dir.path(), b"Subject: more\n\n", 11, 7).unwrap_err();
        assert!(matches!(error, Error::Full), "{error}");
        fs::remove_file(first).unwrap();
        enqueue(dir.path(), b"Subject: more\n\n", 11, 7).unwrap();
    }
}
