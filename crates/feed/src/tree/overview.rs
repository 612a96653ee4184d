//! The overview of each group, in the file `.overview` of its directory, as newsreaders of C News and INN read it: a line for each article,
//! `number TAB subject TAB from TAB date TAB id TAB references TAB bytes TAB lines TAB Xref: ...`, ascending by number.
//!
//! Lines are appended before the sync of their articles, and removed before the files of theirs: what a kill interrupts is done again. A
//! line that is there already is not appended again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};

use article::decimal;
use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, renameat, unlinkat};
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

/// Removes the lines of these numbers. On a disk without room for a second file the old one is removed first, or the files of the articles
/// would never be: a run that is killed then finds them without an overview, and writes it again.
pub fn remove(
    directories: &Directories,
    (directory, group): (&Directory, &[u8]),
    numbers: &BTreeSet<u64>,
    snapshot: &Snapshot,
) -> Result<(), Error> {
    let removed = match open(directory, OFlags::RDONLY) {
        Ok(Some(file)) => merge(directory, file, BTreeMap::new(), numbers),
        Ok(None) => Err(ErrorKind::StorageFull.into()),
        Err(error) => Err(error),
    };
    match removed {
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded
            ) =>
        {
            remove_file(directory);
        }
        removed => return removed.map_err(error("write", directories, group)),
    }
    let kept = numbers_in(directory).map_err(error("read", directories, group))?;
    let kept: Vec<u64> = kept.difference(numbers).copied().collect();
    if kept.is_empty() {
        return Ok(());
    }
    rewrite(directories, (directory, group), &kept, snapshot)
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
    let at = |source| error("write", directories, group)(source);
    let mut fresh = Fresh::new(directory).map_err(at)?;
    if let (Some(first), Some(last)) = (numbers.first(), numbers.last()) {
        let range = (*first, *last);
        snapshot.overview(group, range, |row| {
            match numbers.binary_search(&row.number) {
                Ok(_) => {
                    fresh
                        .out
                        .write_all(row.text.strip_suffix(b"\r\n").unwrap_or(row.text))?;
                    fresh.out.write_all(b"\n")
                }
                Err(_) => Ok(()),
            }
        })?;
    }
    fresh.finish().map_err(at)
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
    merge(directory, file, lines(added).collect(), &BTreeSet::new())
}

/// Writes the file anew: with added lines, ascending, in place of those of the same numbers, and without the removed numbers. What is not
/// a whole line is left out.
fn merge(
    directory: &Directory,
    file: File,
    mut added: BTreeMap<u64, &[u8]>,
    removed: &BTreeSet<u64>,
) -> std::io::Result<()> {
    let mut fresh = Fresh::new(directory)?;
    let mut old = BufReader::new(file);
    let mut line = Vec::new();
    while old.read_until(b'\n', &mut line)? > 0 {
        if let Some((number, line)) = lines(&line).next() {
            while let Some(first) = added.first_entry().filter(|first| *first.key() < number) {
                fresh.out.write_all(first.remove())?;
            }
            let line = added.remove(&number).unwrap_or(line);
            if !removed.contains(&number) {
                fresh.out.write_all(line)?;
            }
        }
        line.clear();
    }
    for line in added.into_values() {
        fresh.out.write_all(line)?;
    }
    fresh.finish()
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

/// A file that takes the place of the old one: a reader sees one or the other.
struct Fresh<'a> {
    directory: &'a Directory,
    out: BufWriter<File>,
}

impl Fresh<'_> {
    fn new(directory: &Directory) -> std::io::Result<Fresh<'_>> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW;
        let mode = Mode::from_raw_mode(0o666);
        let descriptor = openat(directory, FRESH, flags | OFlags::CLOEXEC, mode)?;
        Ok(Fresh {
            directory,
            out: BufWriter::new(File::from(descriptor)),
        })
    }

    fn finish(mut self) -> std::io::Result<()> {
        self.out.flush()?;
        Ok(renameat(self.directory, FRESH, self.directory, FILE)?)
    }
}
