//! The directory `bad`: batches that could not be read to their end.
//!
//! A bad batch is never lost. A file is linked there (or copied, where linking is not possible); of
//! standard input what can still be had is copied.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The directory's name in the news directory.
pub const BAD: &str = "bad";
/// The directory for batches that wait or are being received.
pub const INCOMING: &str = "in.coming";
/// So many names are tried for one kept batch.
const NAMES_TRIED_MAX: u32 = 10_000;

/// Makes a new file in `dir`, which is made if need be. The name is `stem`, or `stem.1`, `stem.2` …
///
/// # Errors
/// Those of the file system; each names the path.
pub fn create(dir: &Path, stem: &str) -> io::Result<(File, PathBuf)> {
    place(dir, stem, |path| {
        OpenOptions::new().write(true).create_new(true).open(path)
    })
}

/// Keeps a file in `dir` under a name made of `stem`: links it, or copies it.
///
/// # Errors
/// Those of the file system.
pub fn keep_file(dir: &Path, stem: &str, file: &Path) -> io::Result<PathBuf> {
    let linked = place(dir, stem, |path| fs::hard_link(file, path));
    if let Ok(((), path)) = linked {
        return Ok(path);
    }
    keep_reader(dir, stem, &mut File::open(file)?)
}

/// Keeps all that `reader` still gives.
///
/// # Errors
/// Those of the file system.
pub fn keep_reader(dir: &Path, stem: &str, reader: &mut dyn io::Read) -> io::Result<PathBuf> {
    let (mut copy, path) = create(dir, stem)?;
    io::copy(reader, &mut copy)?;
    copy.sync_all()?;
    Ok(path)
}

/// Moves a file that is already in the news directory to `dir`.
///
/// # Errors
/// Those of the file system.
pub fn move_file(dir: &Path, stem: &str, file: &Path) -> io::Result<PathBuf> {
    // Linked, not renamed: a rename would put it in the place of another kept batch.
    let ((), path) = place(dir, stem, |path| fs::hard_link(file, path))?;
    // A power cut must not leave it without a name.
    sync_place(&path)?;
    fs::remove_file(file)?;
    Ok(path)
}

/// Returns when the name of a kept file is on the disk, so that another name of it may go.
///
/// # Errors
/// Those of the file system.
pub fn sync_place(kept: &Path) -> io::Result<()> {
    match kept.parent() {
        Some(dir) => File::open(dir)?.sync_all(),
        None => Ok(()),
    }
}

fn place<T>(
    dir: &Path,
    stem: &str,
    put: impl Fn(&Path) -> io::Result<T>,
) -> io::Result<(T, PathBuf)> {
    fs::create_dir_all(dir)?;
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
        format!("{} holds too many batches; look at them", dir.display()),
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
        let first = keep_file(&bad, "7.batch", &batch).unwrap();
        let second = keep_reader(&bad, "7.batch", &mut &b"two"[..]).unwrap();
        assert_eq!(first, bad.join("7.batch"));
        assert_eq!(second, bad.join("7.batch.1"));
        assert_eq!(fs::read(first).unwrap(), b"one");
        assert_eq!(fs::read(second).unwrap(), b"two");
        assert!(batch.exists());
    }

    #[test]
    fn moving_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("nspool.1");
        fs::write(&file, "one").unwrap();
        let kept = move_file(&dir.path().join(BAD), "7", &file).unwrap();
        assert!(!file.exists());
        assert_eq!(fs::read(kept).unwrap(), b"one");
    }
}
