//! An archive that is itself a news directory: articles are filed there with the same numbers and arrival times,
//! in all their groups.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use article::{Article, Form, Header};
use groups::{Active, Flag};
use store::{
    Durability, Filing, HistoryLine, Options, OverviewFields, Piece, Position, Record, Spool,
};

use super::Archiving;
use super::copy_error::CopyError;

/// Creates a news directory at a path, with this `active`, and with policies that keep every article.
pub type CreateNews<'a> =
    dyn Fn(&Path, &[u8]) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + 'a;

/// The archive; opened for the first article.
pub struct NewsArchive<'a> {
    dir: PathBuf,
    options: Options,
    /// The groups of the `active` with which it is created.
    groups: Vec<Vec<u8>>,
    make: &'a CreateNews<'a>,
    notice: &'a dyn Fn(&str),
    spool: Option<Spool>,
}

impl<'a> NewsArchive<'a> {
    /// An archive at a path; if it must be created, with these groups.
    pub fn new(
        dir: PathBuf,
        options: Options,
        groups: Vec<Vec<u8>>,
        archiving: &Archiving<'a>,
    ) -> NewsArchive<'a> {
        let options = Options {
            // Many articles per commit, but the copies must be on the disk before the originals are removed.
            durability: Durability::Commit,
            patience: None,
            repair: false,
            ..options
        };
        NewsArchive {
            dir,
            options,
            groups,
            make: archiving.make,
            notice: archiving.notice,
            spool: None,
        }
    }

    /// Files a copy, which is durable after [`NewsArchive::flush`]. An article that is there already, undamaged, counts as archived; another one
    /// with the same id does not.
    pub fn copy(&mut self, record: &Record<'_>) -> Result<(), CopyError> {
        let line = HistoryLine::parse(record.line()).ok_or(CopyError::Line)?;
        let dir = self.dir.clone();
        let spool = self.open()?;
        if let Some(known) = spool.find(line.id)? {
            return match known.position {
                Some(position) => compare(spool, (position, &known), (record, &line), dir),
                None => Err(CopyError::IdKnown(dir)),
            };
        }
        let links: Vec<(&[u8], u64)> = line.links().collect();
        for (group, number) in &links {
            if is_taken(spool, group, *number)? {
                return Err(CopyError::NumberTaken {
                    path: dir,
                    group: groups::escaped(group),
                    number: *number,
                });
            }
        }
        let mut is_late = false;
        for (group, number) in &links {
            is_late |= ensure_group(spool, group, *number)?;
        }
        file(spool, record, (&line, is_late), &links)?;
        Ok(())
    }

    /// Makes all copies durable.
    pub fn flush(&mut self) -> Result<(), CopyError> {
        if let Some(spool) = &mut self.spool {
            spool.commit()?;
        }
        Ok(())
    }

    fn open(&mut self) -> Result<&mut Spool, CopyError> {
        if self.spool.is_none() {
            if !store::is_news_directory(&self.dir) {
                self.create()?;
            }
            // Also where a run that was killed made it.
            self.sync_name()?;
            if store::Lock::is_held(&self.dir) {
                (self.notice)(&format!(
                    "waiting for another program that files articles in {}",
                    self.dir.display()
                ));
            }
            self.spool = Some(Spool::open(&self.dir, self.options)?);
        }
        // Set above.
        self.spool.as_mut().ok_or(CopyError::Line)
    }

    /// Creates the directory under another name and renames it, so that a kill leaves no half of one.
    fn create(&self) -> Result<(), CopyError> {
        let mut name = std::ffi::OsString::from(".");
        name.push(self.dir.file_name().unwrap_or_default());
        name.push(".new");
        let temporary = self.dir.with_file_name(name);
        match fs::remove_dir_all(&temporary) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            removed => removed.map_err(|error| CopyError::io("remove", &temporary, error))?,
        }
        let mut active = Vec::new();
        for group in &self.groups {
            active.extend_from_slice(group);
            active.extend_from_slice(b" 0000000000 00001 n\n");
        }
        let made = (self.make)(&temporary, &active).map_err(|error| CopyError::Make {
            path: self.dir.clone(),
            error,
        });
        // The rename replaces an empty directory; it fails if there is any other.
        let renamed = made.and_then(|()| {
            fs::rename(&temporary, &self.dir)
                .map_err(|error| CopyError::io("make", &self.dir, error))
        });
        if renamed.is_err() {
            let _ = fs::remove_dir_all(&temporary);
        }
        renamed
    }

    /// Waits until the name of the directory is on the disk.
    fn sync_name(&self) -> Result<(), CopyError> {
        let parent = self.dir.parent().unwrap_or(&self.dir);
        match store::sync_directory(parent) {
            // Another user made the archive.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(()),
            synced => synced.map_err(|error| CopyError::io("sync", parent, error)),
        }
    }
}

/// Compares an article with the one that the archive has under its id at a position; reads all of that, so that damage shows. It may have come
/// there by another way and under other numbers, when its id was forgotten here.
fn compare(
    spool: &Spool,
    (position, known): (Position, &HistoryLine<'_>),
    (record, line): (&Record<'_>, &HistoryLine<'_>),
    dir: PathBuf,
) -> Result<(), CopyError> {
    let mut buffer = Vec::new();
    let is_same = match spool.record(position, &mut buffer) {
        Ok(Some(copy)) => {
            let has = |group| known.links().any(|(known, _)| known == group);
            copy.head.header_only == record.head.header_only
                && line.links().all(|(group, _)| has(group))
                && has_same_text(copy.wire_article(), record.wire_article())
        }
        Ok(None) => return Err(CopyError::IdKnown(dir)),
        // A copy that this archive made went there with a checksum. It has the same arrival and numbers.
        Err(store::Error::Offloaded(_)) => {
            if known.arrival != line.arrival || !known.links().eq(line.links()) {
                return Err(CopyError::NotCompared(dir));
            }
            true
        }
        Err(error) => return Err(error.into()),
    };
    if is_same {
        Ok(())
    } else {
        Err(CopyError::IdTaken(dir))
    }
}

/// Whether two articles in wire form differ at most in Path and Xref.
fn has_same_text(one: &[u8], other: &[u8]) -> bool {
    one == other || without_trace(one) == without_trace(other)
}

/// An article without Path and Xref.
fn without_trace(wire: &[u8]) -> Vec<u8> {
    let article = Article::parse(wire, Form::Wire);
    let path = article.line(Header::Path).into_iter();
    let mut lines: Vec<_> = path.chain(article.xref_lines()).collect();
    lines.sort_unstable_by_key(|line| line.start);
    let (mut rest, mut from) = (Vec::with_capacity(wire.len()), 0);
    for line in lines {
        rest.extend_from_slice(wire.get(from..line.start).unwrap_or_default());
        from = line.end;
    }
    rest.extend_from_slice(wire.get(from..).unwrap_or_default());
    rest
}

/// Whether an article has this number. Late articles have numbers below the high mark that are free.
fn is_taken(spool: &mut Spool, group: &[u8], number: u64) -> Result<bool, CopyError> {
    let high = spool.active().find(group).map(|id| spool.active().high(id));
    Ok(high.is_some_and(|high| number <= high) && spool.is_used(group, number)?)
}

/// Ensures that the group exists and that its high mark is at least this number; returns whether it was before. The flag is `n`: nobody
/// posts to an archive.
fn ensure_group(spool: &mut Spool, group: &[u8], number: u64) -> Result<bool, CopyError> {
    if spool.active().find(group).is_none() {
        spool.set_group(group, Flag::NoPosting)?;
    }
    let table: &mut Active = spool.active_mut();
    let Some(id) = table.find(group) else {
        return Err(CopyError::Name);
    };
    let is_late = number <= table.high(id);
    match is_late || table.set_high(id, number) {
        true => Ok(is_late),
        false => Err(CopyError::Number),
    }
}

fn file(
    spool: &mut Spool,
    record: &Record<'_>,
    (line, is_late): (&HistoryLine<'_>, bool),
    links: &[(&[u8], u64)],
) -> Result<(), CopyError> {
    let wire = record.wire_article();
    let wire = if record.head.no_final_newline {
        wire.strip_suffix(b"\r\n").unwrap_or(wire)
    } else {
        wire
    };
    let header_length = (record.head.wire_header_length as usize).min(wire.len());
    let (header, body) = wire.split_at_checked(header_length).unwrap_or((wire, b""));
    let article = Article::parse(wire, Form::Wire);
    spool.append(&Filing {
        id: line.id,
        // An unreadable arrival counts as 1970, as in C News.
        arrival: line.arrival.unwrap_or(0),
        expires: line.expires,
        is_late,
        links,
        sites: b"",
        header: &[Piece::wire(header)],
        body: Piece::wire(body),
        left_out: record.left_out(&article),
        overview: OverviewFields::of(&article, line.id),
    })?;
    Ok(())
}
