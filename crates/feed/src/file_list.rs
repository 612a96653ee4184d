//! Sites that get a line for each article in a file, for a program of the administrator's to work through (a *togo* file).
//!
//! An article's name is `group/name/number`, as C News's files were called; here no file is under it, but `broadsheet article`
//! gives it. Whoever works the list through moves it aside first, as ever: the next lines go to a new file. He then locks the
//! moved file once (`flock`), which waits for who is writing to it; without that he may read half a line, and gets it again.

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
use crate::sendbatches::Togo;

/// Bytes of lines that are written and synced at a time; the cursor passes them together.
pub const LINES_BYTES_MAX: usize = 1 << 18;
/// Seconds that a list which another program has locked is waited for; then its articles wait on.
pub const LIST_LOCKED_SECONDS_MAX: u64 = 10;

/// How often it is looked whether it is free.
const LOCK_AGAIN: Duration = Duration::from_millis(5);

/// The list of a site.
#[derive(Debug, Clone)]
pub struct FileList {
    /// What a line says.
    pub form: ListForm,
    /// The file.
    pub path: PathBuf,
}

impl FileList {
    /// Lists everything that waits, unless the feed is paused meanwhile; gives how many articles. A crash leaves no half line, and lists again at most what was
    /// not passed.
    ///
    /// # Errors
    /// The file cannot be written, or the backlog not be read; what was not listed waits on.
    pub fn run(&self, togo: &mut dyn Togo) -> Result<u64, Error> {
        let mut lines = Vec::new();
        let mut listed = 0;
        while !togo.is_paused() {
            lines.clear();
            let mut articles = 0;
            togo.offer(&mut |record| {
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
            // What is not for this site is passed, too.
            togo.delivered()?;
            if articles == 0 {
                break;
            }
            listed += articles;
        }
        Ok(listed)
    }

    /// Appends whole lines durably, or nothing. The file is locked (`flock`) meanwhile; when it was moved aside before all was written, the
    /// lines are written again to the new one, since nobody knows how far the moved one was read by then.
    fn append(&self, lines: &[u8]) -> Result<(), Error> {
        let path = &self.path;
        let directory = path.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(directory).map_err(Error::io("make", directory))?;
        let until = Instant::now() + Duration::from_secs(LIST_LOCKED_SECONDS_MAX);
        loop {
            // A FIFO without a reader does not keep us.
            let mut file = OpenOptions::new()
                .read(true)
                .append(true)
                .create(true)
                .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
                .open(path)
                .map_err(Error::io("open", path))?;
            let told = file.metadata().map_err(Error::io("look at", path))?;
            if told.file_type().is_char_device() {
                // As /dev/null, which cannot be synced.
                return file.write_all(lines).map_err(Error::io("write", path));
            }
            if !told.is_file() {
                let why = std::io::Error::other("it is no plain file");
                return Err(Error::io("list articles in", path)(why));
            }
            lock(&file, until).map_err(Error::io("lock", path))?;
            if !is_named(path, &told)? {
                continue;
            }
            write(&mut file, lines).map_err(Error::io("write", path))?;
            File::open(directory)
                .and_then(|directory| directory.sync_all())
                .map_err(Error::io("sync", directory))?;
            if is_named(path, &told)? {
                return Ok(());
            }
        }
    }
}

/// True when the path leads to this file still.
fn is_named(path: &Path, file: &Metadata) -> Result<bool, Error> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        told => {
            let told = told.map_err(Error::io("look at", path))?;
            Ok((told.dev(), told.ino()) == (file.dev(), file.ino()))
        }
    }
}

/// Other feeds may list in the same file, and whoever works a list through may hold it for a moment.
fn lock(file: &File, until: Instant) -> std::io::Result<()> {
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) if Instant::now() < until => {
                std::thread::sleep(LOCK_AGAIN);
            }
            Err(Errno::WOULDBLOCK) => {
                return Err(std::io::Error::other("another program keeps it locked"));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// All of the lines, or none.
fn write(file: &mut File, lines: &[u8]) -> std::io::Result<()> {
    let before = file.metadata()?.len();
    let written = end_line(file, before)
        .and_then(|()| file.write_all(lines))
        .and_then(|()| file.sync_data());
    if written.is_err() {
        // Lines again at the next attempt, none of them half here; nobody else has appended while it was locked.
        let _ = file.set_len(before);
    }
    written
}

/// Ends a line that a power cut left half.
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

/// The first of an article's links, `comp.lang.c/17`, as the name of a file: `comp/lang/c/17`.
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

    /// The classic way, without a lock: what is moved, read and removed between the opening and the writing is listed again.
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
