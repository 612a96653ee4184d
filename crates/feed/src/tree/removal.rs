//! Removes the files of articles that expire or a cancel removed, and directories that became empty.
//!
//! A cancel names its article, whose files go. After a run of expire the whole tree is compared with the articles that are visible. A
//! killed comparison begins again with the next run. A file whose article was neither removed nor is visible stays: the store lost the
//! article, by damage or because it is restored from an older backup, and the file may be the last copy.

use std::collections::{BTreeMap, BTreeSet};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use rustix::io::Errno;
use store::{HistoryLine, Position, Snapshot};

use super::directories::{Directories, Directory};
use super::files::{self, Name};
use super::{UNSYNCED_ARTICLES_MAX, decimal, overview, path_of};
use crate::error::Error;
use crate::limit::Limit;

/// The change of the overview by a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverviewChange {
    /// Lines of articles that are gone are removed.
    Lines,
    /// All of it is written anew.
    Rewrite,
    /// There shall be none.
    Remove,
}

/// Removes the files of these articles, and their lines in the overview.
pub fn remove_articles(
    directories: &mut Directories,
    articles: &[HistoryLine<'_>],
    has_overview: bool,
    snapshot: &Snapshot,
) -> Result<(), Error> {
    let mut gone: BTreeMap<&[u8], BTreeSet<u64>> = BTreeMap::new();
    for (group, number) in articles.iter().flat_map(HistoryLine::links) {
        if groups::name::is_safe(group) {
            gone.entry(group).or_default().insert(number);
        }
    }
    let mut full = Ok(());
    for (group, numbers) in gone {
        if let Some(directory) = directories.found(group)? {
            let place = (&*directory, group);
            let removed = remove(directories, place, &numbers, (has_overview, snapshot));
            full = full.and(full_disk(removed)?);
        }
    }
    full
}

/// Passes on an error about a full disk as a value: removing goes on, since it makes room. Other errors end the run.
fn full_disk(done: Result<(), Error>) -> Result<Result<(), Error>, Error> {
    let is_full = |error: &Error| match error {
        Error::Io { source, .. } => overview::is_full(source),
        _ => false,
    };
    match done {
        Err(error) if !is_full(&error) => Err(error),
        done => Ok(done),
    }
}

/// Removes files, and before them their lines in the overview: a run that was killed in between finds the files again. A disk without room
/// for the overview does not keep the files.
fn remove(
    directories: &Directories,
    (directory, group): (&Directory, &[u8]),
    numbers: &BTreeSet<u64>,
    (has_lines, snapshot): (bool, &Snapshot),
) -> Result<(), Error> {
    let lines = if has_lines {
        overview::remove(directories, (directory, group), numbers, snapshot)
    } else {
        Ok(())
    };
    let lines = full_disk(lines)?;
    for number in numbers {
        let name = decimal(*number);
        let name = Name {
            directory,
            name: &name,
        };
        files::remove(name).map_err(|error| {
            let path = path_of(&directories.path(), group).join(number.to_string());
            Error::io("remove", &path)(error.into())
        })?;
    }
    lines
}

/// A comparison of the tree with the visible articles.
pub struct Comparison<'a> {
    directories: &'a mut Directories,
    snapshot: &'a Snapshot,
    change: OverviewChange,
    /// Directories to read, each after the one that has it; the names of groups, the top directory first.
    found: Vec<Vec<u8>>,
    outcome: Outcome,
    is_for_links: bool,
    has_links: bool,
    /// The first error about a full disk.
    full: Result<(), Error>,
}

/// The result of a comparison.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Visible articles to be written again: their file was under a name that was removed, and other names were symbolic links to it.
    pub broken: Vec<Position>,
    /// Number of files that stay although the store does not have their articles.
    pub kept: u64,
    /// The group and the number of one of these.
    pub first_kept: Option<(Vec<u8>, u64)>,
    /// Whether it came to its end: the time was not over, nor were too many links broken.
    pub is_complete: bool,
}

/// The entries of a directory.
#[derive(Default)]
struct Listing {
    /// Numbers of articles that are gone.
    gone: BTreeSet<u64>,
    /// Numbers of visible articles, if the overview is written anew.
    visible: Vec<u64>,
    /// Whether there is more than what is gone.
    stays: bool,
    /// Whether the lines of the overview are to be compared with the files.
    is_unfinished: bool,
}

impl<'a> Comparison<'a> {
    /// Prepares the comparison of a tree with a snapshot.
    pub fn new(
        directories: &'a mut Directories,
        snapshot: &'a Snapshot,
        change: OverviewChange,
    ) -> Comparison<'a> {
        Comparison {
            directories,
            snapshot,
            change,
            found: Vec::new(),
            outcome: Outcome::default(),
            is_for_links: false,
            has_links: false,
            full: Ok(()),
        }
    }

    /// Removes the files of articles that are not visible, and whose removal the store knows.
    pub fn run(mut self, limit: &Limit) -> Result<Outcome, Error> {
        let mut is_complete = self.walk(limit)?;
        // There is room now.
        let is_again = std::mem::replace(&mut self.full, Ok(())).is_err();
        if is_complete && (self.has_links || is_again) {
            self.is_for_links = true;
            is_complete = self.walk(limit)?;
        }
        self.full?;
        self.outcome.is_complete = is_complete;
        Ok(self.outcome)
    }

    /// Visits all directories; returns false if it stopped before the end.
    fn walk(&mut self, limit: &Limit) -> Result<bool, Error> {
        self.found = vec![Vec::new()];
        (self.outcome.kept, self.outcome.first_kept) = (0, None);
        let mut next = 0;
        let mut emptied = Vec::new();
        while let Some(group) = self.found.get(next).cloned() {
            if limit.is_over() || self.outcome.broken.len() as u64 >= UNSYNCED_ARTICLES_MAX {
                return Ok(false);
            }
            next += 1;
            if self.visit(&group)? {
                emptied.push(group);
            }
        }
        // Directories in a directory come after it.
        for group in emptied.iter().rev() {
            self.directories.remove_empty(group);
        }
        Ok(true)
    }

    /// Removes what is gone from a directory; returns whether it has nothing else.
    fn visit(&mut self, group: &[u8]) -> Result<bool, Error> {
        let directory = match group {
            b"" => Some(self.directories.top().1),
            group => self.directories.found(group)?,
        };
        let Some(directory) = directory else {
            return Ok(false);
        };
        let path = path_of(&self.directories.path(), group);
        let read = |error: Errno| Error::io("read", &path)(error.into());
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = openat(&directory, ".", flags, Mode::empty()).map_err(read)?;
        let mut listing = Listing::default();
        for entry in Dir::new(opened).map_err(read)? {
            let entry = entry.map_err(read)?;
            let name = entry.file_name().to_bytes();
            if !name.starts_with(b".") {
                self.entry((group, &directory), name, entry.file_type(), &mut listing)?;
            }
        }
        listing.is_unfinished = overview::is_unfinished(&directory);
        let group_and_directory: (&Directory, &[u8]) = (&directory, group);
        let has_lines = self.change == OverviewChange::Lines
            && (listing.is_unfinished || !listing.gone.is_empty());
        let removed = remove(
            self.directories,
            group_and_directory,
            &listing.gone,
            (has_lines, self.snapshot),
        );
        let mut full = full_disk(removed)?;
        let is_empty = !listing.stays && !group.is_empty();
        if is_empty || self.change == OverviewChange::Remove {
            overview::remove_file(&directory);
        } else if self.change == OverviewChange::Rewrite && !listing.visible.is_empty() {
            listing.visible.sort_unstable();
            let written = overview::rewrite(
                self.directories,
                group_and_directory,
                &listing.visible,
                self.snapshot,
            );
            full = full_disk(written)?;
        }
        if self.full.is_ok() {
            self.full = full;
        }
        Ok(is_empty)
    }

    fn entry(
        &mut self,
        (group, directory): (&[u8], &Directory),
        name: &[u8],
        kind: FileType,
        listing: &mut Listing,
    ) -> Result<(), Error> {
        let kind = match kind {
            FileType::Unknown => kind_of(directory, name, AtFlags::SYMLINK_NOFOLLOW),
            kind => kind,
        };
        let number = article::decimal::parse(name).filter(|number| decimal(*number) == name);
        match (kind, number) {
            (FileType::RegularFile | FileType::Symlink, Some(number))
                if self.is_used(group, number) =>
            {
                match self.snapshot.position(group, number)? {
                    None if self.is_removed((group, number), directory)? => {
                        listing.gone.insert(number);
                        return Ok(());
                    }
                    None => {
                        self.outcome.kept += 1;
                        let first = &mut self.outcome.first_kept;
                        first.get_or_insert_with(|| (group.to_vec(), number));
                        listing.stays = true;
                        return Ok(());
                    }
                    Some(position) if kind == FileType::Symlink => {
                        self.has_links = true;
                        let is_broken =
                            || kind_of(directory, name, AtFlags::empty()) == FileType::Unknown;
                        if self.is_for_links && is_broken() {
                            self.outcome.broken.push(position);
                        }
                    }
                    Some(_) => {}
                }
                if self.change == OverviewChange::Rewrite {
                    listing.visible.push(number);
                }
            }
            (FileType::Directory, _) => self.found(group, name),
            // An administrator may have moved a hierarchy to another disk.
            (FileType::Symlink, _)
                if kind_of(directory, name, AtFlags::empty()) == FileType::Directory =>
            {
                self.found(group, name);
            }
            _ => {}
        }
        listing.stays = true;
        Ok(())
    }

    /// Notes a directory that may be that of a group, or have some below it.
    fn found(&mut self, group: &[u8], name: &[u8]) {
        let child = match group {
            b"" => name.to_vec(),
            group => [group, b".", name].concat(),
        };
        if !name.contains(&b'.') && groups::name::is_safe(&child) {
            self.found.push(child);
        }
    }

    /// Whether the article of a file was removed, or is here under another number: it was filed again.
    fn is_removed(
        &self,
        (group, number): (&[u8], u64),
        directory: &Directory,
    ) -> Result<bool, Error> {
        if self.snapshot.is_removed(group, number)? {
            return Ok(true);
        }
        let name = decimal(number);
        let file = Name {
            directory,
            name: &name,
        };
        let id = match files::message_id(file) {
            Ok(Some(id)) => id,
            Ok(None) => return Ok(false),
            // A symbolic link to a file that is gone.
            Err(Errno::NOENT) => return Ok(true),
            Err(error) => {
                let path = path_of(&self.directories.path(), group).join(number.to_string());
                return Err(Error::io("read", &path)(error.into()));
            }
        };
        let line = self.snapshot.history_line(&id)?;
        Ok(line.is_some_and(|line| {
            let is_of_file = line.links().any(|link| link == (group, number));
            line.position.is_some() && !(is_of_file && self.snapshot.is_alive(&line))
        }))
    }

    /// Whether a group ever had an article of this number. A file with a higher number is not ours.
    fn is_used(&self, group: &[u8], number: u64) -> bool {
        let active = self.snapshot.active();
        let high = active.find(group).map_or(0, |id| self.snapshot.marks(id).1);
        number <= high.max(self.snapshot.expired().highest(group))
    }
}

fn kind_of(directory: &Directory, name: &[u8], flags: AtFlags) -> FileType {
    let told = statat(directory, name, flags);
    told.map_or(FileType::Unknown, |told| {
        FileType::from_raw_mode(told.st_mode)
    })
}
