//! Inputs of a run: files and standard input, which may be a file.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use store::MapRef;

use crate::log::Now;

/// The name of standard input in messages.
pub const STANDARD_INPUT: &str = "standard input";

/// Standard input, which may be a pipe that does not block: reading it waits all the same.
pub struct StandardInput;

impl Read for StandardInput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut input = io::stdin().lock();
        loop {
            match input.read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => wait_for(&input)?,
                read => return read,
            }
        }
    }
}

/// Waits until a pipe has something, or has ended.
pub(crate) fn wait_for(from: &impl AsFd) -> io::Result<()> {
    match poll(&mut [PollFd::new(from, PollFlags::IN)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The source of a batch.
#[derive(Debug, Clone)]
pub enum Input {
    /// A file.
    File(PathBuf),
    /// A file of a spool directory: only a regular file, no link, and no FIFO, which would block.
    Spooled(PathBuf),
    /// Standard input.
    Stdin,
    /// An open file.
    Handed(Handed),
}

/// An open regular file, with its names where it comes from. Whoever opened it removes it, if wanted.
#[derive(Debug, Clone)]
pub struct Handed {
    /// For messages.
    pub name: String,
    /// The end of a bad batch's name: the file's name, or the process id of the reader of a pipe.
    pub tail: String,
    /// The file, read from its current offset.
    pub file: Arc<File>,
    /// No other program can change it.
    pub is_private: bool,
}

/// One input, opened.
pub(crate) struct Source {
    /// For messages.
    pub name: String,
    pub file: File,
    /// The name of the bad batch.
    pub stem: String,
    pub reread: Reread,
    /// Others may truncate it during the read.
    is_of_others: bool,
    /// It is a file of in.coming/.
    pub is_spooled: bool,
}

/// How to read the batch again.
pub(crate) enum Reread {
    /// It is a file of this name.
    Path(PathBuf),
    /// It can be read again from this offset.
    From(u64),
}

impl Source {
    /// Opens an input; the error comes with the input's name.
    pub fn open(input: &Input, now: Now) -> Result<Source, (String, io::Error)> {
        match input {
            Input::File(path) => {
                let name = path.display().to_string();
                let file = File::open(path).map_err(|error| (name.clone(), error))?;
                let data = file.metadata().map_err(|error| (name.clone(), error))?;
                if data.is_dir() {
                    // A directory opens, but has nothing to read or save.
                    return Err((name, io::ErrorKind::IsADirectory.into()));
                }
                if !data.is_file() {
                    return Err((name, only_once()));
                }
                Ok(Source {
                    name,
                    file,
                    stem: stem(now, path.file_name().map(Path::new)),
                    reread: Reread::Path(path.clone()),
                    is_of_others: false,
                    is_spooled: false,
                })
            }
            Input::Spooled(path) => {
                let name = path.display().to_string();
                let file = open_regular(path).map_err(|error| (name.clone(), error))?;
                Ok(Source {
                    name,
                    file,
                    stem: stem(now, path.file_name().map(Path::new)),
                    reread: Reread::Path(path.clone()),
                    is_of_others: true,
                    is_spooled: true,
                })
            }
            Input::Stdin => {
                let name = STANDARD_INPUT.to_owned();
                let fail = |error| (STANDARD_INPUT.to_owned(), error);
                let file = File::from(io::stdin().as_fd().try_clone_to_owned().map_err(fail)?);
                Ok(Source {
                    name,
                    reread: reread_from_here(&file).map_err(fail)?,
                    is_of_others: false,
                    is_spooled: false,
                    file,
                    stem: stem(now, None),
                })
            }
            Input::Handed(handed) => {
                let fail = |error| (handed.name.clone(), error);
                let file = handed.file.try_clone().map_err(fail)?;
                Ok(Source {
                    name: handed.name.clone(),
                    reread: reread_from_here(&file).map_err(fail)?,
                    is_of_others: !handed.is_private,
                    is_spooled: false,
                    file,
                    stem: stem(now, Path::new(&handed.tail).file_name().map(Path::new)),
                })
            }
        }
    }

    /// Maps a regular file that is read from its start, which saves a copy; `None` if it has to be read.
    ///
    /// A file truncated meanwhile reads as zeros ([`MapRef::unreadable_from`]). The daemon does not map files of other programs: their
    /// owners could change them during the read.
    pub fn map(&self) -> Option<MapRef> {
        if self.is_of_others || matches!(self.reread, Reread::From(1..)) {
            return None;
        }
        let map = MapRef::whole(&self.file).ok()?;
        // Processes that share standard input see it as read.
        (&self.file).seek(io::SeekFrom::End(0)).ok()?;
        Some(map)
    }

    /// Reads the file again from `start`, by offset, since the file position belongs to the batch being read.
    pub fn read_again(&self, start: u64) -> ReadAt<'_> {
        ReadAt::new(&self.file, start)
    }
}

/// Reads a file by offset.
pub(crate) struct ReadAt<'a> {
    file: &'a File,
    at: u64,
}

impl ReadAt<'_> {
    /// Reads from `start` on.
    pub fn new(file: &File, start: u64) -> ReadAt<'_> {
        ReadAt { file, at: start }
    }
}

impl Read for ReadAt<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = std::os::unix::fs::FileExt::read_at(self.file, out, self.at)?;
        self.at = self.at.saturating_add(count as u64);
        Ok(count)
    }
}

/// How to read a file without a known name again.
fn reread_from_here(mut file: &File) -> io::Result<Reread> {
    let data = file.metadata()?;
    if data.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if data.is_file() {
        Ok(Reread::From(file.stream_position()?))
    } else {
        Err(only_once())
    }
}

/// See [`Input::gathered`].
fn only_once() -> io::Error {
    io::Error::other("it can be read only once")
}

/// Opens a regular file without following links, or fails at once.
fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits() as i32)
        .open(path);
    match file {
        Ok(file) if file.metadata()?.is_file() => Ok(file),
        // The error of open(2) for a link with O_NOFOLLOW; for a socket it is ENXIO.
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            Err(io::Error::other("it is a symbolic link, not a file"))
        }
        Err(error) if error.raw_os_error() != Some(Errno::NXIO.raw_os_error()) => Err(error),
        _ => Err(io::Error::other("it is not a regular file")),
    }
}

/// The name of a bad batch: the time in seconds since 1970, and the file's name or the process id.
fn stem(now: Now, name: Option<&Path>) -> String {
    match name {
        Some(name) => format!("{}.{}", now.seconds, name.display()),
        None => format!("{}.{}", now.seconds, std::process::id()),
    }
}
