//! Techniques that save system calls.

use std::fs::{self, File, OpenOptions};
use std::io::{BufReader, BufWriter, IoSlice, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{FlockOperation, flock};

use super::{Row, each_way};

/// Size of the file that is read, bytes.
const READ_BYTES: usize = 100_000;
/// Number of log lines.
const LINES: usize = 10_000;
/// A log line.
const LINE: &[u8] =
    b"Nov 22 12:00:00.123 + harbour <17a4@bench.example> comp.lang.c/17 rec.humor/4 meadow\n";
/// Number of locks that are taken and given back.
const LOCKS: usize = 1_000;
/// Number of pieces of a long reply.
const PIECES: usize = 64;
/// Number of long replies.
const REPLIES: usize = 1_000;
/// Number of articles for a program.
const ARTICLES: usize = 100;
/// Number of messages to a thread that is still busy.
const MESSAGES: usize = 10_000;

pub(super) fn rows(dir: &Path) -> Result<Vec<Row>> {
    Ok(vec![
        buffers(dir)?,
        log_lines(dir)?,
        locks(dir)?,
        pieces()?,
        programs()?,
        wake_ups()?,
    ])
}

fn row(
    what: &'static str,
    unit: &'static str,
    (without, with): (&'static str, &'static str),
    costs: (f64, f64),
    paper: &'static str,
) -> Row {
    Row {
        what,
        unit,
        without: (without, costs.0),
        with: (with, costs.1),
        paper,
    }
}

/// A file read a character a call, and in buffers of the size that the file system reports.
fn buffers(dir: &Path) -> Result<Row> {
    let path = dir.join("characters");
    fs::write(&path, vec![b'x'; READ_BYTES])?;
    let size = fs::metadata(&path)?.blksize() as usize;
    let all = |mut input: Box<dyn Read>| -> Result<()> {
        let (mut byte, mut count) = ([0], 0);
        while input.read(&mut byte)? > 0 {
            count += 1;
        }
        if count != READ_BYTES {
            bail!("{count} of {READ_BYTES} bytes read");
        }
        Ok(())
    };
    let costs = each_way(
        READ_BYTES,
        || all(Box::new(File::open(&path)?)),
        || all(Box::new(BufReader::with_capacity(size, File::open(&path)?))),
    )?;
    Ok(row(
        "buffers of the file system's size",
        "µs a character",
        ("a call each", "a call a buffer"),
        costs,
        "5 × for programs that read characters",
    ))
}

/// Log lines written one at a time, and at once.
fn log_lines(dir: &Path) -> Result<Row> {
    let path = dir.join("log");
    let open = || OpenOptions::new().append(true).create(true).open(&path);
    let all = |mut log: Box<dyn Write>| -> Result<()> {
        for _ in 0..LINES {
            log.write_all(LINE)?;
        }
        Ok(log.flush()?)
    };
    let costs = each_way(
        LINES,
        || all(Box::new(open()?)),
        || {
            all(Box::new(BufWriter::with_capacity(
                LINES * LINE.len(),
                open()?,
            )))
        },
    )?;
    Ok(row(
        "log lines written at each commit",
        "µs a line",
        ("a call each", "one call"),
        costs,
        "stderr and syslog, no figure",
    ))
}

/// The lock of a news system: a link as C News made it, and `flock`.
fn locks(dir: &Path) -> Result<Row> {
    let (temporary, name) = (dir.join("L.1"), dir.join("LOCK"));
    let file = File::create(dir.join("lock"))?;
    let costs = each_way(
        LOCKS,
        || {
            for _ in 0..LOCKS {
                fs::write(&temporary, "1\n")?;
                fs::hard_link(&temporary, &name)?;
                fs::remove_file(&temporary)?;
                fs::remove_file(&name)?;
            }
            Ok(())
        },
        || {
            for _ in 0..LOCKS {
                flock(&file, FlockOperation::NonBlockingLockExclusive)?;
                flock(&file, FlockOperation::Unlock)?;
            }
            Ok(())
        },
    )?;
    Ok(row(
        "locks",
        "µs a lock",
        ("link, unlink", "flock"),
        costs,
        "locking −10 %",
    ))
}

/// A reply of many pieces: a call for each, and one for all.
fn pieces() -> Result<Row> {
    let mut out = OpenOptions::new().write(true).open("/dev/null")?;
    let piece = [b'x'; 200];
    let mut other = out.try_clone()?;
    let costs = each_way(
        REPLIES * PIECES,
        || {
            for _ in 0..REPLIES * PIECES {
                out.write_all(&piece)?;
            }
            Ok(())
        },
        || {
            for _ in 0..REPLIES {
                let slices = [IoSlice::new(&piece); PIECES];
                if other.write_vectored(&slices)? != PIECES * piece.len() {
                    bail!("a short write");
                }
            }
            Ok(())
        },
    )?;
    Ok(row(
        "many pieces in one call",
        "µs a piece",
        ("a call each", "a call for 64"),
        costs,
        "exec −25 %: arguments copied whole",
    ))
}

/// A program that gets articles: started for each, and kept.
fn programs() -> Result<Row> {
    let article = vec![b'x'; 3_000];
    let start = || {
        let mut command = Command::new("cat");
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        command.spawn().context("starting cat")
    };
    let costs = each_way(
        ARTICLES,
        || {
            for _ in 0..ARTICLES {
                let mut program = start()?;
                if let Some(mut input) = program.stdin.take() {
                    input.write_all(&article)?;
                }
                program.wait()?;
            }
            Ok(())
        },
        || {
            let mut program = start()?;
            if let Some(mut input) = program.stdin.take() {
                for _ in 0..ARTICLES {
                    input.write_all(&article)?;
                }
            }
            program.wait()?;
            Ok(())
        },
    )?;
    Ok(row(
        "a program that stays",
        "µs an article",
        ("a process each", "a process for 100"),
        costs,
        "inetd: no process while nothing comes",
    ))
}

/// Messages to a thread that has not taken the last one yet.
fn wake_ups() -> Result<Row> {
    let event = eventfd(0, EventfdFlags::CLOEXEC)?;
    let wake = || rustix::io::write(&event, &1u64.to_ne_bytes());
    let mut queue: std::sync::Mutex<Vec<usize>> = std::sync::Mutex::default();
    let mut put = |always: bool| -> Result<()> {
        for message in 0..MESSAGES {
            let mut messages = queue
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            let was_empty = messages.is_empty();
            messages.push(message);
            drop(messages);
            if always || was_empty {
                wake()?;
            }
        }
        queue.get_mut().map(Vec::clear).ok();
        Ok(())
    };
    let put = std::cell::RefCell::new(&mut put);
    let costs = each_way(
        MESSAGES,
        || (put.borrow_mut())(true),
        || (put.borrow_mut())(false),
    )?;
    Ok(row(
        "wake-ups of a thread",
        "µs a message",
        ("one a message", "one for all waiting"),
        costs,
        "pipes synchronise 2 × faster",
    ))
}
