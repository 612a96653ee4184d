//! Imports a system that has a history: in the order of the history, and remembers the ids of articles that are gone.
//!
//! *Invariant:* the state file says how far the history was read; everything before that is durable. A killed run continues there. Articles
//! that were filed after the last state are found in our history and passed over.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

use groups::{Active, Flag};
use store::seen_hashes;

use crate::error::Error;
use crate::gone;
use crate::hashes::Hashes;
use crate::importer::{Counts, Importer, Watch, text_of};
use crate::regular;
use crate::state::State;

pub use crate::state::STATE;

/// Lines of the history between two calls of [`Watch::progress`].
const PROGRESS_LINES: u64 = 256;

/// Options of an import.
#[derive(Debug, Clone, Copy)]
pub struct RunOptions {
    /// Number of pending bytes that causes a commit.
    pub commit_bytes: usize,
    /// The store.
    pub store: store::Options,
    /// Free space of the disk below which the import ends, bytes.
    pub keep_free: u64,
    /// Whether groups of the other system have articles by their marks.
    pub has_numbers: bool,
}

/// A system with a history in text.
pub trait Source {
    /// Its history.
    fn history(&self) -> &Path;

    /// Whether it can be imported without a history.
    fn may_lack_history(&self) -> bool {
        false
    }

    /// Longest line of its history, bytes; a longer one is skipped and counted.
    fn line_bytes_max(&self) -> usize;

    /// Imports the article of a line, or remembers its id. The line has no newline and is not empty.
    ///
    /// # Errors
    /// Errors that are not of one article.
    fn line(&mut self, line: &[u8], importer: &mut Importer<'_>) -> Result<(), Error>;

    /// The MD5 of the id in a line that says where an article is. `None`: another line.
    fn hash_of(&self, line: &[u8]) -> Option<[u8; 16]>;

    /// Whether the article of such a line is in the spool, or cannot be read.
    fn may_be_there(&mut self, line: &[u8]) -> bool;

    /// Imports the articles that the history does not have, after it.
    ///
    /// # Errors
    /// As [`Source::line`].
    fn rest(&mut self, _importer: &mut Importer<'_>, _commit_bytes: usize) -> Result<(), Error> {
        Ok(())
    }
}

/// Imports the articles of a system into a news directory. `active` has the groups of the other system: those that
/// are missing are added, high marks are raised to theirs, and flags that differ are reported.
///
/// # Errors
/// Errors that are not of one article.
pub fn run(
    source: &mut dyn Source,
    (dir, active): (&Path, &Active),
    options: RunOptions,
    watch: &mut dyn Watch,
) -> Result<Counts, Error> {
    let path = source.history().to_owned();
    let mut importer = Importer::open(dir, (options.store, options.keep_free), watch)?;
    let before = importer.spool().end();
    take_over_groups(&mut importer, active)?;
    if options.has_numbers {
        importer.expect_articles();
    }
    let is_cut = match regular::open(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound && source.may_lack_history() => {
            importer.continue_from(Counts::default(), Hashes::open(dir, 0)?);
            false
        }
        opened => {
            let file = opened.map_err(Error::io("read", &path))?;
            read_history(source, (dir, &path), file, options, &mut importer)?
        }
    };
    source.rest(&mut importer, options.commit_bytes)?;
    gone::list(source, &mut importer, (dir, before))?;
    finish(importer, dir, is_cut)
}

/// Adds the groups that we lack, so that cross-postings are filed in them, too; raises high marks to those of the other system, whose readers
/// have seen its numbers; and reports flags that differ.
fn take_over_groups(importer: &mut Importer<'_>, active: &Active) -> Result<(), Error> {
    let here = importer.spool().active();
    let missing = active
        .ids()
        .filter(|id| here.find(active.name(*id)).is_none());
    let missing: Vec<(&[u8], Flag<'_>)> = missing
        .map(|id| (active.name(id), active.flag(id)))
        .collect();
    importer.add_groups(&missing)?;
    let marks = active.ids().map(|id| (active.name(id), active.high(id)));
    let marks: Vec<(&[u8], u64)> = marks.collect();
    importer.spool_mut().raise_high_marks(&marks)?;
    for id in active.ids() {
        let (name, theirs) = (active.name(id), active.flag(id));
        let here = importer.spool().active();
        let Some(ours) = here.find(name).map(|found| here.flag(found)) else {
            continue;
        };
        if ours != theirs {
            let why = format!(
                "{}: its flag is {} here, and {} there: `broadsheet group set' changes it",
                text_of(name),
                word_of(ours),
                word_of(theirs)
            );
            importer.differs(&why)?;
        }
    }
    Ok(())
}

/// A flag as in active.
fn word_of(flag: Flag<'_>) -> String {
    let mut word = Vec::new();
    flag.push(&mut word);
    text_of(&word)
}

/// Reads the history on; returns whether its last line has no newline.
fn read_history(
    source: &mut dyn Source,
    (dir, path): (&Path, &Path),
    file: File,
    options: RunOptions,
    importer: &mut Importer<'_>,
) -> Result<bool, Error> {
    let at = |doing| Error::io(doing, path);
    let limit = source.line_bytes_max() as u64;
    let all = file.metadata().map_err(at("read"))?.len();
    let start = State::read(dir, path, &file)?;
    let mut reader = BufReader::with_capacity(1 << 20, file);
    reader
        .seek(SeekFrom::Start(start.offset))
        .map_err(at("read"))?;
    importer.continue_from(start.counts, Hashes::open(dir, start.hashes)?);
    let mut offset = start.offset;
    let mut is_cut = false;
    let mut line = Vec::new();
    for number in 1u64.. {
        line.clear();
        let read = Read::take(&mut reader, limit).read_until(b'\n', &mut line);
        let read = read.map_err(at("read"))?;
        if read == 0 {
            break;
        }
        let whole = match line.strip_suffix(b"\n") {
            Some(line) => line,
            None if read as u64 == limit => {
                offset += read as u64;
                offset += reader.skip_until(b'\n').map_err(at("read"))? as u64;
                importer.count_garbled();
                continue;
            }
            // The other system is still writing it, or was interrupted. A part of a line can look like a line of another meaning.
            None => {
                is_cut = true;
                break;
            }
        };
        offset += read as u64;
        if !whole.is_empty() {
            source.line(whole, importer)?;
        }
        if importer.spool().pending_bytes() >= options.commit_bytes {
            save(importer, (dir, path, reader.get_ref()), offset)?;
            importer.check_space()?;
        }
        if number.is_multiple_of(PROGRESS_LINES) {
            importer.progress(offset, all);
        }
    }
    save(importer, (dir, path, reader.get_ref()), offset)?;
    if is_cut {
        importer.count_garbled();
        importer.note(&format!(
            "{}: its last line has no newline, and was not read: let the other system finish it, or add the newline if the line is whole, then run the import again",
            path.display()
        ))?;
    }
    Ok(is_cut)
}

/// Makes everything so far durable, and then writes how far that is.
fn save(
    importer: &mut Importer<'_>,
    (dir, history, file): (&Path, &Path, &File),
    offset: u64,
) -> Result<(), Error> {
    importer.sync()?;
    let state = State {
        offset,
        hashes: importer.hashes().map_or(0, Hashes::count),
        counts: *importer.counts(),
    };
    state.write(dir, history, file)
}

/// Puts the remembered ids in force, raises the low marks, and removes the state. The low marks stay if another run may file articles below
/// them: after faults, where no article of the history was found or the history has none, and where its last line waits; and those of groups
/// without articles, if some articles of the history are gone.
fn finish(mut importer: Importer<'_>, dir: &Path, is_cut: bool) -> Result<Counts, Error> {
    if let Some(hashes) = importer.hashes() {
        let seen = hashes.seen()?;
        if !seen.is_empty() {
            seen_hashes::write(dir, seen)?;
        }
    }
    // A snapshot shows only what is committed.
    importer.sync()?;
    let counts = importer.counts();
    let is_nothing = counts.is_nothing_there() || counts.is_nothing_known();
    if counts.unfiled == 0 && !is_nothing && !is_cut {
        let snapshot = importer.spool().snapshot()?;
        let marks = snapshot.low_marks(importer.spool().active())?;
        let marks: Vec<(&[u8], u64)> = marks
            .iter()
            .filter(|mark| mark.lowest > mark.was && !(mark.is_empty && counts.gone > 0))
            .map(|mark| (mark.group.as_slice(), mark.lowest))
            .collect();
        importer.spool_mut().set_low_marks(&marks)?;
    }
    let counts = importer.finish()?;
    importer.hashes().map_or(Ok(()), Hashes::remove)?;
    let path = dir.join(STATE);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(Error::io("remove", &path)(error));
        }
        _ => {}
    }
    let synced = File::open(dir).and_then(|dir| dir.sync_all());
    synced.map_err(Error::io("sync", dir))?;
    Ok(counts)
}
