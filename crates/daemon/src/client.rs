//! The other end of control.sock: commands that ask the daemon.
//!
//! Whatever the daemon does not answer for, the command does itself, as without a daemon: it waits for the lock, and files.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, IoSlice, Read, Seek, SeekFrom, Write};
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use relay::bad_batches::{self, BAD, INCOMING};
use relay::log::Now;
use relay::rnews::{Handed, Input, Opened, Status, Summary, Watch};
use rustix::fs::OFlags;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use store::control_socket;

use super::request::{Answer, Filed};
pub use super::request::{FileRequest, RunningDaemon};

/// The lock that keeps two daemons apart.
pub const LOCK: &str = "lock.serve";

/// What the daemon filed of the inputs of rnews.
pub struct HandedOver {
    /// What was done.
    pub summary: Summary,
    /// How it went.
    pub status: Status,
    /// Inputs that the daemon does not answer for.
    pub left: Vec<Input>,
}

/// Hands the inputs to the daemon, one after the other. Those that gave no trouble are removed if `unlink`.
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
                    // Others fare no better.
                    inputs = Vec::new().into_iter();
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

/// How one input ended.
enum Ended {
    /// The daemon answered.
    Filed(Filed),
    /// It cannot be read, in words.
    Told(String),
    /// There is no daemon, or it went away: to be filed without.
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
        let mut stream = match control_socket::connect(self.dir).map_err(left) {
            Ok(stream) => stream,
            Err(left) => return left,
        };
        let (handed, is_pipe) = match Handed::open(input) {
            Err(text) => return Ended::Told(text),
            Ok(Opened::Whole(handed)) => (handed, false),
            Ok(Opened::Flowing(handed)) => {
                drop(stream);
                let Ok(gathered) = gathering_place(self.dir) else {
                    return Ended::Left(input.clone());
                };
                let handed = match gather(&handed, gathered) {
                    Ok(handed) => handed,
                    Err(error) => {
                        let name = &handed.name;
                        return Ended::Told(format!(
                            "{name}: cannot copy it to {INCOMING} while it is read: {error}; nothing of it was filed, send it again"
                        ));
                    }
                };
                stream = match control_socket::connect(self.dir) {
                    Ok(stream) => stream,
                    Err(_) => return Ended::Left(Input::Handed(handed)),
                };
                (handed, true)
            }
        };
        let start = (&*handed.file).stream_position().unwrap_or_default();
        let size = size(&handed);
        match self.ask(stream, &handed) {
            Ok(filed) => {
                if filed.is_stopped && is_pipe {
                    self.keep(&handed);
                }
                Ended::Filed(filed)
            }
            Err(_) if self::size(&handed) < size => Ended::Told(format!(
                "{}: somebody cut it while it was filed, and the daemon ended: part of it may be filed; give all of it again",
                handed.name
            )),
            Err(_) => {
                // Nobody answers for it. What was filed of it is refused as duplicate when it is filed again.
                let _ = (&*handed.file).seek(SeekFrom::Start(start));
                Ended::Left(match input {
                    Input::File(_) => input.clone(),
                    _ => Input::Handed(handed),
                })
            }
        }
    }

    /// The store stopped, and a pipe cannot be read again: what came of it is kept.
    fn keep(&mut self, handed: &Handed) {
        let stem = format!("{}.{}", Now::read().seconds, handed.tail);
        let bad = self.dir.join(BAD);
        let saved = (&*handed.file)
            .seek(SeekFrom::Start(0))
            .and_then(|_| bad_batches::save_reader(&bad, &stem, &mut &*handed.file))
            .and_then(|path| bad_batches::sync_parent(&path).map(|()| path));
        let name = &handed.name;
        self.watch.message(&match saved {
            Ok(path) => format!("{name}: saved in {}; run rnews on it again", path.display()),
            Err(error) => format!("cannot save {name} in bad/: {error}; send it again"),
        });
    }

    /// Sends the batch's descriptor, and reads the answer to its end.
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
        let sent = sendmsg(&stream, &pieces, &mut ancillary, SendFlags::NOSIGNAL)?;
        (&stream).write_all(line.get(sent..).unwrap_or_default())?;
        for answer in answers(stream) {
            match answer? {
                Answer::Message(text) => self.watch.message(&text),
                Answer::Progress(bytes, articles) => self.watch.progress(bytes, articles),
                Answer::Filed(filed) => return Ok(filed),
                Answer::Done(_) | Answer::Status(_) => break,
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
            self.watch
                .message(&format!("cannot remove {name}, which is filed: {error}"));
        }
    }
}

/// Bytes of a file.
fn size(handed: &Handed) -> u64 {
    handed.file.metadata().map_or(0, |data| data.len())
}

/// A file without a name in in.coming/: gone with the last who has it open.
fn gathering_place(dir: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(OFlags::TMPFILE.bits() as i32)
        .open(dir.join(INCOMING))
}

/// Reads a pipe to its end. Only whole batches are handed over: a pipe may be slow, and others want to file.
fn gather(pipe: &Handed, mut place: File) -> io::Result<Handed> {
    io::copy(&mut &*pipe.file, &mut place)?;
    place.seek(SeekFrom::Start(0))?;
    Ok(Handed {
        file: Arc::new(place),
        ..pipe.clone()
    })
}

/// How the daemon does; `None`: there is none.
pub fn status(dir: &Path) -> Option<RunningDaemon> {
    daemon(ask_word(dir, "status").ok()?)
}

/// As [`status`]; `None` also where the daemon does not answer in time.
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

/// Asks for `reload`; `None`: there is no daemon. Else what it says, and its exit status.
///
/// # Errors
/// The daemon went away.
pub fn reload(dir: &Path) -> io::Result<Option<(Vec<String>, u8)>> {
    let Ok(stream) = ask_word(dir, "reload") else {
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

/// Lets the daemon look at the feeds again, where there is one.
pub fn look_at_feeds(dir: &Path) {
    if let Ok(stream) = ask_word(dir, "feeds") {
        let _ = answers(stream).next();
    }
}

/// No articles are taken over NNTP from now on, or are again; false: there is no daemon.
///
/// # Errors
/// The daemon went away.
pub fn pause(dir: &Path, why: Option<&str>) -> io::Result<bool> {
    let one_line = |why: &str| why.replace(|c: char| c.is_control(), " ");
    let word = match why {
        Some(why) => format!("pause {}", one_line(why)),
        None => "resume".to_owned(),
    };
    let Ok(stream) = ask_word(dir, &word) else {
        return Ok(false);
    };
    match answers(stream).next() {
        Some(Ok(Answer::Done(_))) => Ok(true),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Whether a daemon serves the news directory, though it may not answer.
pub fn is_served(dir: &Path) -> bool {
    // Not made by asking: it would belong to who asks.
    let taken = || store::Lock::take_named(dir, LOCK, false);
    dir.join(LOCK).exists() && matches!(taken(), Err(store::Error::Locked(_)))
}

/// Asks the daemon to end, and waits until it has; false: there was none.
///
/// # Errors
/// Those of the system.
pub fn stop(dir: &Path) -> io::Result<bool> {
    let Ok(mut stream) = ask_word(dir, "stop") else {
        return Ok(false);
    };
    match stream.read_to_end(&mut Vec::new()) {
        Err(error) if error.kind() != io::ErrorKind::ConnectionReset => return Err(error),
        _ => {}
    }
    // The connection ends with the process; or it has too many to hear us.
    match is_served(dir) {
        false => Ok(true),
        true => Err(io::Error::other(
            "the daemon hears too many clients, and not us; try again",
        )),
    }
}

fn ask_word(dir: &Path, word: &str) -> io::Result<UnixStream> {
    let mut stream = control_socket::connect(dir)?;
    stream.write_all(format!("{word}\n").as_bytes())?;
    Ok(stream)
}

fn answers(stream: UnixStream) -> impl Iterator<Item = io::Result<Answer>> {
    BufReader::new(stream)
        .lines()
        .map(|line| Ok(serde_json::from_str(&line?)?))
}
