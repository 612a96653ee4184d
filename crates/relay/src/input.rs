//! The inputs of a run: files, and standard input, which may be a file too.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use rustix::io::Errno;
use store::MapRef;

use crate::log::Now;

/// Where a batch comes from.
#[derive(Debug, Clone)]
pub enum Input {
    /// A file.
    File(PathBuf),
    /// A file of a spool directory: no link is followed, and nothing but a regular file is opened (a FIFO
    /// would be waited at for ever).
    Spooled(PathBuf),
    /// Standard input: a pipe, a terminal, or a file that can be read again.
    Stdin,
    /// A file that another program opened.
    Handed(Handed),
}

/// A regular file to be handed to another program, with what is said of it there. Who handed it over removes it, where
/// that is wanted.
#[derive(Debug, Clone)]
pub struct Handed {
    /// For messages.
    pub name: String,
    /// What the end of a kept batch's name is: the file's name, or the number of the process that read a pipe.
    pub tail: String,
    /// The file; it is read from where it stands.
    pub file: Arc<File>,
}

/// One input, opened.
pub(crate) struct Source {
    /// For messages.
    pub name: String,
    pub file: File,
    /// What the kept batch is called.
    pub stem: String,
    pub again: Again,
    /// Others may cut it while it is read.
    is_of_others: bool,
}

/// How to have the batch once more.
pub(crate) enum Again {
    /// It is a file of this name.
    Path(PathBuf),
    /// It can be read again from this offset.
    From(u64),
    /// It cannot: it comes through a pipe.
    Never,
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
                    // It opens, but there is nothing in it to read or to keep.
                    return Err((name, io::ErrorKind::IsADirectory.into()));
                }
                let is_regular = data.is_file();
                Ok(Source {
                    name,
                    file,
                    stem: stem(now, path.file_name().map(Path::new)),
                    again: if is_regular {
                        Again::Path(path.clone())
                    } else {
                        Again::Never
                    },
                    is_of_others: false,
                })
            }
            Input::Spooled(path) => {
                let name = path.display().to_string();
                let file = open_regular(path).map_err(|error| (name.clone(), error))?;
                Ok(Source {
                    name,
                    file,
                    stem: stem(now, path.file_name().map(Path::new)),
                    again: Again::Path(path.clone()),
                    is_of_others: true,
                })
            }
            Input::Stdin => {
                let name = "standard input".to_owned();
                let fail = |error| ("standard input".to_owned(), error);
                let file = File::from(io::stdin().as_fd().try_clone_to_owned().map_err(fail)?);
                Ok(Source {
                    name,
                    again: again_from_here(&file),
                    is_of_others: false,
                    file,
                    stem: stem(now, None),
                })
            }
            Input::Handed(handed) => {
                let fail = |error| (handed.name.clone(), error);
                let file = handed.file.try_clone().map_err(fail)?;
                Ok(Source {
                    name: handed.name.clone(),
                    again: again_from_here(&file),
                    is_of_others: true,
                    file,
                    stem: stem(now, Path::new(&handed.tail).file_name().map(Path::new)),
                })
            }
        }
    }

    /// The whole file mapped into memory, which saves copying it: only of a regular file that is read from its
    /// start. `None`: to be read in the ordinary way.
    ///
    /// A map of a file that was cut meanwhile reads as zeros ([`MapRef::unreadable_from`]). What others put before a process that
    /// works for many is not mapped: whoever may write the file could change it while it is being read.
    pub fn map(&self) -> Option<MapRef> {
        if self.is_of_others || matches!(self.again, Again::Never | Again::From(1..)) {
            return None;
        }
        let map = MapRef::whole(&self.file).ok()?;
        // Whoever shares standard input with us finds it read.
        (&self.file).seek(io::SeekFrom::End(0)).ok()?;
        Some(map)
    }

    /// The file again from `start`. Its place is shared with the batch being read, so this reads by
    /// position and leaves that alone.
    pub fn once_more(&self, start: u64) -> ReadAt<'_> {
        ReadAt {
            file: &self.file,
            at: start,
        }
    }
}

/// Reads a file by position.
pub(crate) struct ReadAt<'a> {
    file: &'a File,
    at: u64,
}

impl Read for ReadAt<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = std::os::unix::fs::FileExt::read_at(self.file, out, self.at)?;
        self.at = self.at.saturating_add(count as u64);
        Ok(count)
    }
}

/// How to have a file once more whose name is not known.
fn again_from_here(mut file: &File) -> Again {
    let is_regular = file.metadata().is_ok_and(|data| data.is_file());
    match file.stream_position() {
        Ok(start) if is_regular => Again::From(start),
        _ => Again::Never,
    }
}

/// Opens a regular file itself, or fails at once.
fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits() as i32)
        .open(path);
    match file {
        Ok(file) if file.metadata()?.is_file() => Ok(file),
        // What open(2) says of a link with O_NOFOLLOW; of a socket it says ENXIO.
        Err(error) if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => {
            Err(io::Error::other("it is a symbolic link, not a file"))
        }
        Err(error) if error.raw_os_error() != Some(Errno::NXIO.raw_os_error()) => Err(error),
        _ => Err(io::Error::other("it is not a regular file")),
    }
}

/// What a kept batch is called: the time in epoch seconds, and the file's name or the process.
fn stem(now: Now, name: Option<&Path>) -> String {
    match name {
        Some(name) => format!("{}.{}", now.seconds, name.display()),
        None => format!("{}.{}", now.seconds, std::process::id()),
    }
}
