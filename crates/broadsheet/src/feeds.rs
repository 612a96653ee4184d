//! The sites that get news, as the commands see them: each name once, with its cursor.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use feed::enrolment::{self, NewSite};
use feed::site_state::{self, SiteSummary};
use feed::waiting::{self, Backlog};
use groups::Sites;
use groups::sites::{FeedNames, Site, Start};
use store::{Position, Reader};

use crate::daemon::say;
use crate::directory::{FEED_NAMES, NewsDirectory};

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

/// Keeps the names of the feeds; tells which of them are gone.
fn keep_names(directory: &NewsDirectory, sites: &Sites) -> Result<(), store::Error> {
    let path = directory.file(FEED_NAMES);
    let before = std::fs::read(&path).unwrap_or_default();
    let text = FeedNames::text(sites.feeds());
    if text == before {
        return Ok(());
    }
    let now: HashSet<&[u8]> = sites.feeds().map(|(name, _)| name).collect();
    let gone = FeedNames::names(&before).filter(|name| !now.contains(name));
    for name in gone.take(NAMED_MOST) {
        let name = site_state::shown(name);
        say(&format!(
            "{name} is no longer in sys: its waiting articles stay, and `broadsheet feed list' shows them"
        ));
    }
    store::replace(&store::disk::RealDisk, &path, |file| {
        file.write_at(&text, 0)
    })
}

/// The feeds that have a cursor, but are no longer in sys, in the order of their names.
///
/// # Errors
/// The directory of feeds cannot be read.
pub fn left_over(directory: &NewsDirectory, sites: &Sites) -> std::io::Result<Vec<Vec<u8>>> {
    let now: HashSet<&[u8]> = sites.feeds().map(|(name, _)| name).collect();
    let feeds = match std::fs::read_dir(directory.file(site_state::FEEDS)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        feeds => feeds?,
    };
    let mut left = Vec::new();
    for feed in feeds {
        let name = feed?.file_name().into_vec();
        if !now.contains(name.as_slice()) {
            left.push(name);
        }
    }
    left.sort_unstable();
    Ok(left)
}

/// So many sites are named in a message.
pub const NAMED_MOST: usize = 10;
/// A feed, how far it is and what waits for it.
pub struct Told<'s> {
    /// Its name.
    pub name: &'s [u8],
    /// What is known of it.
    pub look: SiteSummary,
    /// What waits.
    pub backlog: Backlog,
}

/// A feed whose files are damaged or lost, and what is wrong.
pub type Untold<'s> = (&'s [u8], feed::Error);

/// What waits for each of these feeds, by one pass along the log; and the feeds of which it cannot be told, with the reason.
///
/// # Errors
/// The store cannot be read.
pub fn backlogs<'s>(
    directory: &NewsDirectory,
    sites: &Sites,
    reader: &Reader,
    names: impl Iterator<Item = &'s [u8]>,
) -> Result<(Vec<Told<'s>>, Vec<Untold<'s>>), feed::Error> {
    let (mut known, mut untold) = (Vec::new(), Vec::new());
    for name in names {
        match site_state::look(directory.root(), name) {
            Ok(Some(look)) => known.push((name, look)),
            Ok(None) => untold.push((name, feed::Error::Unknown(site_state::shown(name)))),
            Err(error) => untold.push((name, error)),
        }
    }
    let cursors: Vec<waiting::Site<'_>> = known
        .iter()
        .map(|(name, look)| waiting::Site {
            name,
            cursor: look.cursor,
        })
        .collect();
    let mut selector = relay::sites::Selector::new(reader.active(), sites.clone());
    let mut wants =
        |record: &store::Record<'_>, name: &[u8]| selector.wants(record, name, reader.active());
    let backlogs = waiting::count(reader, &cursors, &mut wants)?;
    let all = known.into_iter().zip(backlogs);
    let told = all.map(|((name, look), backlog)| Told {
        name,
        look,
        backlog,
    });
    Ok((told.collect(), untold))
}

const ELSEWHERE: &str = "(`broadsheet feed reset' changes the start)";

/// For who has the lock, before anything is filed: these are the sites from now on, and each has its cursor. `end`: where the
/// log ends.
///
/// # Errors
/// The disk's, or a site that cannot have a directory.
pub fn enrol(directory: &NewsDirectory, sites: &Sites, end: Position) -> Result<(), feed::Error> {
    let fresh = enrolment::enrol(directory.root(), end, &newcomers(sites))?;
    keep_names(directory, sites)?;
    tell(sites, &fresh);
    Ok(())
}

/// For who looks at the feeds, or serves them: gives every site that has none its cursor. `end`: where the log ends.
///
/// # Errors
/// As [`enrol`].
pub fn introduce(
    directory: &NewsDirectory,
    sites: &Sites,
    end: Position,
) -> Result<(), feed::Error> {
    let fresh = enrolment::introduce(directory.root(), end, &newcomers(sites))?;
    tell(sites, &fresh);
    Ok(())
}

fn newcomers(sites: &Sites) -> Vec<NewSite<'_>> {
    let feeds = sites.feeds();
    let newcomer = |(name, site): (_, &Site)| NewSite {
        name,
        start: site.start,
    };
    feeds.map(newcomer).collect()
}

fn tell(sites: &Sites, fresh: &[Vec<u8>]) {
    let first = fresh.iter().take(NAMED_MOST + 1);
    let shown: Vec<_> = first.map(|name| site_state::shown(name)).collect();
    match (shown.as_slice(), fresh.first()) {
        ([one], Some(name)) => {
            let begins = match sites.feed(name).map(|site| site.start) {
                Some(Start::Oldest) => "all stored and new articles are sent to it",
                Some(Start::Date(_)) => "articles that arrived since its start date are sent to it",
                _ => "articles filed from now on are sent to it",
            };
            say(&format!("{one} is a new site: {begins} {ELSEWHERE}"));
        }
        ([], _) => {}
        (some, _) => say(&format!("{} {ELSEWHERE}", many(some, fresh.len()))),
    }
}

/// The first names, and how many there are.
fn many(names: &[String], all: usize) -> String {
    let more = all.saturating_sub(NAMED_MOST);
    match names.get(..NAMED_MOST) {
        Some(first) if more > 0 => format!("{all} new sites: {} and {more} more", first.join(", ")),
        _ => format!("new sites: {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_are_named_of_many() {
        let names: Vec<String> = (1..=11).map(|number| format!("s{number}")).collect();
        assert_eq!(many(&names[..2], 2), "new sites: s1, s2");
        assert!(many(&names[..10], 10).ends_with(": s1, s2, s3, s4, s5, s6, s7, s8, s9, s10"));
        assert_eq!(
            many(&names, 500),
            "500 new sites: s1, s2, s3, s4, s5, s6, s7, s8, s9, s10 and 490 more"
        );
    }
}
