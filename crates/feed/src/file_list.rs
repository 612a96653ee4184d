//! Sites with a line for each article in a file, which a program of the administrator processes (a *togo* file).
//!
//! An article's name is `group/name/number`, as C News named its files; there is no such file, but `broadsheet article` prints the
//! article. The program first renames the list, so that new lines go to a new file, and then locks the renamed file once (`flock`), to
//! wait for a writer; without that it may read a partial line, and get it again.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use groups::sites::ListForm;
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use store::{HistoryLine, Record};

use crate::error::Error;
use crate::sendbatches::ArticleSource;

/// Size of the lines that are written and synced together, bytes.
pub const LINES_BYTES_MAX: usize = 1 << 18;
/// Time to wait for a list that another program has locked, seconds.
pub const LIST_LOCKED_SECONDS_MAX: u64 = 10;

/// Interval between attempts to lock the list.
const LOCK_AGAIN: Duration = Duration::from_millis(5);

/// The file list of a site.
#[derive(Debug, Clone)]
pub struct FileList {
    /// The form of a line.
    pub form: ListForm,
    /// The file.
    pub path: PathBuf,
}

impl FileList {
    /// Lists all waiting articles until the feed is paused; returns their number. A crash leaves no partial line; articles not yet passed
    /// are listed again.
    ///
    /// # Errors
    /// The file cannot be written, or the backlog cannot be read; unlisted articles still wait.
    pub fn run(&self, source: &mut dyn ArticleSource) -> Result<u64, Error> {
        let mut lines = Vec::new();
        let mut listed = 0;
        while !source.is_paused() {
            lines.clear();
            let mut articles = 0;
            source.offer(&mut |record| {
                if lines.len() >= LINES_BYTES_MAX {
                    return false;
                }
                push_line(&mut lines, self.form, record);
                articles += 1;
                true
            })?;
            if articles > 0 {
                self.append(&lines)?;
            }
            // Articles for other sites are passed, too.
            source.delivered()?;
            if articles == 0 {
                break;
            }
            listed += articles;
        }
        Ok(listed)
    }

    /// Appends whole lines durably, or nothing, while it holds a lock (`flock`). If the file was renamed meanwhile, it writes the lines
    /// again to the new file, since the reader may have missed them.
    fn append(&self, lines: &[u8]) -> Result<(), Error> {
        let path = &self.path;
        let directory = path.parent().unwrap_or(Path::new("."));
        store::make_directories(directory, 0o777).map_err(Error::io("make", directory))?;
        let until = Instant::now() + Duration::from_secs(LIST_LOCKED_SECONDS_MAX);
        loop {
            // A FIFO without a reader does not block.
            let mut file = OpenOptions::new()
                .read(true)
                .append(true)
                .create(true)
                .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
                .open(path)
                .map_err(Error::io("open", path))?;
            let told = file.metadata().map_err(Error::io("look at", path))?;
            if told.file_type().is_char_device() {
                // Such as /dev/null, which cannot be synced.
                return file.write_all(lines).map_err(Error::io("write", path));
            }
            if !told.is_file() {
                let why = std::io::Error::other("not a regular file");
                return Err(Error::io("list articles in", path)(why));
            }
            lock(&file, until).map_err(Error::io("lock", path))?;
            if !is_named(path, &told)? {
                continue;
            }
            write(&mut file, lines).map_err(Error::io("write", path))?;
            store::sync_directory(directory).map_err(Error::io("sync", directory))?;
            if is_named(path, &told)? {
                return Ok(());
            }
        }
    }
}

/// Whether the path still leads to this file.
fn is_named(path: &Path, file: &Metadata) -> Result<bool, Error> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        told => {
            let told = told.map_err(Error::io("look at", path))?;
            Ok((told.dev(), told.ino()) == (file.dev(), file.ino()))
        }
    }
}

/// Locks the file. Other feeds may write to it, and its reader may lock it briefly.
fn lock(file: &File, until: Instant) -> std::io::Result<()> {
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) if Instant::now() < until => {
                std::thread::sleep(LOCK_AGAIN);
            }
            Err(Errno::WOULDBLOCK) => {
                return Err(std::io::Error::other("locked by another program"));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Writes all of the lines, or none.
fn write(file: &mut File, lines: &[u8]) -> std::io::Result<()> {
    let before = file.metadata()?.len();
    let written = end_line(file, before)
        .and_then(|()| file.write_all(lines))
        .and_then(|()| file.sync_data());
    if written.is_err() {
        // The next attempt writes the lines again; nobody else has appended under the lock.
        let _ = file.set_len(before);
    }
    written
}

/// Terminates a line that a power cut truncated.
fn end_line(file: &mut File, length: u64) -> std::io::Result<()> {
    let mut last = [b'\n'];
    if length > 0 {
        file.seek(SeekFrom::Start(length - 1))?;
        file.read_exact(&mut last)?;
    }
    match last {
        [b'\n'] => Ok(()),
        _ => file.write_all(b"\n"),
    }
}

fn push_line(out: &mut Vec<u8>, form: ListForm, record: &Record<'_>) {
    let Some(line) = HistoryLine::parse(record.line()) else {
        return;
    };
    if form == ListForm::Id {
        out.extend_from_slice(line.id);
    } else {
        push_name(out, line.links);
    }
    match form {
        ListForm::NameSize => {
            out.push(b' ');
            article::decimal::push(out, line.size.unwrap_or(0));
        }
        ListForm::NameId => {
            out.push(b' ');
            out.extend_from_slice(line.id);
        }
        ListForm::Name | ListForm::Id => {}
    }
    out.push(b'\n');
}

/// The first link of an article, `comp.lang.c/17`, as a file name: `comp/lang/c/17`.
fn push_name(out: &mut Vec<u8>, links: &[u8]) {
    let first = links.split(|&byte| byte == b' ').next().unwrap_or_default();
    out.extend(
        first
            .iter()
            .map(|&byte| if byte == b'.' { b'/' } else { byte }),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The classic way, without a lock: lines removed between open and write are listed again.
    #[test]
    fn lists_moved_aside_at_any_moment_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("togo");
        let list = FileList {
            form: ListForm::Name,
            path: path.clone(),
        };
        let articles = 10_u32;
        let taken = std::thread::scope(|scope| {
            let writing = scope.spawn(|| {
                for number in 0..articles {
                    list.append(format!("a/{number}\n").as_bytes()).unwrap();
                }
            });
            let mut taken = std::collections::HashSet::new();
            let aside = dir.path().join("togo.aside");
            loop {
                let is_last = writing.is_finished();
                if std::fs::rename(&path, &aside).is_ok() {
                    let text = std::fs::read_to_string(&aside).unwrap();
                    std::fs::remove_file(&aside).unwrap();
                    taken.extend(text.lines().map(str::to_owned));
                }
                if is_last {
                    return taken;
                }
            }
        });
        for number in 0..articles {
            assert!(taken.contains(&format!("a/{number}")), "{number} is lost");
        }
    }
}
