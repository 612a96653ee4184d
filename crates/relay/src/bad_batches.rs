//! The directory `bad`: unreadable batches.
//!
//! A bad batch is never lost: a file is copied there, or linked if it comes from in.coming/; of a pipe, the bytes that are not yet filed
//! are copied.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::input::ReadAt;

/// The directory's name in the news directory.
pub const BAD: &str = "bad";
/// The directory of waiting and incomplete batches.
pub const INCOMING: &str = "in.coming";
/// The name of an incomplete batch in [`INCOMING`] begins so.
pub const TEMPORARY: &str = "nspool.";
/// Names tried for one batch.
const NAMES_TRIED_MAX: u32 = 10_000;

/// Creates a file in `dir`, and `dir` if it is missing. The name is `stem`, or `stem.1`, `stem.2` …
///
/// # Errors
/// An I/O error, with the path.
pub fn create(dir: &Path, stem: &str) -> io::Result<(File, PathBuf)> {
    with_unused_name(dir, stem, |path| {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).open(path)
    })
}

/// Creates a file without a name in `dir`, which disappears when it is closed.
///
/// # Errors
/// An I/O error.
pub fn create_unnamed(dir: &Path) -> io::Result<File> {
    let unnamed = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(OFlags::TMPFILE.bits().cast_signed())
        .mode(0o600)
        .open(dir);
    match unnamed {
        // File systems without O_TMPFILE; EISDIR where the kernel does not know it. ENOENT: the directory is made.
        Err(error)
            if matches!(
                Errno::from_io_error(&error),
                Some(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT)
            ) =>
        {
            let (file, path) = create(dir, &format!("{TEMPORARY}{}", std::process::id()))?;
            fs::remove_file(path)?;
            Ok(file)
        }
        unnamed => unnamed,
    }
}

/// Saves a file in `dir` under a name from `stem`, by a link or a copy.
///
/// # Errors
/// An I/O error.
pub fn save_file(dir: &Path, stem: &str, file: &Path) -> io::Result<PathBuf> {
    let linked = with_unused_name(dir, stem, |path| fs::hard_link(file, path));
    if let Ok(((), path)) = linked {
        return Ok(path);
    }
    save_reader(dir, stem, &mut File::open(file)?)
}

/// Saves a copy of a whole file, with shared blocks where the file system can do that.
///
/// # Errors
/// An I/O error.
pub fn save_copy(dir: &Path, stem: &str, file: &File) -> io::Result<PathBuf> {
    save_with(dir, stem, |copy| {
        match rustix::fs::ioctl_ficlone(&*copy, file) {
            Ok(()) => Ok(()),
            Err(_) => io::copy(&mut ReadAt::new(file, 0), copy).map(drop),
        }
    })
}

/// Saves the rest of `reader`.
///
/// # Errors
/// An I/O error.
pub fn save_reader(dir: &Path, stem: &str, reader: &mut dyn io::Read) -> io::Result<PathBuf> {
    save_with(dir, stem, |copy| io::copy(reader, copy).map(drop))
}

/// Creates a file, fills it and syncs it. Leaves no part of it behind where that fails.
fn save_with(
    dir: &Path,
    stem: &str,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<PathBuf> {
    let (mut copy, path) = create(dir, stem)?;
    match fill(&mut copy).and_then(|()| copy.sync_all()) {
        Ok(()) => Ok(path),
        Err(error) => {
            let _ = fs::remove_file(&path);
            Err(error)
        }
    }
}

/// Syncs the name of a saved file, so that its other name may be removed.
///
/// # Errors
/// An I/O error.
pub fn sync_parent(saved: &Path) -> io::Result<()> {
    match saved.parent() {
        Some(dir) => store::sync_directory(dir),
        None => Ok(()),
    }
}

fn with_unused_name<T>(
    dir: &Path,
    stem: &str,
    put: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(T, PathBuf)> {
    store::make_directories(dir, 0o777)?;
    for attempt in 0..NAMES_TRIED_MAX {
        let path = if attempt == 0 {
            dir.join(stem)
        } else {
            dir.join(format!("{stem}.{attempt}"))
        };
        match put(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            done => return done.map(|done| (done, path)),
        }
    }
    Err(io::Error::new(
        ErrorKind::AlreadyExists,
        format!(
            "{} has too many batches; examine and remove them",
            dir.display()
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_batch_of_the_same_name_gets_a_name_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let bad = dir.path().join(BAD);
        let batch = dir.path().join("batch");
        fs::write(&batch, "one").unwrap();
        let first = save_file(&bad, "7.batch", &batch).unwrap();
        let second = save_reader(&bad, "7.batch", &mut &b"two"[..]).unwrap();
        assert_eq!(first, bad.join("7.batch"));
        assert_eq!(second, bad.join("7.batch.1"));
        assert_eq!(fs::read(first).unwrap(), b"one");
        assert_eq!(fs::read(second).unwrap(), b"two");
        assert!(batch.exists());
    }
}
