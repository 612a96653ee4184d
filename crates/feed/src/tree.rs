//! Sites with a directory tree that has a file for each article, as C News filed them: `comp/lang/c/123`, with links for cross-posts.
//!
//! | file | idea |
//! |---|---|
//! | `directories` | the directories, kept open |
//! | `files` | the file of an article, and its links |
//! | `marker` | whose tree it is, and which removals it knows |
//! | `overview` | the overview of each group |
//! | `removal` | files of articles that are gone |
//!
//! The tree has the groups that the site's `groups` names, and each article under the numbers that it has here. It is written from the
//! cursor: a batch is synced once, and then the cursor passes it. After a crash the batch in flight is written again, which finds what is
//! there already.

mod directories;
mod files;
mod marker;
mod overview;
mod removal;

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use groups::{Pattern, name};
use store::{HistoryLine, Record, Snapshot};

pub use marker::FILE as MARKER;

use crate::error::Error;
use crate::limit::Limit;
use crate::sendbatches::ArticleSource;
use directories::Directories;
use files::{Created, Name};
use marker::{Known, Owner};
use overview::Overview;
use removal::{Comparison, OverviewChange};

/// Articles that are written between two syncs.
pub const UNSYNCED_ARTICLES_MAX: u64 = 10_000;
/// Bytes that are written between two syncs.
pub const UNSYNCED_BYTES_MAX: usize = 32 << 20;
/// Directories of a tree that are kept open: fewer than the files that a process may usually open (1,024).
pub const DIRECTORIES_MAX: usize = 768;
/// Names of directories in the name cache.
pub const DIRECTORY_NAMES_MAX: usize = 2048;

/// Attempts to write an article while other programs remove its directories.
const ATTEMPTS_MAX: usize = 5;

/// The tree of a site.
#[derive(Debug)]
pub struct Tree {
    path: PathBuf,
    owner: Owner,
    groups: Pattern,
    overview: Option<Overview>,
    directories: Option<Directories>,
    /// The article that is being written, in native form.
    native: Vec<u8>,
    /// The files and links since the last sync.
    unsynced: Vec<(Box<[u8]>, u64)>,
    /// What an administrator should know of the last run.
    notice: Option<String>,
}

impl Tree {
    /// The tree in this directory for a feed of a news directory, with the groups that the pattern matches, and with or without overview.
    /// Opens nothing yet.
    ///
    /// # Errors
    /// The news directory has no absolute path.
    pub fn new(
        path: &Path,
        (feed, news): (&[u8], &Path),
        groups: Pattern,
        has_overview: bool,
    ) -> Result<Tree, Error> {
        let absolute = |path: &Path| std::path::absolute(path).map_err(Error::io("name", path));
        let news = news.canonicalize().map_err(Error::io("name", news))?;
        Ok(Tree {
            path: absolute(path)?,
            owner: Owner {
                feed: feed.to_vec(),
                news: news.into_os_string().into_vec(),
            },
            groups,
            overview: has_overview.then(Overview::default),
            directories: None,
            native: Vec::new(),
            unsynced: Vec::new(),
            notice: None,
        })
    }

    /// A notice for the administrator that the last run left: files stay whose articles the store lost. Each file is reported once.
    pub fn take_notice(&mut self) -> Option<String> {
        self.notice.take()
    }

    /// Writes all waiting articles until the feed is paused or the time is over; returns their number. `is_begun`: the feed has delivered
    /// articles before.
    ///
    /// # Errors
    /// The tree is not ours, a file is in the way, or an I/O error: the article and the later ones still wait.
    pub fn run(
        &mut self,
        source: &mut dyn ArticleSource,
        (snapshot, is_begun): (&Snapshot, bool),
        limit: &Limit,
    ) -> Result<u64, Error> {
        let known = marker::check(&self.path, &self.owner, is_begun)?;
        self.remove_gone(known, snapshot, limit)?;
        let mut written = 0;
        while !source.is_paused() && !limit.is_over() {
            let directories = self.directories()?;
            directories.begin_pass();
            let (mut articles, mut bytes) = (0, 0);
            let mut fault = None;
            let mut is_full = false;
            source.offer(&mut |record| {
                is_full = articles >= UNSYNCED_ARTICLES_MAX || bytes >= UNSYNCED_BYTES_MAX;
                if is_full {
                    return false;
                }
                match self.write(record, snapshot) {
                    Ok(size) => {
                        articles += 1;
                        bytes += size;
                    }
                    Err(error) => fault = Some(error),
                }
                fault.is_none()
            })?;
            if articles > 0 {
                self.finish()?;
            }
            // Articles for other sites are passed, too.
            source.delivered()?;
            written += articles;
            if let Some(fault) = fault {
                return Err(fault);
            }
            if !is_full {
                break;
            }
        }
        Ok(written)
    }

    /// Writes the overview of the articles that were written, and waits until all is on the disk. After a failed sync files read well that
    /// the disk does not have. They are removed, since the next run would take them for written.
    fn finish(&mut self) -> Result<(), Error> {
        let unsynced = std::mem::take(&mut self.unsynced);
        if let (Some(overview), Some(directories)) = (&mut self.overview, &mut self.directories) {
            overview.write(directories)?;
        }
        let directories = self.directories()?;
        let synced = directories.sync();
        if synced.is_err() {
            for (group, number) in unsynced {
                if let Ok(Some(directory)) = directories.found(&group) {
                    let name = decimal(number);
                    let file = Name {
                        directory: &directory,
                        name: &name,
                    };
                    // Nothing more can be done for a disk that does not do that either.
                    let _ = files::remove(file);
                }
            }
        }
        synced
    }

    /// Removes the files of articles that were removed.
    fn remove_gone(
        &mut self,
        known: Option<Known>,
        snapshot: &Snapshot,
        limit: &Limit,
    ) -> Result<(), Error> {
        let has_overview = self.overview.is_some();
        let had_overview = known.is_some_and(|known| known.has_overview);
        let reported = known.map_or(0, |known| known.kept);
        let (mut kept, mut notice) = (reported, None);
        let known = known.filter(|known| known.has_overview == has_overview);
        if known.is_some_and(|known| !snapshot.has_removals_since(&known.removals)) {
            return Ok(());
        }
        let known = known.map(|known| known.removals);
        let (removals, cancelled) = snapshot.removals(known.as_ref())?;
        let directories = self.directories()?;
        directories.begin_pass();
        if let Some(cancelled) = cancelled {
            removal::remove_articles(directories, &cancelled, has_overview, snapshot)?;
        } else {
            let change = match (has_overview, had_overview) {
                (true, true) => OverviewChange::Lines,
                (true, false) => OverviewChange::Rewrite,
                (false, _) => OverviewChange::Remove,
            };
            let compared = Comparison::new(directories, snapshot, change).run(limit)?;
            let mut buffer = Vec::new();
            for position in compared.broken {
                if let Some(record) = snapshot.record(position, &mut buffer)? {
                    self.write(&record, snapshot)?;
                }
            }
            if !compared.is_complete {
                return Ok(());
            }
            kept = compared.kept;
            let first = compared.first_kept.filter(|_| kept > reported);
            notice = first.map(|first| lost(&self.path, first, kept));
        }
        self.finish()?;
        let known = Known {
            removals,
            has_overview,
            kept,
        };
        marker::write(&self.path, &self.owner, &known)?;
        self.notice = notice.or(self.notice.take());
        Ok(())
    }

    /// The open directories; opened again where the path leads to another directory now.
    fn directories(&mut self) -> Result<&mut Directories, Error> {
        let kept = self.directories.take();
        let directories = match kept.filter(Directories::is_current) {
            Some(directories) => directories,
            None => Directories::open(&self.path)?,
        };
        Ok(self.directories.insert(directories))
    }

    /// Writes an article; returns its size, bytes.
    fn write(&mut self, record: &Record<'_>, snapshot: &Snapshot) -> Result<usize, Error> {
        let line = HistoryLine::parse(record.line()).filter(|line| snapshot.is_alive(line));
        let Some(line) = line else {
            return Ok(0);
        };
        self.native.clear();
        record.push_native(&mut self.native);
        let expired = snapshot.expired();
        let links = || {
            let links = line.links();
            links.filter(|(group, number)| {
                name::is_safe(group) && self.groups.matches(group) && expired.keeps(group, *number)
            })
        };
        let Some(directories) = &mut self.directories else {
            return Ok(0);
        };
        let mut attempts = 1;
        loop {
            match write_links(directories, links(), &self.native) {
                // Another program removed a directory meanwhile.
                Err(Error::Io { source, .. })
                    if source.kind() == std::io::ErrorKind::NotFound && attempts < ATTEMPTS_MAX =>
                {
                    directories.begin_pass();
                    attempts += 1;
                }
                Err(error) => return Err(error),
                Ok(()) => break,
            }
        }
        let files = links().map(|(group, number)| (group.into(), number));
        self.unsynced.extend(files);
        if let Some(overview) = &mut self.overview {
            overview.add(record, &line, links());
        }
        Ok(self.native.len())
    }
}

/// Creates the file of an article under its first link, and links it to the others.
fn write_links<'a>(
    directories: &mut Directories,
    mut links: impl Iterator<Item = (&'a [u8], u64)>,
    content: &[u8],
) -> Result<(), Error> {
    let Some((first_group, first_number)) = links.next() else {
        return Ok(());
    };
    let tree = directories.path();
    let directory = directories.made(first_group)?;
    let name = decimal(first_number);
    let first = Name {
        directory: &directory,
        name: &name,
    };
    let created = files::create(first, content, &tree);
    check(created, &tree, (first_group, first_number))?;
    for (group, number) in links {
        let directory = directories.made(group)?;
        let other = Name {
            directory: &directory,
            name: &decimal(number),
        };
        let path = || path_of(&tree, first_group).join(OsStr::from_bytes(&name));
        let linked = files::link((first, &path), other, (content, &tree));
        check(linked, &tree, (group, number))?;
    }
    Ok(())
}

/// The notice about files of lost articles: one of them, and the number of all.
fn lost(tree: &Path, (group, number): (Vec<u8>, u64), count: u64) -> String {
    let file = path_of(tree, &group).join(number.to_string());
    let file = file.display();
    let are = match count {
        1 => "is".to_owned(),
        count => format!("and {} more are", count - 1),
    };
    format!(
        "{file} {are} kept: the store does not have the article, and neither expire nor a cancel removed it. To file it again before expire passes its number, use `broadsheet rnews {file}'; otherwise remove the file"
    )
}

fn decimal(number: u64) -> Vec<u8> {
    let mut text = Vec::with_capacity(20);
    article::decimal::push(&mut text, number);
    text
}

fn check(
    created: rustix::io::Result<Created>,
    tree: &Path,
    (group, number): (&[u8], u64),
) -> Result<(), Error> {
    let path = || path_of(tree, group).join(number.to_string());
    let shown = || String::from_utf8_lossy(group).into_owned();
    let what = match created {
        Ok(Created::Done) => return Ok(()),
        Err(error) => return Err(Error::io("create", &path())(error.into())),
        Ok(Created::ForeignFile) => format!(
            "it is in the way of article {number} of {}, with other content: move it away",
            shown()
        ),
        Ok(Created::Directory) => format!(
            "it is a directory, in the way of article {number} of {0}: exclude {0} from this site, or exclude the group {0}.{number} and remove the directory",
            shown()
        ),
    };
    Err(Error::Tree { path: path(), what })
}

/// The path of a group's directory.
pub fn path_of(tree: &Path, group: &[u8]) -> PathBuf {
    let mut path = tree.to_owned();
    path.extend(group.split(|&byte| byte == b'.').map(OsStr::from_bytes));
    path
}
