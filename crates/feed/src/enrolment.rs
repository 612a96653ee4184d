//! Sites met for the first time get their cursor, before the first article that may name them is filed.
//!
//! The file `sites.known` has the names that were enrolled, so that the usual run compares one file and looks at no directory.

use std::path::Path;

use hashbrown::HashSet;
use store::{Position, Reader};

use crate::cursor::{Cursor, CursorFile, SLOT_BYTES, select_from};
use crate::error::Error;
use crate::site_state;
use crate::start::{self, Start};

/// The file's name in the news directory.
pub const FILE: &str = "sites.known";

/// A site that has, or is to have, a feed.
#[derive(Debug, Clone, Copy)]
pub struct NewSite<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Where in the log it begins.
    pub start: Start,
}

/// Takes up the sites that this program files for from now on, in place of those before; gives the names of those that got
/// their cursor. The caller holds the lock of the news system, and has filed nothing yet. `end`: where the log ends now.
///
/// A site that was not filed for until now may have a cursor: [`introduce`] made it, or it was left out for a time. What was
/// filed meanwhile does not name it, so its subscription is asked about all that lies before `end`.
///
/// # Errors
/// The disk's, or [`Error::Name`] for a site that cannot have a directory.
pub fn enrol(news: &Path, end: Position, sites: &[NewSite<'_>]) -> Result<Vec<Vec<u8>>, Error> {
    let mut names: Vec<&[u8]> = sites.iter().map(|site| site.name).collect();
    names.sort_unstable();
    names.dedup();
    let path = news.join(FILE);
    let known = std::fs::read(&path).unwrap_or_default();
    let mut roll = names.join(&b'\n');
    roll.push(b'\n');
    if known == roll || (known.is_empty() && names.is_empty()) {
        return Ok(Vec::new());
    }
    let mut fresh = Vec::new();
    let mut is_any_new = false;
    for site in once_each(sites) {
        if is_on(&known, site.name) {
            // Should its cursor be lost, nobody knows where it was: serving the site will say so.
            continue;
        }
        is_any_new = true;
        if begin(news, end, site)? {
            fresh.push(site.name.to_vec());
        }
        select_from(&site_state::directory(news, site.name)?, end)?;
    }
    if is_any_new {
        // Once for all of them, however many; what a power cut tore counts as missing while the roll does not tell of it.
        sync(news)?;
    }
    store::replace(&store::disk::RealDisk, &path, |file| {
        file.write_at(&roll, 0)
    })?;
    Ok(fresh)
}

/// Gives sites that have none their cursor, though nobody files for them yet; gives their names. Needs no lock.
///
/// # Errors
/// As [`enrol`].
pub fn introduce(news: &Path, end: Position, sites: &[NewSite<'_>]) -> Result<Vec<Vec<u8>>, Error> {
    let known = std::fs::read(news.join(FILE)).unwrap_or_default();
    let mut fresh = Vec::new();
    for site in once_each(sites) {
        if !is_on(&known, site.name) && begin(news, end, site)? {
            fresh.push(site.name.to_vec());
        }
    }
    if !fresh.is_empty() {
        sync(news)?;
    }
    Ok(fresh)
}

fn once_each<'s, 'n>(sites: &'s [NewSite<'n>]) -> impl Iterator<Item = &'s NewSite<'n>> {
    let mut met = HashSet::new();
    sites.iter().filter(move |site| met.insert(site.name))
}

fn sync(news: &Path) -> Result<(), Error> {
    let feeds = news.join(site_state::FEEDS);
    let synced = std::fs::File::open(&feeds).and_then(|dir| Ok(rustix::fs::syncfs(dir)?));
    synced.map_err(Error::io("sync", &feeds))
}

fn is_on(roll: &[u8], name: &[u8]) -> bool {
    roll.split(|&byte| byte == b'\n').any(|known| known == name)
}

fn is_short(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.len() < 2 * SLOT_BYTES as u64)
}

/// Makes the cursor of one site. False: it has one.
fn begin(news: &Path, end: Position, site: &NewSite<'_>) -> Result<bool, Error> {
    let dir = site_state::directory(news, site.name)?;
    match CursorFile::read(&dir) {
        Ok(Some(_)) => return Ok(false),
        Ok(None) => {}
        // Torn while it was made, and never used: the roll does not tell of it.
        Err(Error::Cursor(path)) if is_short(&path) => {
            std::fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        }
        // Damaged; serving the site will say so.
        Err(_) => return Ok(false),
    }
    let position = match site.start {
        Start::Now => end,
        start => start::position(&Reader::open(news)?, start)?,
    };
    std::fs::create_dir_all(&dir).map_err(Error::io("make", &dir))?;
    CursorFile::create_first(&dir, Cursor::new(position.min(end)))
}
