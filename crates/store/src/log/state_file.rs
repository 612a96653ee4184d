//! A small state that the log tells, and the text file that holds it: derived, appended to at each commit without a sync, and made
//! again from the log where that is surer.
//!
//! A record of the state's kind is lines to be applied; one that begins with `=` replaces all that was before. Each segment begins
//! with such a copy, so the newest segment tells everything.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Error;
use crate::io::disk::Open;
use crate::io::replace::{read_whole, replace};
use crate::log::record::Kind;
use crate::log::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::log::segments::{SegmentFile, Segments};
use crate::log::walk::{Step, Walk};

/// The line with which a whole copy begins.
pub const WHOLE_COPY: &[u8] = b"=\n";

/// What is folded. Applying all lines in their order to an empty state gives the state.
pub trait LogState: Default + PartialEq {
    /// The kind of its records.
    const KIND: Kind;
    /// The file in the news directory.
    const FILE: &'static str;
    /// A file that has grown to this many bytes is written anew.
    const FILE_BYTES_MAX: u64;

    /// Applies one line without its newline; false when it changes nothing.
    fn apply_line(&mut self, line: &[u8]) -> bool;

    /// Appends everything as lines, of the newest as much as fits into so many bytes.
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

    /// The record of a whole copy, so many bytes at most.
    fn copy(&self, bytes_max: usize) -> Vec<u8> {
        let mut text = WHOLE_COPY.to_vec();
        self.push_lines(&mut text, bytes_max.saturating_sub(WHOLE_COPY.len()));
        text
    }
}

/// The state of the one writer: read when first needed.
#[derive(Debug)]
pub struct StateFile<S> {
    segments: Segments,
    dir: PathBuf,
    state: OnceLock<S>,
    /// Lines that the file lacks.
    waiting: Vec<u8>,
    /// The file does not hold what the state says, other than by the lines that wait.
    is_stale: AtomicBool,
    /// A record of it was replayed: whether the file has it is not known.
    is_doubted: bool,
    /// Perhaps only the system has what was written to it, be it by this program or by the one before.
    is_unsynced: bool,
}

impl<S: LogState> StateFile<S> {
    /// Of a news directory; nothing is read yet.
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

    /// The state; where the file is missing, from the log.
    pub fn state(&self) -> Result<&S, Error> {
        if let Some(state) = self.state.get() {
            return Ok(state);
        }
        let state = match read_whole(&**self.segments.disk(), &self.path())? {
            Some(text) => {
                // What a power cut tore is no line; what follows must not be added to it.
                let is_torn = !text.is_empty() && !text.ends_with(b"\n");
                self.is_stale.fetch_or(is_torn, Ordering::Relaxed);
                of_text(&text)
            }
            None => {
                self.is_stale.store(true, Ordering::Relaxed);
                fold(&self.segments, &self.dir)?
            }
        };
        Ok(self.state.get_or_init(|| state))
    }

    /// Makes the file if there is none, so that lines can be added to it. To be called before they are logged: after an error here
    /// nothing is.
    pub fn prepare(&mut self) -> Result<(), Error> {
        self.state()?;
        match self.waiting.is_empty() {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Applies lines that are being logged.
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

    /// A record of this kind is being replayed.
    pub fn replay(&mut self, kind: Kind) {
        self.is_doubted |= kind == S::KIND;
    }

    /// Makes it again from the log if records of it were replayed. The log is whole by now.
    pub fn finish_replay(&mut self, is_anew: bool) -> Result<(), Error> {
        match is_anew || self.is_doubted {
            true => self.fold_again(),
            false => Ok(()),
        }
    }

    /// Makes it again from the log; without a file that is done when it is needed.
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

    /// True when the file holds what the log tells, as it is read through `segments`.
    pub fn agrees(&self, segments: &Segments) -> Result<bool, Error> {
        Ok(*self.state()? == fold(segments, &self.dir)?)
    }

    /// Writes what the file lacks: at its end, without a sync; or the whole file anew, durably, where there was none, it is not to be
    /// believed, or it has grown too long.
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

    /// Waits until what was written is on the disk.
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

/// Folds the state from the log: from the last segment that begins with a whole copy. Segments of older releases have no such
/// records: what the file says was true when the first segment behind them began.
fn fold<S: LogState>(segments: &Segments, dir: &Path) -> Result<S, Error> {
    let bases = segments.bases()?;
    let mut state = S::default();
    let mut from = 0;
    for (place, &base) in bases.iter().enumerate().rev() {
        match beginning(segments, base, S::KIND)? {
            Beginning::Copy => {
                from = place;
                break;
            }
            Beginning::OlderRelease => {
                let text = read_whole(&**segments.disk(), &dir.join(S::FILE))?;
                state = of_text(&text.unwrap_or_default());
                from = place + 1;
                break;
            }
            Beginning::Other => {}
        }
    }
    for &base in bases.get(from..).unwrap_or_default() {
        segments.each_record(base, |_, record| {
            if record.head.kind == S::KIND {
                state.apply(record.line());
            }
        })?;
    }
    Ok(state)
}

/// What a segment begins with.
enum Beginning {
    /// A whole copy of the state among those of other states.
    Copy,
    /// Nothing of the kind: it was begun by a release that did not log such states.
    OlderRelease,
    /// No copy, for its beginning was cut short, or it is the first segment.
    Other,
}

fn beginning(segments: &Segments, base: u64, kind: Kind) -> Result<Beginning, Error> {
    let path = segments.path(base, SegmentFile::Art);
    let at = |source| Error::io("read", &path, source);
    let file = segments
        .open(base, SegmentFile::Art, Open::Read)
        .map_err(at)?;
    // Of a damaged header nothing is known; fsck tells.
    if SegmentHeader::read(&*file, &path).is_ok_and(|header| !header.logs_states) {
        return Ok(Beginning::OlderRelease);
    }
    let mut walk = Walk::new(&*file, SEGMENT_HEADER_BYTES, u64::MAX).map_err(at)?;
    while let Some(Step::Record(_, record)) = walk.next().map_err(at)? {
        match record.head.kind {
            found if found == kind && record.line().starts_with(WHOLE_COPY) => {
                return Ok(Beginning::Copy);
            }
            other if other.is_state() => {}
            _ => break,
        }
    }
    Ok(Beginning::Other)
}
