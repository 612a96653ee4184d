//! The file `.broadsheet` at the top of a tree: which feed of which news directory writes the tree, and what it has taken over.
//!
//! A directory with other files and without this one is refused, and so is the tree of another feed. docs/formats/feeds.md has the form.

use std::path::Path;

use article::decimal;
use groups::shown;
use store::Removals;
use store::disk::RealDisk;

use crate::error::Error;

/// The file's name.
pub const FILE: &str = ".broadsheet";

const MAGIC: &[u8] = b"BStree1";

/// The directory that `mkfs` makes in an empty file system.
const OF_FILE_SYSTEM: &str = "lost+found";

const OVERVIEW: &[u8] = b"overview ";
const YES: &[u8] = b"yes";
const REMOVED: &[u8] = b"removed ";
const KEPT: &[u8] = b"kept ";

/// The owner of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The name of the feed.
    pub feed: Vec<u8>,
    /// The absolute path of the news directory.
    pub news: Vec<u8>,
}

impl Owner {
    fn text(&self) -> Vec<u8> {
        let lines: [&[u8]; 6] = [MAGIC, b"\nfeed ", &self.feed, b"\nnews ", &self.news, b"\n"];
        lines.concat()
    }

    fn parse<'t>(lines: &mut impl Iterator<Item = &'t [u8]>) -> Option<Owner> {
        let mut value = |key: &[u8]| Some(lines.next()?.strip_prefix(key)?.to_vec());
        value(MAGIC)?;
        Some(Owner {
            feed: value(b"feed ")?,
            news: value(b"news ")?,
        })
    }

    fn shown(&self) -> String {
        format!("feed {} of {}", shown(&self.feed), shown(&self.news))
    }
}

/// What the tree has taken over of the news directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The files of articles removed until then are gone.
    pub removals: Removals,
    /// Whether each group has its overview.
    pub has_overview: bool,
    /// Number of files of lost articles that were reported.
    pub kept: u64,
}

impl Known {
    fn text(&self) -> Vec<u8> {
        let Known {
            removals,
            has_overview,
            kept,
        } = self;
        let (last, position) = removals.last_cancel;
        let mut text = OVERVIEW.to_vec();
        text.extend_from_slice(if *has_overview { YES } else { b"no" });
        text.push(b'\n');
        text.extend_from_slice(REMOVED.trim_ascii());
        let cancels = [removals.cancels_end, last, position];
        for number in removals.expired.into_iter().chain(cancels) {
            text.push(b' ');
            decimal::push(&mut text, number);
        }
        text.push(b'\n');
        if *kept > 0 {
            text.extend_from_slice(KEPT);
            decimal::push(&mut text, *kept);
            text.push(b'\n');
        }
        text
    }

    fn parse<'t>(lines: &mut impl Iterator<Item = &'t [u8]>) -> Option<Known> {
        let has_overview = lines.next()?.strip_prefix(OVERVIEW)? == YES;
        let words = lines.next()?.strip_prefix(REMOVED)?;
        let mut words = words.split(|&byte| byte == b' ');
        let mut number = || decimal::parse(words.next()?);
        let removals = Removals {
            expired: [number()?, number()?, number()?],
            cancels_end: number()?,
            last_cancel: (number()?, number()?),
        };
        let kept = lines.next().and_then(|line| line.strip_prefix(KEPT));
        Some(Known {
            removals,
            has_overview,
            kept: kept.and_then(decimal::parse).unwrap_or(0),
        })
    }
}

/// Checks that the tree belongs to this feed; begins a new one in a directory that is empty or does not exist. `is_begun`: the feed has
/// delivered articles before. Returns what the tree has taken over; `None` if it must be compared
/// with the articles.
pub fn check(tree: &Path, owner: &Owner, is_begun: bool) -> Result<Option<Known>, Error> {
    let fault = |what| {
        let path = tree.to_owned();
        Err(Error::Tree { path, what })
    };
    let us = owner.shown();
    match store::read_whole(&RealDisk, &tree.join(FILE))? {
        Some(text) => {
            let mut lines = text.split(|&byte| byte == b'\n');
            match Owner::parse(&mut lines) {
                Some(found) if found == *owner => Ok(Known::parse(&mut lines)),
                Some(found) => fault(format!(
                    "{FILE} there says that it is the tree of {}, not of {us}; correct that file if the feed or the news directory has a new name",
                    found.shown()
                )),
                None => fault(format!(
                    "{FILE} there is damaged; if this is the tree of {us}, remove the file and its articles, and use `broadsheet feed reset'"
                )),
            }
        }
        None if is_begun => fault(format!(
            "the articles delivered before are not there: is its disk mounted? To begin the tree of {us}, again or because `via' was another way before, use `broadsheet feed reset'"
        )),
        None => begin(tree, owner).map(|()| None),
    }
}

/// Writes what the tree knows.
pub fn write(tree: &Path, owner: &Owner, known: &Known) -> Result<(), Error> {
    let text = [owner.text(), known.text()].concat();
    store::replace(&RealDisk, &tree.join(FILE), |file| file.write_at(&text, 0))?;
    Ok(())
}

fn begin(tree: &Path, owner: &Owner) -> Result<(), Error> {
    store::make_directories(tree, 0o777).map_err(Error::io("make", tree))?;
    let entries = std::fs::read_dir(tree).map_err(Error::io("read", tree))?;
    for entry in entries {
        let name = entry.map_err(Error::io("read", tree))?.file_name();
        // What a killed run left of the marker is not foreign.
        if name != OF_FILE_SYSTEM && !name.as_encoded_bytes().starts_with(FILE.as_bytes()) {
            return Err(Error::Tree {
                path: tree.to_owned(),
                what: format!(
                    "it has other files, such as {}: a tree begins in an empty directory",
                    name.display()
                ),
            });
        }
    }
    let text = owner.text();
    store::replace(&RealDisk, &tree.join(FILE), |file| file.write_at(&text, 0))?;
    Ok(())
}
