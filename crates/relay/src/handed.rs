//! Inputs as open files: of another program, or of this one for an input that can be read only once.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::FileType;

use crate::bad_batches::{self, BAD, INCOMING, create_unnamed};
use crate::error::Error;
use crate::free_space;
use crate::input::{Handed, Input, Reread, STANDARD_INPUT, Source, wait_for};
use crate::log::Now;

/// Bytes of a pipe that are copied between two looks at the free space.
const PIECE_BYTES: u64 = 1 << 20;

impl Handed {
    /// Opens an input for another program.
    ///
    /// # Errors
    /// The input cannot be opened; the message is that of a run.
    pub fn open(input: &Input) -> Result<Handed, String> {
        if let Input::Handed(handed) = input {
            return Ok(handed.clone());
        }
        let source =
            Source::open(input, Now::read()).map_err(|(name, error)| cannot_open(&name, &error))?;
        let tail = match &source.reread {
            Reread::Path(path) => path
                .file_name()
                .map(|name| Path::new(name).display().to_string()),
            Reread::From(_) => None,
        };
        Ok(Handed {
            name: source.name,
            tail: tail.unwrap_or_else(own_tail),
            file: Arc::new(source.file),
            is_private: false,
        })
    }

    /// Saves all of it in `bad/` of the news directory `dir`. Returns the path.
    ///
    /// # Errors
    /// [`Error::NoRoom`] if less than `keep_free` bytes would stay free; or an I/O error.
    pub fn save(&self, dir: &Path, keep_free: u64) -> Result<PathBuf, Error> {
        let bad = dir.join(BAD);
        let at = |source| store::Error::io("save a batch in", &bad, source);
        let mut file = &*self.file;
        // Whoever read it moved the position.
        file.rewind().map_err(at)?;
        let bytes = file.metadata().map_err(at)?.len();
        store::make_directories(&bad, 0o777).map_err(at)?;
        free_space::check(&bad, bytes, keep_free)?;
        let stem = format!("{}.{}", Now::read().seconds, self.tail);
        let saved = bad_batches::save_reader(&bad, &stem, &mut file)
            .and_then(|path| bad_batches::sync_parent(&path).map(|()| path));
        Ok(saved.map_err(at)?)
    }
}

impl Input {
    /// Whether it can be read only once: a pipe, a terminal. Not what was [gathered](Input::gathered).
    pub fn is_flowing(&self) -> bool {
        let facts = match self {
            Input::Stdin => rustix::fs::fstat(io::stdin()),
            Input::File(path) => rustix::fs::stat(path),
            Input::Spooled(_) | Input::Handed(_) => return false,
        };
        let kind = facts.map(|facts| FileType::from_raw_mode(facts.st_mode));
        kind.is_ok_and(|kind| !kind.is_file() && !kind.is_dir())
    }

    /// Whether its sender may have no other copy: what can be read only once, and standard input (uuxqt gives a file that it removes), unless
    /// that is an empty file.
    pub fn may_be_only_copy(&self) -> bool {
        let is_filled_file = || {
            let facts = rustix::fs::fstat(io::stdin());
            facts.is_ok_and(|facts| facts.st_size > 0)
        };
        self.is_flowing() || matches!(self, Input::Stdin) && is_filled_file()
    }

    /// The same input; one that can be read only once (a pipe, a terminal) as a file without a name in `in.coming/` of the news directory
    /// `dir`, to which it is read until its end: nobody waits with a lock for a sender that pauses.
    ///
    /// # Errors
    /// It cannot be copied, or less than `keep_free` bytes of the disk would stay free; the message says so.
    pub fn gathered(self, dir: &Path, keep_free: u64) -> Result<Input, String> {
        // No directory is made for a wrong name.
        if !self.is_flowing() || !store::is_news_directory(dir) {
            return Ok(self);
        }
        let (name, from) = match &self {
            Input::Stdin => {
                let file = io::stdin().as_fd().try_clone_to_owned().map(File::from);
                (STANDARD_INPUT.to_owned(), file)
            }
            Input::File(path) => (path.display().to_string(), File::open(path)),
            Input::Spooled(_) | Input::Handed(_) => return Ok(self),
        };
        // Whoever reads it reports what cannot be opened.
        let Ok(mut from) = from else {
            return Ok(self);
        };
        let file = gather(&dir.join(INCOMING), &mut from, keep_free)
            .map_err(|error| format!("{name}: {error}; none of it was filed: send it again"))?;
        Ok(Input::Handed(Handed {
            name,
            tail: own_tail(),
            file: Arc::new(file),
            is_private: true,
        }))
    }
}

/// Copies a pipe to a file without a name.
fn gather(place: &Path, from: &mut File, keep_free: u64) -> Result<File, Error> {
    let at = |source| store::Error::io("copy a pipe to", place, source);
    let mut file = create_unnamed(place).map_err(at)?;
    loop {
        // The kernel copies the pieces.
        match io::copy(&mut Read::by_ref(from).take(PIECE_BYTES), &mut file) {
            Ok(0) => break,
            Ok(_) => {}
            // Whoever made the pipe asked not to wait for its sender; we have to.
            Err(error) if error.kind() == ErrorKind::WouldBlock => wait_for(from).map_err(at)?,
            Err(error) => return Err(at(error).into()),
        }
        free_space::check(place, 0, keep_free)?;
    }
    file.rewind().map_err(at)?;
    Ok(file)
}

/// The end of the name of a bad batch that has none of its own.
fn own_tail() -> String {
    std::process::id().to_string()
}

/// The message about an input that cannot be opened.
pub(crate) fn cannot_open(name: &str, error: &io::Error) -> String {
    format!("cannot open {name}: {error}; the others go on")
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::OwnedFd;
    use std::thread;
    use std::time::Duration;

    use rustix::fs::{OFlags, fcntl_setfl};

    use super::*;

    /// Some shells and servers make the pipes of their children so.
    #[test]
    fn a_pipe_that_does_not_wait_is_read_to_its_end() {
        let (reader, mut writer) = io::pipe().unwrap();
        fcntl_setfl(&reader, OFlags::NONBLOCK).unwrap();
        let sender = thread::spawn(move || {
            for _ in 0..3 {
                thread::sleep(Duration::from_millis(20));
                writer.write_all(b"part of a batch\n").unwrap();
            }
        });
        let place = tempfile::tempdir().unwrap();
        let mut from = File::from(OwnedFd::from(reader));
        let mut file = gather(place.path(), &mut from, 0).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        sender.join().unwrap();
        assert_eq!(text, "part of a batch\n".repeat(3));
    }
}
