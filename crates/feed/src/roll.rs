//! Sites met for the first time get their cursor, before the first article that may name them is filed.
//!
//! The file `sites.known` has the names that were enrolled, so that the usual run compares one file and looks at no directory.

use std::path::Path;

use store::{Position, Reader};

use crate::cursor::{Cursor, CursorFile};
use crate::error::Error;
use crate::place;
use crate::start::{self, Start};

/// The file's name in the news directory.
pub const FILE: &str = "sites.known";

/// A site that has, or is to have, a feed.
#[derive(Debug, Clone, Copy)]
pub struct Newcomer<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Where in the log it begins.
    pub start: Start,
}

/// Makes the cursors that are missing; gives the names of those sites. `end`: where the log ends now.
///
/// # Errors
/// The disk's, or [`Error::Name`] for a site that cannot have a directory.
pub fn enrol(news: &Path, end: Position, sites: &[Newcomer<'_>]) -> Result<Vec<Vec<u8>>, Error> {
    let mut names: Vec<&[u8]> = sites.iter().map(|site| site.name).collect();
    names.sort_unstable();
    names.dedup();
    let mut roll = names.join(&b'\n');
    roll.push(b'\n');
    let path = news.join(FILE);
    if std::fs::read(&path).is_ok_and(|known| known == roll) || names.is_empty() {
        return Ok(Vec::new());
    }
    let mut fresh = Vec::new();
    for name in names {
        let Some(site) = sites.iter().find(|site| site.name == name) else {
            continue;
        };
        if begin(news, end, site)? {
            fresh.push(name.to_vec());
        }
    }
    if !fresh.is_empty() {
        // Once for all of them, however many; a cursor that a power cut tore counts as missing while the roll does not tell of it.
        let feeds = news.join(place::FEEDS);
        let synced = std::fs::File::open(&feeds).and_then(|dir| Ok(rustix::fs::syncfs(dir)?));
        synced.map_err(Error::io("sync", &feeds))?;
    }
    store::replace(&store::disk::RealDisk, &path, |file| {
        file.write_at(&roll, 0)
    })?;
    Ok(fresh)
}

fn is_known(news: &Path, name: &[u8]) -> bool {
    let roll = std::fs::read(news.join(FILE)).unwrap_or_default();
    roll.split(|&byte| byte == b'\n').any(|known| known == name)
}

/// Makes the cursor of one site. False: it has one.
fn begin(news: &Path, end: Position, site: &Newcomer<'_>) -> Result<bool, Error> {
    let dir = place::directory(news, site.name)?;
    if let Ok(Some(_)) = CursorFile::read(&dir) {
        return Ok(false);
    }
    if is_known(news, site.name) {
        // Lost or damaged since: where it was nobody knows, and serving the site will say so.
        return Ok(false);
    }
    let position = match site.start {
        Start::Now => end,
        start => start::position(&Reader::open(news)?, start)?,
    };
    std::fs::create_dir_all(&dir).map_err(Error::io("make", &dir))?;
    CursorFile::create_unsynced(&dir, Cursor::new(position.min(end), end))?;
    Ok(true)
}
