//! Handing a batch over. What gives no error has it: the cursor may move on.

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
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use crate::Error;
use crate::limit::Limit;

/// A command that has not ended after so many seconds is killed, and the batch stays: an hour.
pub const COMMAND_SECONDS_MAX: u64 = 3600;
/// How often it is looked whether a command that runs should end before its time.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// So much of what a failed command wrote on its standard error, the end of it, is shown.
pub const COMPLAINT_BYTES_MAX: u64 = 1024;

/// Where batches go.
#[derive(Debug, Clone)]
pub enum Transport {
    /// A command that has the batch on standard input, run without a shell, in a process group of its own. It has taken it when it ends with 0.
    Command {
        /// The program and its arguments.
        line: CommandLine,
        /// How long it may take.
        limit: Limit,
        /// Where it runs: the news directory.
        directory: PathBuf,
    },
    /// Another news system's `in.coming`. Each batch is a file under its classic name, `TIMEu.t` or, compressed, `TIMEu.Z`;
    /// it appears under that name when it is whole and on the disk.
    Directory(PathBuf),
}

impl Transport {
    /// Hands a batch over.
    ///
    /// # Errors
    /// It was not taken, or surely not durably. A command may have taken it all the same, and a directory may hold the file: then the
    /// other side gets its articles twice, and refuses them the second time.
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
    // Files that only memory has: no pipe that one side waits for while the other does.
    let mut input = memory("batch").map_err(not_started)?;
    input.write_all(batch).map_err(not_started)?;
    input.seek(SeekFrom::Start(0)).map_err(not_started)?;
    let mut complaint = memory("complaint").map_err(not_started)?;
    let words = |word: &Vec<u8>| std::ffi::OsStr::from_bytes(word).to_owned();
    let mut child = Command::new(std::ffi::OsStr::from_bytes(line.program()))
        .args(line.arguments().iter().map(words))
        .current_dir(directory)
        .stdin(input)
        .stdout(Stdio::null())
        .stderr(complaint.try_clone().map_err(not_started)?)
        .process_group(0)
        .spawn()
        .map_err(not_started)?;
    let how = match wait(&mut child, limit) {
        Ok(Some(status)) if status.success() => return Ok(()),
        Ok(Some(status)) => ended(status),
        Ok(None) if limit.is_over() => "not done when its time was over, and killed".to_owned(),
        Ok(None) => format!(
            "not done after {} seconds, and killed",
            limit.most().as_secs()
        ),
        Err(error) => format!("waiting for it failed: {error}"),
    };
    Err(Error::Refused {
        program: program(),
        how,
        complaint: last_words(&mut complaint),
    })
}

fn memory(name: &str) -> std::io::Result<File> {
    Ok(File::from(memfd_create(name, MemfdFlags::CLOEXEC)?))
}

/// How the command ended; none when it was killed because its time was over.
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
                // The whole group: `sh -c` has children. That it ends just now is no harm.
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

/// The end of what was written, for people.
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
    // Not made when it is missing: what is to be mounted there may not be.
    std::fs::read_dir(directory).map_err(Error::io("put a batch into", directory))?;
    let options = SpoolOptions {
        // What must stay free is looked at before each batch.
        keep_free: 0,
        ..SpoolOptions::default()
    };
    match spool_into(directory, Path::new("the batch"), &mut batch, options) {
        Ok(Spooled::Waits { .. } | Spooled::Empty) => Ok(()),
        Err(error) => Err(Error::Directory(Box::new(error))),
    }
}
