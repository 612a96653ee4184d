//! Sites that a program is kept running for: it reads message-ids, or articles, from its standard input.
//!
//! The cursor passes what the program has read: what still lies in the pipe when it ends is given again to the next one, and
//! so is at most what was in flight. A program that ends is started again, after a second at first, and after twice as
//! long each time, at most five minutes; one that ran for longer than that starts afresh. What it writes on standard error goes where ours
//! goes; its standard output is thrown away.

use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use groups::CommandLine;
use groups::sites::Gives;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::ioctl_fionread;
use rustix::process::{Pid, Signal, kill_process_group};
use store::{HistoryLine, Record};

use crate::batch::push_article;
use crate::error::Error;
use crate::limit::{Deadline, Limit};
use crate::sendbatches::Togo;

/// Seconds after which a program that ended is started again, the first time.
pub const BACK_OFF_SECONDS_MIN: u64 = 1;
/// The most it comes to.
pub const BACK_OFF_SECONDS_MAX: u64 = 300;
/// Bytes that are given at a time, or one article.
pub const IN_FLIGHT_BYTES_MAX: usize = 1 << 16;

/// How long the first look waits for the program to have read; each further one waits twice as long.
const LOOK_FIRST: Duration = Duration::from_micros(100);
const LOOK_LAST: Duration = Duration::from_millis(50);

/// The program of a site.
#[derive(Debug)]
pub struct Program {
    line: CommandLine,
    /// Where it runs: the news directory, or where we do.
    directory: PathBuf,
    gives: Gives,
    /// How long it may take to read what it is given.
    limit: Limit,
    running: Option<Running>,
    /// How long after its end it is started again.
    back_off: Duration,
    /// Not before.
    rests_until: Option<Instant>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    input: ChildStdin,
    since: Instant,
}

/// What came of giving.
#[derive(Debug, PartialEq, Eq)]
pub enum Given {
    /// So many articles; nothing waits any more, the feed was paused, or the time is over.
    All(u64),
    /// It ended a short time ago and rests until then; nothing was given.
    Rests(Instant),
    /// It ended, or stopped reading and was killed. What it had not read waits on: begin from the cursor again.
    Ended {
        /// Articles it has read.
        articles: u64,
        /// How it ended.
        how: String,
        /// When it is started again.
        again: Instant,
    },
}

impl Program {
    /// A program that is not running yet. `limit`: how long it may take to read what it is given, before it is killed.
    pub fn new(line: CommandLine, gives: Gives, limit: impl Into<Limit>) -> Program {
        Program {
            line,
            directory: PathBuf::from("."),
            gives,
            limit: limit.into(),
            running: None,
            back_off: Duration::from_secs(BACK_OFF_SECONDS_MIN),
            rests_until: None,
        }
    }

    /// It runs in this directory.
    #[must_use]
    pub fn in_directory(mut self, directory: &Path) -> Program {
        self.directory = directory.to_owned();
        self
    }

    /// Gives it what waits, starting it where it does not run. After [`Given::Ended`] the same `togo` must not be used again: it
    /// does not offer what was taken and not read.
    ///
    /// # Errors
    /// The backlog cannot be read or moved on. That the program cannot be started is no error but [`Given::Ended`].
    pub fn give(&mut self, togo: &mut dyn Togo, now: Instant) -> Result<Given, Error> {
        if let Some(until) = self.rests_until.filter(|until| now < *until) {
            return Ok(Given::Rests(until));
        }
        let mut given = 0;
        let mut bytes = Vec::new();
        while !togo.is_paused() {
            bytes.clear();
            let mut articles = 0;
            togo.offer(&mut |record| {
                if bytes.len() >= IN_FLIGHT_BYTES_MAX {
                    return false;
                }
                push(&mut bytes, self.gives, record);
                articles += 1;
                true
            })?;
            if articles > 0
                && let Err(how) = self.hand_over(&bytes, now)
            {
                return Ok(self.rest(given, how));
            }
            togo.delivered()?;
            given += articles;
            if articles == 0 || self.limit.is_over() {
                return Ok(Given::All(given));
            }
        }
        Ok(Given::All(given))
    }

    /// The number of its process, where it runs.
    pub fn id(&self) -> Option<u32> {
        self.running.as_ref().map(|running| running.child.id())
    }

    /// Lets the next [`Program::give`] start it, however short a time ago it ended.
    pub fn wake(&mut self) {
        self.rests_until = None;
    }

    /// Closes its input and waits for its end, but not longer than `limit`; then kills it. `Some`: it ended badly, and how.
    pub fn end(mut self, limit: Duration) -> Option<String> {
        let Running { child, input, .. } = self.running.take()?;
        drop(input);
        let mut child = child;
        let ended = look_until(limit, || child.try_wait().ok().flatten());
        match ended {
            Some(status) => (!status.success()).then(|| status.to_string()),
            None => {
                kill(&mut child);
                let seconds = limit.as_secs();
                Some(format!(
                    "did not end within {seconds} seconds, and was killed"
                ))
            }
        }
    }

    /// Writes, and waits until it has read all of it. Fails with how it ended.
    fn hand_over(&mut self, bytes: &[u8], now: Instant) -> Result<(), String> {
        let stalled = self.stalled();
        let mut patience = self.limit.begin();
        let running = match &mut self.running {
            Some(running) => running,
            none => none.insert(start(&self.line, &self.directory, now)?),
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            match running.input.write(rest) {
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if patience.is_over() {
                        return Err(why(&patience, &stalled));
                    }
                    wait_ready(&running.input);
                }
                Err(error) => return Err(running.how_it_ended(&error.to_string())),
            }
        }
        let Running { child, input, .. } = running;
        let read = look_until(self.limit.most(), || {
            if let Ok(Some(status)) = child.try_wait() {
                return Some(Err(ended(status)));
            }
            match ioctl_fionread(&*input) {
                Ok(0) => Some(Ok(())),
                Ok(_) if patience.is_over() => Some(Err(why(&patience, &stalled))),
                Ok(_) => None,
                Err(error) => Some(Err(error.to_string())),
            }
        });
        read.unwrap_or(Err(stalled))
    }

    fn stalled(&self) -> String {
        format!(
            "did not read for {} seconds, and was killed",
            self.limit.most().as_secs()
        )
    }

    /// It is over: the next one after a while.
    fn rest(&mut self, articles: u64, how: String) -> Given {
        let longest = Duration::from_secs(BACK_OFF_SECONDS_MAX);
        let now = Instant::now();
        if let Some(mut running) = self.running.take() {
            if now.saturating_duration_since(running.since) >= longest {
                self.back_off = Duration::from_secs(BACK_OFF_SECONDS_MIN);
            }
            kill(&mut running.child);
        }
        let again = now + self.back_off;
        self.rests_until = Some(again);
        self.back_off = (self.back_off * 2).min(longest);
        Given::Ended {
            articles,
            how: format!("{}: {how}", String::from_utf8_lossy(self.line.program())),
            again,
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(running) = &mut self.running {
            kill(&mut running.child);
        }
    }
}

impl Running {
    fn how_it_ended(&mut self, error: &str) -> String {
        // It closed its input; if that is because it ends, say how.
        match look_until(Duration::from_secs(1), || {
            self.child.try_wait().ok().flatten()
        }) {
            Some(status) => ended(status),
            None => format!("closed its standard input: {error}"),
        }
    }
}

fn start(line: &CommandLine, directory: &Path, now: Instant) -> Result<Running, String> {
    let word = |word: &[u8]| std::ffi::OsStr::from_bytes(word).to_owned();
    let mut child = Command::new(word(line.program()))
        .args(line.arguments().iter().map(|argument| word(argument)))
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|error| format!("cannot be started: {error}"))?;
    let Some(input) = child.stdin.take() else {
        kill(&mut child);
        return Err("has no standard input".to_owned());
    };
    if let Err(error) = fcntl_setfl(&input, OFlags::NONBLOCK) {
        kill(&mut child);
        return Err(error.to_string());
    }
    Ok(Running {
        child,
        input,
        since: now,
    })
}

/// The whole group: `sh -c` has children. That it ends just now is no harm.
fn kill(child: &mut Child) {
    if !matches!(child.try_wait(), Ok(Some(_)))
        && let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw)
    {
        let _ = kill_process_group(pid, Signal::KILL);
    }
    let _ = child.wait();
}

fn ended(status: ExitStatus) -> String {
    format!("ended by itself: {status}")
}

/// Waits until it can take more, but not for long.
fn wait_ready(input: &ChildStdin) {
    if let Ok(limit) = Timespec::try_from(LOOK_LAST) {
        let mut ready = [PollFd::new(input, PollFlags::OUT)];
        let _ = poll(&mut ready, Some(&limit));
    }
}

fn why(patience: &Deadline<'_>, stalled: &str) -> String {
    match patience.is_short() {
        true => "was killed: it had not read all when its time was over".to_owned(),
        false => stalled.to_owned(),
    }
}

/// Looks again and again, with longer and longer pauses. A pipe does not tell when it was read.
fn look_until<T>(limit: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + limit;
    let mut pause = LOOK_FIRST;
    loop {
        if let Some(seen) = look() {
            return Some(seen);
        }
        if Instant::now() >= until {
            return None;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(LOOK_LAST);
    }
}

fn push(out: &mut Vec<u8>, gives: Gives, record: &Record<'_>) {
    match gives {
        Gives::Article => push_article(out, record),
        Gives::Id => {
            if let Some(line) = HistoryLine::parse(record.line()) {
                out.extend_from_slice(line.id);
                out.push(b'\n');
            }
        }
    }
}
