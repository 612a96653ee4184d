//! The file of an article, and its links for cross-posts.
//!
//! A file is created under its final name and written at once. A kill or a power cut may leave its beginning: the next run finds that by
//! the content, and creates the file again. A file with other content is never touched.

use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use article::{Article, Form, Header};
use rustix::fs::{AtFlags, Mode, OFlags, linkat, openat, readlinkat, statat, symlinkat, unlinkat};
use rustix::io::Errno;

use super::directories::Directory;

/// Attempts to create a file or link whose name is taken by a remainder of an earlier run.
const ATTEMPTS_MAX: usize = 3;

/// The beginning of a file that is read to find its Message-ID, bytes.
const HEAD_BYTES: u64 = 64 << 10;

/// Rights of new files, before the umask.
const NEW_FILE: u32 = 0o666;

/// A file in a directory.
#[derive(Debug, Clone, Copy)]
pub struct Name<'a> {
    /// The directory.
    pub directory: &'a Directory,
    /// The name in it.
    pub name: &'a [u8],
}

/// The result of creating a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Created {
    /// The name has the article.
    Done,
    /// Another file has the name, and stays as it is.
    ForeignFile,
    /// A directory has the name.
    Directory,
}

/// What has a name that should be free.
enum Occupant {
    Same,
    /// The beginning of the article, or a symbolic link into the tree that leads nowhere: left by an earlier run.
    Remainder,
    Foreign,
    Directory,
}

/// How cross-posts are linked. A way that the file system refuses is followed by the next one.
#[derive(Debug, Clone, Copy)]
enum Linking {
    Hard,
    Symbolic,
    Copy,
}

/// Creates the file of an article. `tree` is the path of the tree.
pub fn create(file: Name<'_>, content: &[u8], tree: &Path) -> rustix::io::Result<Created> {
    let made = || write_new(file, content);
    until_free(file, (content, tree), made)
}

/// Links the file of an article to another name. `path` gives the path of the file.
pub fn link(
    (first, path): (Name<'_>, &dyn Fn() -> PathBuf),
    other: Name<'_>,
    (content, tree): (&[u8], &Path),
) -> rustix::io::Result<Created> {
    let mut linking = Linking::Hard;
    loop {
        let made = || match linking {
            Linking::Hard => {
                let flags = AtFlags::empty();
                linkat(
                    first.directory,
                    first.name,
                    other.directory,
                    other.name,
                    flags,
                )
            }
            Linking::Symbolic => symlinkat(path(), other.directory, other.name),
            Linking::Copy => write_new(other, content),
        };
        let error = match until_free(other, (content, tree), made) {
            Err(error) => error,
            created => return created,
        };
        linking = match (linking, error) {
            // Another file system, too many links, or a file system without links.
            (Linking::Hard, Errno::XDEV | Errno::MLINK | Errno::PERM | Errno::OPNOTSUPP) => {
                Linking::Symbolic
            }
            (Linking::Symbolic, Errno::PERM | Errno::OPNOTSUPP) => Linking::Copy,
            (_, error) => return Err(error),
        };
    }
}

/// Makes a name that should be free; removes a remainder of an earlier run first.
fn until_free(
    file: Name<'_>,
    (content, tree): (&[u8], &Path),
    make: impl Fn() -> rustix::io::Result<()>,
) -> rustix::io::Result<Created> {
    for _ in 0..ATTEMPTS_MAX {
        match make() {
            Ok(()) => return Ok(Created::Done),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        match occupant(file, content, tree)? {
            Occupant::Same => return Ok(Created::Done),
            Occupant::Remainder => remove(file)?,
            Occupant::Foreign => return Ok(Created::ForeignFile),
            Occupant::Directory => return Ok(Created::Directory),
        }
    }
    Err(Errno::EXIST)
}

/// Removes a name that may be gone already. A directory stays.
pub fn remove(file: Name<'_>) -> rustix::io::Result<()> {
    match unlinkat(file.directory, file.name, AtFlags::empty()) {
        Err(Errno::NOENT | Errno::ISDIR) => Ok(()),
        removed => removed,
    }
}

/// The Message-ID of a file; `None` if it has none, as a file of another kind. An error `NOENT`: a symbolic link leads nowhere.
pub fn message_id(file: Name<'_>) -> rustix::io::Result<Option<Vec<u8>>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let opened = openat(file.directory, file.name, flags, Mode::empty())?;
    let mut head = Vec::new();
    let mut start = File::from(opened).take(HEAD_BYTES);
    start.read_to_end(&mut head).map_err(errno)?;
    let parsed = Article::parse(&head, Form::Native);
    Ok(parsed.value(Header::MessageId).map(<[u8]>::to_vec))
}

fn write_new(file: Name<'_>, content: &[u8]) -> rustix::io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(NEW_FILE);
    let descriptor = openat(file.directory, file.name, flags, mode)?;
    let mut rest = content;
    while !rest.is_empty() {
        match rustix::io::write(&descriptor, rest) {
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(error) => {
                // The disk is full: the beginning would only take space.
                let _ = remove(file);
                return Err(error);
            }
        }
    }
    Ok(())
}

fn occupant(file: Name<'_>, content: &[u8], tree: &Path) -> rustix::io::Result<Occupant> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let opened = match openat(file.directory, file.name, flags, Mode::empty()) {
        Err(Errno::NOENT) => return dangling(file, tree),
        opened => File::from(opened?),
    };
    let told = opened.metadata().map_err(errno)?;
    if told.is_dir() {
        return Ok(Occupant::Directory);
    }
    if !told.is_file() {
        return Ok(Occupant::Foreign);
    }
    let mut found = Vec::with_capacity(content.len() + 1);
    let mut start = opened.take(content.len() as u64 + 1);
    start.read_to_end(&mut found).map_err(errno)?;
    Ok(if found == content {
        Occupant::Same
    } else if content.starts_with(&found) && !is_symlink(file)? {
        Occupant::Remainder
    } else {
        Occupant::Foreign
    })
}

/// A name that exists and cannot be opened: a symbolic link to nothing, or it was removed meanwhile.
fn dangling(file: Name<'_>, tree: &Path) -> rustix::io::Result<Occupant> {
    match readlinkat(file.directory, file.name, Vec::new()) {
        Ok(target) if target.to_bytes().starts_with(tree.as_os_str().as_bytes()) => {
            Ok(Occupant::Remainder)
        }
        Ok(_) => Ok(Occupant::Foreign),
        Err(Errno::NOENT) => Ok(Occupant::Remainder),
        Err(error) => Err(error),
    }
}

fn is_symlink(file: Name<'_>) -> rustix::io::Result<bool> {
    let told = statat(file.directory, file.name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(rustix::fs::FileType::from_raw_mode(told.st_mode).is_symlink())
}

fn errno(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}
