//! The client's side of control.sock: commands that send requests to the daemon.
//!
//! If the daemon does not take a request, the command does the work itself, as without a daemon: it waits for the lock, and files.

use std::io::{self, BufRead, BufReader, IoSlice, Read, Seek, SeekFrom, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use relay::rnews::{Handed, Input, Status, Summary, Watch};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::PidfdFlags;
use store::control_socket;

use super::feed_lease::ClusterFeeds;
use super::request::{Answer, Filed, OK};
pub use super::request::{FileRequest, NntpConnection, RunningDaemon};

/// The lock against a second daemon.
pub const LOCK: &str = "lock.serve";

/// The result of passing the inputs of rnews to the daemon.
pub struct HandedOver {
    /// The counts.
    pub summary: Summary,
    /// The status.
    pub status: Status,
    /// Inputs that the daemon has not processed.
    pub left: Vec<Input>,
    /// Open inputs that the daemon has neither filed nor saved, and will not.
    pub unkept: Vec<Handed>,
}

/// Passes the inputs to the daemon, one after the other. Removes those without errors if `unlink` is set.
pub fn file(
    dir: &Path,
    inputs: Vec<Input>,
    request: &FileRequest,
    unlink: bool,
    watch: &mut dyn Watch,
) -> HandedOver {
    let started = std::time::Instant::now();
    let mut run = Run {
        dir,
        request,
        watch,
        over: HandedOver {
            summary: Summary::default(),
            status: Status::Fine,
            left: Vec::new(),
            unkept: Vec::new(),
        },
    };
    let mut inputs = inputs.into_iter();
    for input in inputs.by_ref() {
        match run.input(&input) {
            Ended::Filed(filed) => {
                run.add(&filed);
                if unlink && filed.is_untroubled {
                    run.unlink(&input);
                }
                if filed.is_stopped {
                    // Other inputs would fail too.
                    let others = inputs.by_ref().filter_map(|other| match other {
                        Input::Handed(handed) => Some(handed),
                        // A file that became the standard input.
                        Input::Stdin => Handed::open(&other).ok(),
                        Input::File(_) | Input::Spooled(_) => None,
                    });
                    run.over.unkept.extend(others);
                    break;
                }
            }
            Ended::Told(text) => {
                run.over.status = Status::Attention;
                run.watch.message(&text);
            }
            Ended::Left(input) => {
                run.over.left.push(input);
                break;
            }
        }
    }
    let mut over = run.over;
    over.left.extend(inputs);
    over.summary.seconds = started.elapsed().as_secs_f64();
    over
}

/// The result for one input.
enum Ended {
    /// The daemon has replied.
    Filed(Filed),
    /// The input cannot be read; the reason.
    Told(String),
    /// There is no daemon, or it has ended: the command files the input itself.
    Left(Input),
}

struct Run<'a> {
    dir: &'a Path,
    request: &'a FileRequest,
    watch: &'a mut dyn Watch,
    over: HandedOver,
}

impl Run<'_> {
    fn input(&mut self, input: &Input) -> Ended {
        let left = |_| Ended::Left(input.clone());
        let stream = match control_socket::connect(self.dir).map_err(left) {
            Ok(stream) => stream,
            Err(left) => return left,
        };
        let handed = match Handed::open(input) {
            Err(text) => return Ended::Told(text),
            Ok(handed) => handed,
        };
        let start = (&*handed.file).stream_position().unwrap_or_default();
        let size = size(&handed);
        match self.ask(stream, &handed) {
            Ok(filed) => {
                if filed.is_left {
                    self.over.unkept.push(handed);
                }
                Ended::Filed(filed)
            }
            Err(_) if self::size(&handed) < size => Ended::Told(format!(
                "{}: another program truncated it during filing, and the daemon ended: part of it may be filed; run rnews on the complete batch again",
                handed.name
            )),
            Err(_) => {
                // The result is unknown. Articles that were filed are refused as duplicates when the input is filed again.
                let _ = (&*handed.file).seek(SeekFrom::Start(start));
                Ended::Left(match input {
                    Input::File(_) => input.clone(),
                    _ => Input::Handed(handed),
                })
            }
        }
    }

    /// Sends the descriptor of the batch, and reads the reply to its end.
    fn ask(&mut self, stream: UnixStream, handed: &Handed) -> io::Result<Filed> {
        let request = FileRequest {
            name: handed.name.clone(),
            tail: handed.tail.clone(),
            ..self.request.clone()
        };
        let mut line = serde_json::to_vec(&request)?;
        line.push(b'\n');
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let descriptors = [handed.file.as_fd()];
        ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
        let pieces = [IoSlice::new(&line)];
        let sent =
            retry_on_intr(|| sendmsg(&stream, &pieces, &mut ancillary, SendFlags::NOSIGNAL))?;
        (&stream).write_all(line.get(sent..).unwrap_or_default())?;
        for answer in answers(stream) {
            match answer? {
                Answer::Message(text) => self.watch.message(&text),
                Answer::Progress(bytes, articles) => self.watch.progress(bytes, articles),
                Answer::Filed(filed) => return Ok(filed),
                Answer::Done(_)
                | Answer::Status(_)
                | Answer::Permit(_)
                | Answer::Connection(_)
                | Answer::Closed(_) => break,
            }
        }
        Err(io::ErrorKind::UnexpectedEof.into())
    }

    fn add(&mut self, filed: &Filed) {
        self.over.summary.add(&filed.summary());
        self.over.status = self.over.status.max(match filed.status {
            0 => Status::Fine,
            1 => Status::Bad,
            _ => Status::Attention,
        });
    }

    fn unlink(&mut self, input: &Input) {
        if let Input::File(path) = input
            && let Err(error) = std::fs::remove_file(path)
        {
            self.over.status = Status::Attention;
            let name = path.display();
            self.watch.message(&format!(
                "cannot remove {name}, whose articles are filed: {error}"
            ));
        }
    }
}

/// The size of a file, bytes.
fn size(handed: &Handed) -> u64 {
    handed.file.metadata().map_or(0, |data| data.len())
}

/// What the daemon of a node of a cluster says about its feeds, again and again.
#[derive(Debug)]
pub struct PermitWatch(BufReader<UnixStream>);

/// Asks the daemon of a node of a cluster whether it feeds.
///
/// # Errors
/// There is no daemon.
pub fn watch_permit(dir: &Path) -> io::Result<PermitWatch> {
    Ok(PermitWatch(BufReader::new(ask_word(dir, "permit")?)))
}

impl PermitWatch {
    /// The next word of the daemon, which comes within a time.
    ///
    /// # Errors
    /// The daemon says nothing in time, or has ended.
    pub fn next(&mut self, within: Duration) -> io::Result<ClusterFeeds> {
        // Zero would be no limit.
        let within = within.max(Duration::from_millis(1));
        self.0.get_ref().set_read_timeout(Some(within))?;
        let mut line = String::new();
        self.0.read_line(&mut line)?;
        match serde_json::from_str(&line) {
            Ok(Answer::Permit(feeds)) => Ok(feeds),
            _ => Err(io::Error::other(
                "the daemon does not tell whether this node feeds",
            )),
        }
    }
}

/// Requests the status of the daemon; `None` without a daemon.
pub fn status(dir: &Path) -> Option<RunningDaemon> {
    owners_status(dir).ok().flatten()
}

/// As [`status`], for a command that must not take a refusal for a missing daemon.
///
/// # Errors
/// This user may not ask the daemon.
pub fn owners_status(dir: &Path) -> io::Result<Option<RunningDaemon>> {
    Ok(ask_owner(dir, "status")?.and_then(daemon))
}

/// Requests the status of the daemon; `None` without a daemon, or if it does not reply in time.
pub fn status_within(dir: &Path, patience: Duration) -> Option<RunningDaemon> {
    let stream = ask_word(dir, "status").ok()?;
    stream.set_read_timeout(Some(patience)).ok()?;
    daemon(stream)
}

fn daemon(stream: UnixStream) -> Option<RunningDaemon> {
    match answers(stream).next()? {
        Ok(Answer::Status(daemon)) => Some(*daemon),
        _ => None,
    }
}

/// Requests `reload`; returns the daemon's message and exit status, or `None` without a daemon.
///
/// # Errors
/// The connection to the daemon was lost, or this user may not ask it.
pub fn reload(dir: &Path) -> io::Result<Option<(Vec<String>, u8)>> {
    let Some(stream) = ask_owner(dir, "reload")? else {
        return Ok(None);
    };
    let mut told = Vec::new();
    for answer in answers(stream) {
        match answer? {
            Answer::Message(text) => told.push(text),
            Answer::Done(status) => return Ok(Some((told, status))),
            _ => {}
        }
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

/// Requests that the daemon checks a feed again, if there is one.
pub fn look_at_feed(dir: &Path, name: &[u8]) {
    // Names of feeds are words, and have no end of a line.
    if let Ok(stream) = ask_line(dir, &[b"feeds ", name].concat()) {
        let _ = answers(stream).next();
    }
}

/// Requests that the daemon records its figures up to now, if there is one.
pub fn record_figures(dir: &Path) {
    if let Ok(stream) = ask_word(dir, "figures") {
        let _ = answers(stream).next();
    }
}

/// Requests that the daemon passes waiting mail to the mail program; returns false without a daemon.
pub fn send_mail(dir: &Path) -> bool {
    let sent = ask_word(dir, "mail").map(answers);
    sent.is_ok_and(|mut answers| matches!(answers.next(), Some(Ok(Answer::Done(_)))))
}

/// Pauses or resumes the acceptance of articles over NNTP; returns false without a daemon.
///
/// # Errors
/// The connection to the daemon was lost, or this user may not ask it.
pub fn pause(dir: &Path, why: Option<&str>) -> io::Result<bool> {
    let one_line = |why: &str| why.replace(|c: char| c.is_control(), " ");
    let word = match why {
        Some(why) => format!("pause {}", one_line(why)),
        None => "resume".to_owned(),
    };
    let Some(stream) = ask_owner(dir, &word)? else {
        return Ok(false);
    };
    match answers(stream).next() {
        Some(Ok(Answer::Done(_))) => Ok(true),
        _ => Err(refused(dir)),
    }
}

/// Requests the NNTP connections of the daemon, and whether all network threads answered; `None` without a daemon.
///
/// # Errors
/// The connection to the daemon was lost.
pub fn connections(dir: &Path) -> io::Result<Option<(Vec<NntpConnection>, bool)>> {
    let Some(stream) = ask_owner(dir, "connections")? else {
        return Ok(None);
    };
    let mut all = Vec::new();
    for answer in answers(stream) {
        match answer? {
            Answer::Connection(connection) => all.push(*connection),
            Answer::Done(status) => return Ok(Some((all, status == OK))),
            _ => {}
        }
    }
    Err(refused(dir))
}

/// Closes NNTP connections of the daemon. Returns the numbers of those found, and whether all network threads answered; `None` without a
/// daemon.
///
/// # Errors
/// The connection to the daemon was lost.
pub fn close_connections(dir: &Path, numbers: &[u64]) -> io::Result<Option<(Vec<u64>, bool)>> {
    let mut word = "close".to_owned();
    for number in numbers {
        word.push_str(&format!(" {number}"));
    }
    let Some(stream) = ask_owner(dir, &word)? else {
        return Ok(None);
    };
    let mut closed = Vec::new();
    for answer in answers(stream) {
        match answer? {
            Answer::Closed(numbers) => closed = numbers,
            Answer::Done(status) => return Ok(Some((closed, status == OK))),
            _ => {}
        }
    }
    Err(refused(dir))
}

/// The error when the daemon ends a connection without an answer.
fn refused(dir: &Path) -> io::Error {
    io::Error::other(format!(
        "the daemon of {} did not answer: it has ended, or only the owner of the news directory may ask",
        dir.display()
    ))
}

/// Whether a daemon serves the news directory, even if it does not reply.
pub fn is_served(dir: &Path) -> bool {
    // Does not create the lock file: it would belong to the user of this command.
    let taken = || store::Lock::take_named(dir, LOCK, false);
    dir.join(LOCK).exists() && matches!(taken(), Err(store::Error::Locked(_)))
}

/// How long a process may take to end behind its daemon: the kernel frees its memory.
const PROCESS_PATIENCE: Duration = Duration::from_secs(30);

/// Requests that the daemon ends, and waits until it has; returns false without a daemon.
///
/// # Errors
/// An I/O error, or this user may not ask the daemon.
pub fn stop(dir: &Path) -> io::Result<bool> {
    let Some(mut stream) = ask_owner(dir, "stop")? else {
        return Ok(false);
    };
    let process = process_of(&stream);
    match stream.read_to_end(&mut Vec::new()) {
        Err(error) if error.kind() != io::ErrorKind::ConnectionReset => return Err(error),
        _ => {}
    }
    // The connection ends with the daemon, or it has too many clients.
    match is_served(dir) {
        false => {
            // What else the process holds, such as the address of its metrics, is free when it has ended.
            if let Some(process) = process {
                let mut ended = [PollFd::new(&process, PollFlags::IN)];
                let most = Timespec::try_from(PROCESS_PATIENCE).ok();
                let _ = retry_on_intr(|| poll(&mut ended, most.as_ref()));
            }
            Ok(true)
        }
        true => Err(io::Error::other(
            "the daemon has too many clients; try again",
        )),
    }
}

/// The process at the other end; `None` where this one cannot see it, such as in a container.
fn process_of(stream: &UnixStream) -> Option<OwnedFd> {
    let daemon = rustix::net::sockopt::socket_peercred(stream).ok()?;
    rustix::process::pidfd_open(daemon.pid, PidfdFlags::empty()).ok()
}

/// As [`ask_word`], for a request that is of no use if it is refused. `None` without a daemon.
fn ask_owner(dir: &Path, word: &str) -> io::Result<Option<UnixStream>> {
    match ask_word(dir, word) {
        Ok(stream) => Ok(Some(stream)),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(io::Error::other(format!(
                "permission denied: only the owner of {} may ask its daemon",
                dir.display()
            )))
        }
        Err(_) => Ok(None),
    }
}

fn ask_word(dir: &Path, word: &str) -> io::Result<UnixStream> {
    ask_line(dir, word.as_bytes())
}

fn ask_line(dir: &Path, line: &[u8]) -> io::Result<UnixStream> {
    let mut stream = control_socket::connect(dir)?;
    stream.write_all(&[line, b"\n"].concat())?;
    Ok(stream)
}

fn answers(stream: UnixStream) -> impl Iterator<Item = io::Result<Answer>> {
    BufReader::new(stream)
        .lines()
        .map(|line| Ok(serde_json::from_str(&line?)?))
}
