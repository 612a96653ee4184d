//! Delivery of batches. Without an error, the batch is delivered and the cursor may advance.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use groups::CommandLine;
use relay::incoming::spool::spool_into;
use relay::incoming::{SpoolOptions, Spooled};
use relay::program_file;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::Error;
use crate::limit::Limit;
use crate::process_group;

/// Time limit of a command, seconds: an hour. After it, the command is killed and the batch still waits.
pub const COMMAND_SECONDS_MAX: u64 = 3600;
/// Interval between checks for a shortened time limit.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Length of the end of standard error in messages, bytes.
pub const COMPLAINT_BYTES_MAX: u64 = 1024;

/// The destination of batches.
#[derive(Debug, Clone)]
pub enum Transport {
    /// A command with the batch on standard input, without a shell, in its own process group. Exit status 0 means delivered.
    Command {
        /// The program and its arguments.
        line: CommandLine,
        /// Its time limit.
        limit: Limit,
        /// Its working directory: the news directory.
        directory: PathBuf,
    },
    /// Another news system's `in.coming`. A batch is a file with its classic name, `TIMEu.t` or, compressed, `TIMEu.Z`; it gets that name
    /// once it is complete and durable.
    Directory(PathBuf),
}

impl Transport {
    /// Delivers a batch.
    ///
    /// # Errors
    /// The batch may not be delivered durably. If it is, the site gets its articles twice and refuses the second ones.
    pub fn send(&self, batch: &[u8]) -> Result<(), Error> {
        match self {
            Transport::Command {
                line,
                limit,
                directory,
            } => run(line, limit, directory, batch),
            Transport::Directory(directory) => drop_in(directory, batch),
        }
    }
}

fn run(line: &CommandLine, limit: &Limit, directory: &Path, batch: &[u8]) -> Result<(), Error> {
    let program = || String::from_utf8_lossy(line.program()).into_owned();
    let not_started = |source| Error::NotStarted {
        program: program(),
        source,
    };
    // Files in memory instead of pipes: no deadlock of both sides.
    let mut input = memory("batch").map_err(not_started)?;
    input.write_all(batch).map_err(not_started)?;
    input.seek(SeekFrom::Start(0)).map_err(not_started)?;
    let mut stderr = memory("complaint").map_err(not_started)?;
    let words = |word: &Vec<u8>| OsStr::from_bytes(word).to_owned();
    let mut child = Command::new(OsStr::from_bytes(line.program()))
        .args(line.arguments().iter().map(words))
        .current_dir(directory)
        .stdin(input)
        .stdout(Stdio::null())
        .stderr(stderr.try_clone().map_err(not_started)?)
        .process_group(0)
        .spawn()
        .map_err(not_started)?;
    let how = match wait(&mut child, limit) {
        Ok(Some(status)) if status.success() => return Ok(()),
        Ok(Some(status)) => ended(status),
        Ok(None) if limit.is_over() => "killed, because the time was over".to_owned(),
        Ok(None) => format!("killed after {} seconds", limit.most().as_secs()),
        Err(error) => {
            // It would go on beside the next attempt with the same batch.
            process_group::kill(&mut child);
            format!("killed, because waiting for it failed: {error}")
        }
    };
    Err(Error::Refused {
        program: program(),
        what: "the batch".to_owned(),
        how: how + lacks_rights(line.program(), directory),
        stderr: last_words(&mut stderr),
    })
}

/// The likely reason why a program failed that needs the rights of another user, such as uux.
fn lacks_rights(program: &[u8], directory: &Path) -> &'static str {
    let place = program_file::find(OsStr::from_bytes(program), directory);
    let gains = place.is_some_and(|place| program_file::gains_rights(&place));
    if gains && program_file::has_no_new_privileges() {
        " (it cannot gain its rights under a systemd unit with NoNewPrivileges: `broadsheet check' says what to do)"
    } else {
        ""
    }
}

fn memory(name: &str) -> std::io::Result<File> {
    Ok(File::from(memfd_create(name, MemfdFlags::CLOEXEC)?))
}

/// The exit status of the command; `None` if it was killed after its time limit.
fn wait(child: &mut Child, limit: &Limit) -> std::io::Result<Option<ExitStatus>> {
    let mut patience = limit.begin();
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or(ErrorKind::InvalidInput)?;
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    loop {
        let mut left = patience.left();
        let is_over = left.is_zero();
        if limit.may_be_over() {
            left = left.min(LOOK_EVERY);
        }
        let left = Timespec::try_from(left).map_err(|_| ErrorKind::InvalidInput)?;
        let mut ready = [PollFd::new(&process, PollFlags::IN)];
        match poll(&mut ready, Some(&left)) {
            Ok(0) if !is_over => {}
            Ok(0) => {
                // The whole process group: `sh -c` has children. No error if it has just ended.
                let _ = kill_process_group(pid, Signal::KILL);
                child.wait()?;
                return Ok(None);
            }
            Ok(_) => return child.wait().map(Some),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// The end of the output, for messages.
fn last_words(file: &mut File) -> String {
    let mut text = Vec::new();
    let length = file.seek(SeekFrom::End(0)).unwrap_or(0);
    let start = length.saturating_sub(COMPLAINT_BYTES_MAX);
    let read = file
        .seek(SeekFrom::Start(start))
        .and_then(|_| file.take(COMPLAINT_BYTES_MAX).read_to_end(&mut text));
    let text = read.map(|_| String::from_utf8_lossy(&text).into_owned());
    let text = text.unwrap_or_default();
    let is_bad = |c: char| c.is_control() && c != '\n';
    text.trim().replace(is_bad, "?")
}

fn drop_in(directory: &Path, mut batch: &[u8]) -> Result<(), Error> {
    // A missing directory is not created: its file system may not be mounted.
    std::fs::read_dir(directory).map_err(Error::io("put a batch into", directory))?;
    let options = SpoolOptions {
        // The free space is checked before each batch.
        keep_free: 0,
        ..SpoolOptions::default()
    };
    match spool_into(directory, Path::new("the batch"), &mut batch, options) {
        Ok(Spooled::Waits { .. } | Spooled::Empty) => Ok(()),
        Err(error) => Err(Error::Directory(Box::new(error))),
    }
}
