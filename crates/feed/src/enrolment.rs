//! New sites get their cursor before the first article that may name them is filed.
//!
//! The file `sites.known` has the names of enrolled sites, so that the usual run compares one file and reads no directory.

use std::path::Path;

use hashbrown::HashSet;
use store::{Position, Snapshot, Spool};

use crate::cursor::{Cursor, CursorFile, select_from};
use crate::error::Error;
use crate::site_directory;
use crate::start::{self, Start};

/// The file's name in the news directory.
pub const FILE: &str = "sites.known";

/// A site with a feed.
#[derive(Debug, Clone, Copy)]
pub struct NewSite<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its start in the log.
    pub start: Start,
}

/// Enrols the sites that this program files for, in place of the earlier ones; returns the names of those that got a cursor. The caller
/// has opened the spool and filed nothing yet.
///
/// A new site may already have a cursor, made by [`introduce`], or from an earlier enrolment. Records filed meanwhile do not name it,
/// so its subscription is evaluated for all articles before the end of the log.
///
/// # Errors
/// An I/O error, or [`Error::Name`] for a site that cannot have a directory.
pub fn enrol(spool: &Spool, sites: &[NewSite<'_>]) -> Result<Vec<Vec<u8>>, Error> {
    let (news, end) = (spool.dir(), spool.end());
    let mut names: Vec<&[u8]> = sites.iter().map(|site| site.name).collect();
    names.sort_unstable();
    names.dedup();
    let path = news.join(FILE);
    let known = read(&path)?;
    let mut roll = names.join(&b'\n');
    roll.push(b'\n');
    if known == roll || (known.is_empty() && names.is_empty()) {
        return Ok(Vec::new());
    }
    let mut fresh = Vec::new();
    let mut is_any_new = false;
    for site in once_each(sites) {
        if is_on(&known, site.name) {
            // A lost cursor cannot be reconstructed: serving the site reports it.
            continue;
        }
        is_any_new = true;
        if begin(news, end, site, || spool.snapshot())? {
            fresh.push(site.name.to_vec());
        }
        select_from(&site_directory::directory(news, site.name)?, end)?;
    }
    if is_any_new {
        // One sync for the names of all.
        sync(news)?;
    }
    store::replace(&store::disk::RealDisk, &path, |file| {
        file.write_at(&roll, 0)
    })?;
    Ok(fresh)
}

/// Makes cursors for sites without one, before the filer knows them; returns their names. It needs no lock.
///
/// # Errors
/// As [`enrol`].
pub fn introduce(news: &Path, end: Position, sites: &[NewSite<'_>]) -> Result<Vec<Vec<u8>>, Error> {
    let known = read(&news.join(FILE))?;
    let mut fresh = Vec::new();
    for site in once_each(sites) {
        if !is_on(&known, site.name) && begin(news, end, site, || Snapshot::open(news))? {
            fresh.push(site.name.to_vec());
        }
    }
    if !fresh.is_empty() {
        sync(news)?;
    }
    Ok(fresh)
}

/// Whether a site was enrolled, so that it had a cursor.
///
/// # Errors
/// The file cannot be read.
pub fn is_enrolled(news: &Path, site: &[u8]) -> Result<bool, Error> {
    Ok(is_on(&read(&news.join(FILE))?, site))
}

/// The names of enrolled sites; a missing file has none. An unreadable one counts as an error: a site that lost its cursor would begin at
/// the end of the log.
fn read(path: &Path) -> Result<Vec<u8>, Error> {
    match store::regular::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read.map_err(Error::io("read", path)),
    }
}

fn once_each<'s, 'n>(sites: &'s [NewSite<'n>]) -> impl Iterator<Item = &'s NewSite<'n>> {
    let mut met = HashSet::new();
    sites.iter().filter(move |site| met.insert(site.name))
}

fn sync(news: &Path) -> Result<(), Error> {
    let feeds = news.join(site_directory::FEEDS);
    let synced = std::fs::File::open(&feeds).and_then(|dir| Ok(rustix::fs::syncfs(dir)?));
    synced.map_err(Error::io("sync", &feeds))
}

fn is_on(roll: &[u8], name: &[u8]) -> bool {
    roll.split(|&byte| byte == b'\n').any(|known| known == name)
}

/// Makes the cursor of a site. Returns false if it has one.
fn begin(
    news: &Path,
    end: Position,
    site: &NewSite<'_>,
    snapshot: impl Fn() -> Result<Snapshot, store::Error>,
) -> Result<bool, Error> {
    let dir = site_directory::directory(news, site.name)?;
    match CursorFile::read(&dir) {
        Ok(Some(_)) => return Ok(false),
        Ok(None) => {}
        // Damaged; serving the site reports it.
        Err(_) => return Ok(false),
    }
    let position = match site.start {
        Start::Now => end,
        start => start::position(&snapshot()?, start)?,
    };
    std::fs::create_dir_all(&dir).map_err(Error::io("make", &dir))?;
    CursorFile::create_first(&dir, Cursor::new(position.min(end)))
}
