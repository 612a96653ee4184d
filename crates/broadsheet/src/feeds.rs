//! The sites that get news, as the commands see them: each name once, with its cursor.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use feed::roll::{self, Newcomer};
use groups::Sites;
use groups::sites::{Site, Start};
use store::Position;

use crate::directory::NewsDirectory;

/// The names of all feeds, each once, in the order of the sites.
pub fn names(sites: &Sites) -> Vec<&[u8]> {
    sites.feeds().map(|(name, _)| name).collect()
}

/// The feeds that are named, or all where none is.
///
/// # Errors
/// [`feed::Error::Unknown`] for a name that none has.
pub fn chosen<'s>(
    sites: &'s Sites,
    named: &[OsString],
) -> Result<Vec<(&'s [u8], &'s Site)>, feed::Error> {
    let all: Vec<_> = sites.feeds().collect();
    let known = |word: &OsString| all.iter().any(|(name, _)| *name == word.as_bytes());
    if let Some(word) = named.iter().find(|word| !known(word)) {
        return Err(feed::Error::Unknown(word.to_string_lossy().into_owned()));
    }
    let is_wanted =
        |name: &[u8]| named.is_empty() || named.iter().any(|word| word.as_bytes() == name);
    Ok(all
        .into_iter()
        .filter(|(name, _)| is_wanted(name))
        .collect())
}

const ELSEWHERE: &str = "(`broadsheet feed reset' to begin elsewhere)";

/// Gives every site that has none its cursor. Before anything is filed that may name it. `end`: where the log ends.
///
/// # Errors
/// The disk's, or a site that cannot have a directory.
pub fn enrol(directory: &NewsDirectory, sites: &Sites, end: Position) -> Result<(), feed::Error> {
    let newcomers: Vec<Newcomer<'_>> = sites
        .feeds()
        .map(|(name, site)| Newcomer {
            name,
            start: site.start,
        })
        .collect();
    let fresh = roll::enrol(directory.root(), end, &newcomers)?;
    let shown: Vec<_> = fresh.iter().map(|name| feed::place::shown(name)).collect();
    match (shown.as_slice(), fresh.first()) {
        ([one], Some(name)) => {
            let begins = match sites.feed(name).map(|site| site.start) {
                Some(Start::Oldest) => "what is here and what comes is sent there",
                Some(Start::Date(_)) => "what arrived from its date on is sent there",
                _ => "what is filed from now on is sent there",
            };
            eprintln!("broadsheet: {one} is a new site: {begins} {ELSEWHERE}");
        }
        ([], _) => {}
        (some, _) => eprintln!("broadsheet: new sites: {} {ELSEWHERE}", some.join(", ")),
    }
    Ok(())
}
