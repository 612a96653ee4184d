//! Feeds whose program keeps running: it reads message-ids or articles from its standard input.
//!
//! The cursor passes an article only after the program has read it. When the program ends, the next one gets the articles that are
//! still in the pipe again, at most those in flight. A program that ends is restarted after a second, then after twice as long each
//! time, five minutes at most; a program that ran for longer than five minutes resets the interval. Its standard error is that of
//! Broadsheet; its standard output is discarded.

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
use store::{HistoryLine, Record};

use crate::back_off::{BACK_OFF_SECONDS_MAX, BackOff};
use crate::batch::push_article;
use crate::error::Error;
use crate::limit::{Deadline, Limit};
use crate::process_group::kill;
use crate::sendbatches::ArticleSource;

/// Bytes in flight, or one article.
pub const IN_FLIGHT_BYTES_MAX: usize = 1 << 16;

/// First interval between two checks whether the program has read; each further one is twice as long.
const POLL_FIRST: Duration = Duration::from_micros(100);
/// Longest interval between two checks.
const POLL_LAST: Duration = Duration::from_millis(50);

/// The program of a site.
#[derive(Debug)]
pub struct Program {
    line: CommandLine,
    /// Its working directory: the news directory, or the current directory.
    directory: PathBuf,
    gives: Gives,
    /// Time limit for reading the articles in flight.
    limit: Limit,
    running: Option<Running>,
    back_off: BackOff,
}

#[derive(Debug)]
struct Running {
    child: Child,
    input: ChildStdin,
    since: Instant,
}

/// The result of a delivery.
#[derive(Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The number of delivered articles; no article waits, the feed is paused, or the time is over.
    All(u64),
    /// The program ended recently and restarts at this time; no article was delivered.
    Resting(Instant),
    /// The program ended, or stopped reading and was killed. Unread articles still wait: start again from the cursor.
    Ended {
        /// Number of articles that it has read.
        articles: u64,
        /// How it ended.
        how: String,
        /// Time of the restart.
        restart: Instant,
    },
}

impl Program {
    /// A program that does not run yet. `limit`: time for reading the articles in flight before the program is killed.
    pub fn new(line: CommandLine, gives: Gives, limit: impl Into<Limit>) -> Program {
        Program {
            line,
            directory: PathBuf::from("."),
            gives,
            limit: limit.into(),
            running: None,
            back_off: BackOff::default(),
        }
    }

    /// Sets the working directory.
    #[must_use]
    pub fn in_directory(mut self, directory: &Path) -> Program {
        self.directory = directory.to_owned();
        self
    }

    /// Delivers the waiting articles, and starts the program if it does not run. After [`Delivery::Ended`] the same `source` must not
    /// be used again: it does not offer articles that were taken but not read.
    ///
    /// # Errors
    /// The backlog cannot be read, or the cursor not written. A program that cannot be started gives [`Delivery::Ended`] instead.
    pub fn deliver(
        &mut self,
        source: &mut dyn ArticleSource,
        now: Instant,
    ) -> Result<Delivery, Error> {
        if let Some(until) = self.back_off.until(now) {
            return Ok(Delivery::Resting(until));
        }
        let mut delivered = 0;
        let mut bytes = Vec::new();
        while !source.is_paused() {
            bytes.clear();
            let mut articles = 0;
            source.offer(&mut |record| {
                if bytes.len() >= IN_FLIGHT_BYTES_MAX {
                    return false;
                }
                push(&mut bytes, self.gives, record);
                articles += 1;
                true
            })?;
            if articles > 0
                && let Err(how) = self.write_all(&bytes, now)
            {
                return Ok(self.schedule_restart(delivered, how));
            }
            source.delivered()?;
            delivered += articles;
            if articles == 0 || self.limit.is_over() {
                return Ok(Delivery::All(delivered));
            }
        }
        Ok(Delivery::All(delivered))
    }

    /// Its process id, if it runs.
    pub fn id(&self) -> Option<u32> {
        self.running.as_ref().map(|running| running.child.id())
    }

    /// Allows the next [`Program::deliver`] to start it immediately.
    pub fn reset_interval(&mut self) {
        self.back_off.skip();
    }

    /// Closes its input, waits for its end up to `limit`, and then kills it. Returns the error if it failed.
    pub fn end(mut self, limit: Duration) -> Option<String> {
        let Running { child, input, .. } = self.running.take()?;
        drop(input);
        let mut child = child;
        let ended = poll_until(limit, || child.try_wait().ok().flatten());
        match ended {
            Some(status) => (!status.success()).then(|| status.to_string()),
            None => {
                kill(&mut child);
                let seconds = limit.as_secs();
                Some(format!(
                    "did not end within {seconds} seconds and was killed"
                ))
            }
        }
    }

    /// Writes the bytes, and waits until the program has read all of them. The error tells how the program ended.
    fn write_all(&mut self, bytes: &[u8], now: Instant) -> Result<(), String> {
        let stalled = self.stalled();
        let mut deadline = self.limit.begin();
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
                    if deadline.is_over() {
                        return Err(why(&deadline, &stalled));
                    }
                    wait_ready(&running.input);
                }
                Err(error) => return Err(running.how_it_ended(&error.to_string())),
            }
        }
        let Running { child, input, .. } = running;
        let read = poll_until(self.limit.most(), || {
            if let Ok(Some(status)) = child.try_wait() {
                return Some(Err(ended(status)));
            }
            match ioctl_fionread(&*input) {
                Ok(0) => Some(Ok(())),
                Ok(_) if deadline.is_over() => Some(Err(why(&deadline, &stalled))),
                Ok(_) => None,
                Err(error) => Some(Err(error.to_string())),
            }
        });
        read.unwrap_or(Err(stalled))
    }

    fn stalled(&self) -> String {
        format!(
            "did not read for {} seconds and was killed",
            self.limit.most().as_secs()
        )
    }

    /// Ends the program, and sets the time of its restart.
    fn schedule_restart(&mut self, articles: u64, how: String) -> Delivery {
        let longest = Duration::from_secs(BACK_OFF_SECONDS_MAX);
        let now = Instant::now();
        if let Some(mut running) = self.running.take() {
            if now.saturating_duration_since(running.since) >= longest {
                self.back_off.succeeded();
            }
            kill(&mut running.child);
        }
        let restart = self.back_off.failed(now);
        Delivery::Ended {
            articles,
            how: format!("{}: {how}", String::from_utf8_lossy(self.line.program())),
            restart,
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
        // The program closed its input; it may be about to end, so its exit status is awaited for a moment.
        match poll_until(Duration::from_secs(1), || {
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

fn ended(status: ExitStatus) -> String {
    format!("ended by itself: {status}")
}

/// Waits until the pipe accepts more, [`POLL_LAST`] at most.
fn wait_ready(input: &ChildStdin) {
    if let Ok(limit) = Timespec::try_from(POLL_LAST) {
        let mut ready = [PollFd::new(input, PollFlags::OUT)];
        let _ = poll(&mut ready, Some(&limit));
    }
}

fn why(deadline: &Deadline<'_>, stalled: &str) -> String {
    if deadline.is_short() {
        "was killed: its time was over before it had read everything".to_owned()
    } else {
        stalled.to_owned()
    }
}

/// Calls `check` repeatedly, with increasing intervals. A pipe does not signal that it was read.
fn poll_until<T>(limit: Duration, mut check: impl FnMut() -> Option<T>) -> Option<T> {
    let until = Instant::now() + limit;
    let mut pause = POLL_FIRST;
    loop {
        if let Some(result) = check() {
            return Some(result);
        }
        if Instant::now() >= until {
            return None;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(POLL_LAST);
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
