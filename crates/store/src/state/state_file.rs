//! A small state that the log contains, and the text file derived from it: each commit appends to the file without a sync, and the log
//! restores it after damage and in doubt.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Error;
use crate::io::disk::Open;
use crate::io::replace::{read_whole, replace};
use crate::log::record::Kind;
use crate::log::segments::Segments;
use crate::report::Report;
use crate::state::fold::{WHOLE_COPY, each_text};

/// A state that is a fold over lines: all lines, applied in their order to an empty state, give the state.
pub trait LogState: Default + PartialEq {
    /// The kind of its records.
    const KIND: Kind;
    /// The file in the news directory.
    const FILE: &'static str;
    /// Length at which the file is rewritten, bytes.
    const FILE_BYTES_MAX: u64;

    /// Applies one line without its newline. Returns false if it changes nothing.
    fn apply_line(&mut self, line: &[u8]) -> bool;

    /// Appends the state as lines; if they would have more than `bytes_max` bytes, the newest that fit.
    fn push_lines(&self, out: &mut Vec<u8>, bytes_max: usize);

    /// Applies the text of a record.
    fn apply(&mut self, text: &[u8]) {
        if text.starts_with(WHOLE_COPY) {
            *self = Self::default();
        }
        for line in text.split(|&byte| byte == b'\n') {
            self.apply_line(line);
        }
    }

    /// The text of a whole copy, at most `bytes_max` bytes.
    fn copy(&self, bytes_max: usize) -> Vec<u8> {
        let mut text = WHOLE_COPY.to_vec();
        self.push_lines(&mut text, bytes_max.saturating_sub(WHOLE_COPY.len()));
        text
    }
}

/// The state of the one writer, and its file. The first use reads the file.
#[derive(Debug)]
pub struct StateFile<S> {
    segments: Segments,
    dir: PathBuf,
    state: OnceLock<S>,
    /// Lines that the next flush appends.
    waiting: Vec<u8>,
    /// The file differs from the state, apart from the waiting lines: the next flush rewrites it.
    is_stale: AtomicBool,
    /// A record was replayed, and the file may lack it.
    is_doubted: bool,
    /// The file may have bytes that are not on the disk, written by this program or an earlier one.
    is_unsynced: bool,
}

impl<S: LogState> StateFile<S> {
    /// The state of a news directory. Reads nothing yet.
    pub fn new(segments: &Segments, dir: &Path) -> StateFile<S> {
        StateFile {
            segments: segments.clone(),
            dir: dir.to_owned(),
            state: OnceLock::new(),
            waiting: Vec::new(),
            is_stale: AtomicBool::new(false),
            is_doubted: false,
            is_unsynced: true,
        }
    }

    fn path(&self) -> PathBuf {
        self.dir.join(S::FILE)
    }

    /// The state: of the file, or of the log if the file is missing or unreadable.
    pub fn state(&self) -> Result<&S, Error> {
        if let Some(state) = self.state.get() {
            return Ok(state);
        }
        let state = match read_whole(&**self.segments.disk(), &self.path()) {
            Ok(Some(text)) => {
                // A power cut tore the last line, and nothing may be appended to it.
                let is_torn = !text.is_empty() && !text.ends_with(b"\n");
                self.is_stale.fetch_or(is_torn, Ordering::Relaxed);
                of_text(&text)
            }
            _ => {
                self.is_stale.store(true, Ordering::Relaxed);
                fold(&self.segments, &self.dir)?
            }
        };
        Ok(self.state.get_or_init(|| state))
    }

    /// Creates a missing file, before lines are logged: an error here leaves nothing in the log.
    pub fn prepare(&mut self) -> Result<(), Error> {
        self.state()?;
        match self.waiting.is_empty() {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Applies the text of a record that is being logged.
    pub fn add(&mut self, text: &[u8]) -> Result<(), Error> {
        self.state()?;
        if let Some(state) = self.state.get_mut() {
            state.apply(text);
        }
        if text.starts_with(WHOLE_COPY) {
            self.is_stale.store(true, Ordering::Relaxed);
        } else {
            self.waiting.extend_from_slice(text);
        }
        Ok(())
    }

    /// A whole copy of at most `bytes_max` bytes, for a record. The state drops lines that do not fit.
    pub fn copy(&mut self, bytes_max: usize) -> Result<Vec<u8>, Error> {
        let state = self.state()?;
        let mut copy = state.copy(usize::MAX);
        if copy.len() > bytes_max {
            copy = state.copy(bytes_max);
            self.add(&copy)?;
        }
        Ok(copy)
    }

    /// Notes that a record of this kind was replayed.
    pub fn replay(&mut self, kind: Kind) {
        self.is_doubted |= kind == S::KIND;
    }

    /// Restores the state from the log if records of it were replayed. The log is whole by now.
    pub fn finish_replay(&mut self) -> Result<(), Error> {
        match self.is_doubted {
            true => self.fold_again(),
            false => Ok(()),
        }
    }

    /// Restores the state from the log; without a file, at the next use.
    pub fn fold_again(&mut self) -> Result<(), Error> {
        if self.segments.disk().open(&self.path(), Open::Read).is_err() {
            self.state = OnceLock::new();
            return Ok(());
        }
        let state: S = fold(&self.segments, &self.dir)?;
        self.state = OnceLock::from(state);
        self.is_stale.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Compares the file with the log, as `segments` reads it.
    pub fn check(
        &mut self,
        segments: &Segments,
        report: &mut Report,
        repair: bool,
    ) -> Result<(), Error> {
        let known: S = fold(segments, &self.dir)?;
        let path = self.path();
        match read_whole(&**segments.disk(), &path) {
            // The next use makes it.
            Ok(None) if !repair || known == S::default() => return Ok(()),
            Ok(None) => {}
            Ok(Some(text)) if of_text::<S>(&text) == known => return Ok(()),
            _ => report.tell(&path, 0, "it does not agree with the log", repair),
        }
        if repair {
            self.state = OnceLock::from(known);
            self.is_stale.store(true, Ordering::Relaxed);
            self.flush()?;
        }
        Ok(())
    }

    /// Appends the waiting lines to the file, without a sync. Rewrites the file durably if it is missing, stale or too long.
    pub fn flush(&mut self) -> Result<(), Error> {
        let is_stale = self.is_stale.load(Ordering::Relaxed);
        if !is_stale && self.waiting.is_empty() {
            return Ok(());
        }
        let path = self.path();
        let at = |source| Error::io("write", &path, source);
        let file = match self.segments.disk().open(&path, Open::Write) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            file => Some(file.map_err(at)?),
        };
        let file = file.filter(|_| !is_stale);
        let length = match &file {
            Some(file) => file.length().map_err(at)?,
            None => u64::MAX,
        };
        match file {
            Some(file) if length.saturating_add(self.waiting.len() as u64) <= S::FILE_BYTES_MAX => {
                file.write_at(&self.waiting, length).map_err(at)?;
                self.is_unsynced = true;
            }
            _ => {
                let mut image = Vec::new();
                self.state()?.push_lines(&mut image, usize::MAX);
                replace(&**self.segments.disk(), &path, |file| {
                    file.write_at(&image, 0)
                })?;
                self.is_unsynced = false;
            }
        }
        self.waiting.clear();
        self.is_stale.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Waits until the file is on the disk.
    pub fn sync(&mut self) -> Result<(), Error> {
        if !self.is_unsynced {
            return Ok(());
        }
        let path = self.path();
        let file = self.segments.disk().open(&path, Open::Write);
        match file.and_then(|file| file.sync()) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io("sync", &path, source))
            }
            _ => {
                self.is_unsynced = false;
                Ok(())
            }
        }
    }
}

fn of_text<S: LogState>(text: &[u8]) -> S {
    let mut state = S::default();
    let end = memchr::memrchr(b'\n', text).map_or(0, |at| at + 1);
    for line in text
        .get(..end)
        .unwrap_or_default()
        .split(|&byte| byte == b'\n')
    {
        state.apply_line(line);
    }
    state
}

/// Folds the state from the log.
fn fold<S: LogState>(segments: &Segments, dir: &Path) -> Result<S, Error> {
    let mut state = S::default();
    each_text(segments, dir, S::KIND, |text| state.apply(text))?;
    Ok(state)
}
