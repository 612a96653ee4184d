//! The overview of each group, in the file `.overview` of its directory, as newsreaders of C News and INN read it: a line for each article,
//! `number TAB subject TAB from TAB date TAB id TAB references TAB bytes TAB lines TAB Xref: ...`, ascending by number.
//!
//! Lines are appended before the sync of their articles, and removed before the files of theirs, if there is room: what a kill interrupts is
//! done again. A line that is there already is not appended again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;

use article::decimal;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, renameat, statat, unlinkat};
use store::{HistoryLine, Record, Snapshot};

use super::directories::{Directories, Directory};
use super::path_of;
use crate::error::Error;

/// The file's name.
pub const FILE: &str = ".overview";
/// A new file before it has its name.
const FRESH: &str = ".overview.new";

/// The end of a file that is read to find its last line, bytes. A longer line costs reading the whole file.
const TAIL_BYTES: u64 = 4096;

/// The lines of the articles that were written since the last sync, by group.
#[derive(Debug, Default)]
pub struct Overview {
    lines: BTreeMap<Vec<u8>, Vec<u8>>,
    row: Vec<u8>,
}

impl Overview {
    /// Adds the line of an article under each of its links.
    pub fn add<'l>(
        &mut self,
        record: &Record<'_>,
        line: &HistoryLine<'_>,
        links: impl Iterator<Item = (&'l [u8], u64)>,
    ) {
        self.row.clear();
        if !store::push_row_of(&mut self.row, record, line.id) {
            return;
        }
        for (group, number) in links {
            if !self.lines.contains_key(group) {
                self.lines.insert(group.to_vec(), Vec::new());
            }
            if let Some(lines) = self.lines.get_mut(group) {
                decimal::push(lines, number);
                push_line(lines, &self.row);
            }
        }
    }

    /// Writes the lines into their files.
    pub fn write(&mut self, directories: &mut Directories) -> Result<(), Error> {
        for (group, lines) in std::mem::take(&mut self.lines) {
            let directory = directories.made(&group)?;
            append(&directory, &lines).map_err(error("write", directories, &group))?;
        }
        Ok(())
    }
}

/// Removes the lines of these numbers, and of others that have no file. A disk without room for a second file has the old one changed
/// in its place: a run that is killed then finds the beginning of the new one, and writes all lines again.
pub fn remove(
    directories: &Directories,
    (directory, group): (&Directory, &[u8]),
    numbers: &BTreeSet<u64>,
    snapshot: &Snapshot,
) -> Result<(), Error> {
    let named = numbers_in(directory).map_err(error("read", directories, group))?;
    let kept: BTreeSet<u64> = named.difference(numbers).copied().collect();
    let opened = open(directory, OFlags::RDWR).map_err(error("read", directories, group))?;
    let Some(file) = opened.filter(|_| !is_unfinished(directory)) else {
        let kept: Vec<u64> = kept.into_iter().collect();
        return rewrite(directories, (directory, group), &kept, snapshot);
    };
    let is_kept = |number| kept.contains(&number);
    let merged = merge(directory, &file, BTreeMap::new(), is_kept);
    let removed = match merged {
        Err(error) if is_full(&error) => shorten(directory, &file, is_kept),
        merged => merged,
    };
    removed.map_err(error("write", directories, group))
}

/// Whether a run that was killed, or had no room, left the beginning of a new file.
pub fn is_unfinished(directory: &Directory) -> bool {
    statat(directory, FRESH, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

/// Whether there is no room on the disk.
pub fn is_full(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
}

/// The numbers that are names in a directory.
fn numbers_in(directory: &Directory) -> std::io::Result<BTreeSet<u64>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = openat(directory, ".", flags, Mode::empty())?;
    let mut numbers = BTreeSet::new();
    for entry in Dir::new(opened)? {
        numbers.extend(decimal::parse(entry?.file_name().to_bytes()));
    }
    Ok(numbers)
}

/// Writes the file anew with the lines of these numbers, which ascend.
pub fn rewrite(
    directories: &Directories,
    (directory, group): (&Directory, &[u8]),
    numbers: &[u64],
    snapshot: &Snapshot,
) -> Result<(), Error> {
    let range = match (numbers.first(), numbers.last()) {
        (Some(first), Some(last)) => (*first, *last),
        _ => {
            remove_file(directory);
            return Ok(());
        }
    };
    let mut read = Ok(());
    let written = replace(directory, |out| {
        // An error of this file is no error of the store.
        let mut failed = None;
        read = snapshot.overview(group, range, |row| {
            if numbers.binary_search(&row.number).is_err() {
                return Ok(());
            }
            let line = row.text.strip_suffix(b"\r\n").unwrap_or(row.text);
            let written = out.write_all(line).and_then(|()| out.write_all(b"\n"));
            written.map_err(|error| {
                let kind = error.kind();
                failed = Some(error);
                kind.into()
            })
        });
        match failed {
            Some(error) => {
                read = Ok(());
                Err(error)
            }
            None if read.is_err() => Err(ErrorKind::Other.into()),
            None => Ok(()),
        }
    });
    read?;
    written.map_err(error("write", directories, group))
}

/// Removes the file, and what a failed or killed run left of a new one.
pub fn remove_file(directory: &Directory) {
    for name in [FILE, FRESH] {
        let _ = unlinkat(directory, name, AtFlags::empty());
    }
}

fn error(
    doing: &'static str,
    directories: &Directories,
    group: &[u8],
) -> impl FnOnce(std::io::Error) -> Error + use<> {
    let path = path_of(&directories.path(), group).join(FILE);
    move |source| Error::Io {
        doing,
        path,
        source,
    }
}

/// Appends a row, which ends with CRLF, as a line.
fn push_line(lines: &mut Vec<u8>, row: &[u8]) {
    lines.extend_from_slice(row.strip_suffix(b"\r\n").unwrap_or(row));
    lines.push(b'\n');
}

/// The whole lines of a text with their numbers. Others are left out.
fn lines(text: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let lines = text.split_inclusive(|&byte| byte == b'\n');
    lines.filter_map(|line| {
        let tab = memchr::memchr(b'\t', line)?;
        let number = decimal::parse(line.get(..tab)?)?;
        line.ends_with(b"\n").then_some((number, line))
    })
}

/// Appends lines, or merges them with those that are there if some are.
fn append(directory: &Directory, added: &[u8]) -> std::io::Result<()> {
    let Some(mut file) = open(directory, OFlags::RDWR | OFlags::CREATE)? else {
        return Ok(());
    };
    let length = file.seek(SeekFrom::End(0))?;
    let first = lines(added).next().map_or(0, |(number, _)| number);
    if length == 0 || last_number(&mut file, length)?.is_some_and(|last| last < first) {
        file.seek(SeekFrom::Start(length))?;
        return file.write_all(added);
    }
    file.seek(SeekFrom::Start(0))?;
    merge(directory, &file, lines(added).collect(), |_| true)
}

/// Writes the file anew: with added lines, ascending, in place of those of the same numbers, and of the old lines those that are kept. What
/// is not a whole line is left out.
fn merge(
    directory: &Directory,
    file: &File,
    mut added: BTreeMap<u64, &[u8]>,
    is_kept: impl Fn(u64) -> bool,
) -> std::io::Result<()> {
    replace(directory, |out| {
        let mut old = BufReader::new(file);
        let mut line = Vec::new();
        while old.read_until(b'\n', &mut line)? > 0 {
            if let Some((number, line)) = lines(&line).next() {
                while let Some(first) = added.first_entry().filter(|first| *first.key() < number) {
                    out.write_all(first.remove())?;
                }
                let line = added.remove(&number).unwrap_or(line);
                if is_kept(number) {
                    out.write_all(line)?;
                }
            }
            line.clear();
        }
        added.into_values().try_for_each(|line| out.write_all(line))
    })
}

/// Moves the lines that are kept to the front of the file, which needs no room.
fn shorten(
    directory: &Directory,
    mut file: &File,
    is_kept: impl Fn(u64) -> bool,
) -> std::io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    let mut old = BufReader::new(file);
    let mut line = Vec::new();
    let mut end = 0;
    while old.read_until(b'\n', &mut line)? > 0 {
        if lines(&line)
            .next()
            .is_some_and(|(number, _)| is_kept(number))
        {
            // What is read next lies behind.
            file.write_all_at(&line, end)?;
            end += line.len() as u64;
        }
        line.clear();
    }
    file.set_len(end)?;
    let _ = unlinkat(directory, FRESH, AtFlags::empty());
    Ok(())
}

/// The number in the last line; `None` if the file does not end with a whole line, or it is too long.
fn last_number(file: &mut File, length: u64) -> std::io::Result<Option<u64>> {
    let start = length.saturating_sub(TAIL_BYTES);
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.read_to_end(&mut tail)?;
    let before = tail.strip_suffix(b"\n").unwrap_or_default();
    let line = match memchr::memrchr(b'\n', before) {
        Some(newline) => before.get(newline + 1..),
        None if start == 0 => Some(before),
        None => None,
    };
    let number = line.and_then(|line| line.split(|&byte| byte == b'\t').next());
    Ok(number.and_then(decimal::parse))
}

fn open(directory: &Directory, flags: OFlags) -> std::io::Result<Option<File>> {
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    match openat(directory, FILE, flags, Mode::from_raw_mode(0o666)) {
        Err(rustix::io::Errno::NOENT) if !flags.contains(OFlags::CREATE) => Ok(None),
        opened => Ok(Some(File::from(opened?))),
    }
}

/// Writes a file that takes the place of the old one: a reader sees one or the other. After an error its name stays, and takes no room.
fn replace(
    directory: &Directory,
    write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW;
    let mode = Mode::from_raw_mode(0o666);
    let descriptor = openat(directory, FRESH, flags | OFlags::CLOEXEC, mode)?;
    let mut out = BufWriter::new(File::from(descriptor));
    let written = write(&mut out).and_then(|()| out.flush());
    let (file, _) = out.into_parts();
    if written.is_err() {
        let _ = file.set_len(0);
    }
    written?;
    Ok(renameat(directory, FRESH, directory, FILE)?)
}
