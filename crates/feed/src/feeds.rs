//! The feeds: each name once, with its cursor and what waits for it.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use groups::Sites;
use groups::sites::{FeedNames, Site, Start};
use store::{Position, Snapshot, Spool};

use crate::enrolment::{self, NewSite};
use crate::error::Error;
use crate::site_directory::FEEDS;
use crate::site_state::{self, SiteState, SiteSummary};
use crate::waiting::{self, Backlog};

/// The names of all feeds, each once, in the order of the sites.
pub fn names(sites: &Sites) -> Vec<&[u8]> {
    sites.feeds().map(|(name, _)| name).collect()
}

/// The feeds of these names, or all feeds if there are no names.
///
/// # Errors
/// [`Error::Unknown`] for a name without a feed.
pub fn chosen<'s>(
    sites: &'s Sites,
    named: &[OsString],
) -> Result<Vec<(&'s [u8], &'s Site)>, Error> {
    let all: Vec<_> = sites.feeds().collect();
    let known = |word: &OsString| all.iter().any(|(name, _)| *name == word.as_bytes());
    if let Some(word) = named.iter().find(|word| !known(word)) {
        return Err(Error::Unknown(word.to_string_lossy().into_owned()));
    }
    let is_wanted =
        |name: &[u8]| named.is_empty() || named.iter().any(|word| word.as_bytes() == name);
    Ok(all
        .into_iter()
        .filter(|(name, _)| is_wanted(name))
        .collect())
}

/// Saves the names of the feeds; adds a notice for each that is gone.
fn keep_names(news: &Path, sites: &Sites, notices: &mut Vec<String>) -> Result<(), store::Error> {
    let path = news.join(FeedNames::FILE);
    let before = store::regular::read(&path).unwrap_or_default();
    let text = FeedNames::text(sites.feeds());
    if text == before {
        return Ok(());
    }
    let now: HashSet<&[u8]> = sites.feeds().map(|(name, _)| name).collect();
    let gone = FeedNames::names(&before).filter(|name| !now.contains(name));
    for name in gone.take(NAMED_MOST) {
        let name = groups::shown(name);
        notices.push(format!(
            "{name} is no longer a site: its waiting articles stay, and `broadsheet feed list' shows them"
        ));
    }
    store::replace(&store::disk::RealDisk, &path, |file| {
        file.write_at(&text, 0)
    })
}

/// The feeds that have a cursor, but are no longer sites, in the order of their names.
///
/// # Errors
/// The directory of feeds cannot be read.
pub fn left_over(news: &Path, sites: &Sites) -> std::io::Result<Vec<Vec<u8>>> {
    let now: HashSet<&[u8]> = sites.feeds().map(|(name, _)| name).collect();
    let mut left = directories(news)?;
    left.retain(|name| !now.contains(name.as_slice()));
    Ok(left)
}

/// The names of all feeds that have a directory, sorted.
fn directories(news: &Path) -> std::io::Result<Vec<Vec<u8>>> {
    let feeds = match std::fs::read_dir(news.join(FEEDS)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        feeds => feeds?,
    };
    let mut names = Vec::new();
    for feed in feeds {
        names.push(feed?.file_name().into_vec());
    }
    names.sort_unstable();
    Ok(names)
}

/// Maximum number of feeds that a message names.
pub const NAMED_MOST: usize = 10;
/// A feed, its cursor and its backlog.
pub struct FeedStatus<'s> {
    /// Its name.
    pub name: &'s [u8],
    /// Its cursor, and whether it is paused.
    pub look: SiteSummary,
    /// The articles that wait.
    pub backlog: Backlog,
}

impl FeedStatus<'_> {
    /// Whether no articles wait, nor are any deferred.
    pub fn has_all(&self) -> bool {
        self.backlog.articles == 0 && self.look.deferred.is_empty()
    }
}

/// A feed whose files are damaged or lost, with the error.
pub type FeedFault<'s> = (&'s [u8], Error);

/// The backlog of each of these feeds, by one pass along the log; and the feeds whose files or articles cannot be read, with the error.
pub fn backlogs<'s>(
    news: &Path,
    sites: &Sites,
    snapshot: &Snapshot,
    names: impl Iterator<Item = &'s [u8]>,
) -> (Vec<FeedStatus<'s>>, Vec<FeedFault<'s>>) {
    let (mut known, mut untold) = (Vec::new(), Vec::new());
    for name in names {
        match site_state::look(news, name) {
            Ok(Some(look)) => known.push((name, look)),
            Ok(None) => untold.push((name, Error::NoCursor(groups::shown(name)))),
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
    let mut selector = relay::sites::Selector::new(snapshot.active(), sites.clone());
    let mut wants =
        |record: &store::Record<'_>, name: &[u8]| selector.wants(record, name, snapshot.active());
    let backlogs: Vec<Result<Backlog, Error>> = match waiting::count(snapshot, &cursors, &mut wants)
    {
        Ok(backlogs) => backlogs.into_iter().map(Ok).collect(),
        // A part of the log cannot be read: not all feeds need it.
        Err(_) => cursors
            .iter()
            .map(|site| {
                let counted = waiting::count(snapshot, std::slice::from_ref(site), &mut wants)?;
                Ok(counted.into_iter().next().unwrap_or_default())
            })
            .collect(),
    };
    let mut told = Vec::with_capacity(known.len());
    for ((name, look), backlog) in known.into_iter().zip(backlogs) {
        match backlog {
            Ok(backlog) => told.push(FeedStatus {
                name,
                look,
                backlog,
            }),
            Err(error) => untold.push((name, error)),
        }
    }
    (told, untold)
}

const ELSEWHERE: &str = "(`broadsheet feed reset' changes the start)";

/// Gives each site that has none its cursor, and saves the names of the feeds; the caller has opened the spool and filed nothing yet. Returns
/// notices for the administrator.
///
/// # Errors
/// The disk's, or a site that cannot have a directory.
pub fn enrol(spool: &Spool, sites: &Sites) -> Result<Vec<String>, Error> {
    let fresh = enrolment::enrol(spool, &newcomers(sites))?;
    let mut notices = Vec::new();
    keep_names(spool.dir(), sites, &mut notices)?;
    notices.extend(notice(sites, &fresh));
    Ok(notices)
}

/// Moves the cursors of all feeds that lie beyond the end of the log back to it, if the log was replayed: it may have lost its end, by a power cut
/// with `sync = "none"`, by a repair, or because an older copy took its place. The caller files only afterwards: later, nobody could tell what is
/// filed there from what was sent. Returns notices for the administrator.
///
/// A feed whose files are damaged stays as it is: serving it reports that. So does one that is being served; the next call moves it.
///
/// # Errors
/// The directory of feeds cannot be read, or a cursor cannot be written.
pub fn keep_within_log(spool: &Spool) -> Result<Vec<String>, Error> {
    let Some(end) = spool.replayed_to() else {
        return Ok(Vec::new());
    };
    let feeds = spool.dir().join(FEEDS);
    let (mut notices, mut is_any_busy) = (Vec::new(), false);
    for name in directories(spool.dir()).map_err(Error::io("read", &feeds))? {
        let is_within = |summary: &SiteSummary| summary.is_within(end);
        let summary = site_state::look(spool.dir(), &name).ok().flatten();
        if summary.as_ref().is_none_or(is_within) {
            continue;
        }
        let mut state = match SiteState::take_only(spool.dir(), &name) {
            Ok(state) => state,
            Err(error) => {
                is_any_busy |= matches!(error, Error::Busy(_));
                continue;
            }
        };
        // Records that were replayed, or written since, may not be articles: where the last one passed is still there, none was lost.
        let is_lost = |(last, _)| last >= end;
        let has_lost_any = state.cursor().last.is_some_and(is_lost);
        if state.keep_within(end)? && has_lost_any {
            notices.push(format!(
                "the log lost its end: feed {} goes on from there",
                groups::shown(&name)
            ));
        }
    }
    if !is_any_busy {
        spool.forget_replay();
    }
    Ok(notices)
}

/// Gives each site that has none its cursor; the caller reads or serves the feeds. `end`: where the log ends. Returns notices for the
/// administrator.
///
/// # Errors
/// As [`enrol`].
pub fn introduce(news: &Path, sites: &Sites, end: Position) -> Result<Vec<String>, Error> {
    let fresh = enrolment::introduce(news, end, &newcomers(sites))?;
    Ok(notice(sites, &fresh).into_iter().collect())
}

fn newcomers(sites: &Sites) -> Vec<NewSite<'_>> {
    let feeds = sites.feeds();
    let newcomer = |(name, site): (_, &Site)| NewSite {
        name,
        start: site.start,
    };
    feeds.map(newcomer).collect()
}

fn notice(sites: &Sites, fresh: &[Vec<u8>]) -> Option<String> {
    let first = fresh.iter().take(NAMED_MOST + 1);
    let shown: Vec<_> = first.map(|name| groups::shown(name)).collect();
    match (shown.as_slice(), fresh.first()) {
        ([one], Some(name)) => {
            let begins = match sites.feed(name).map(|site| site.start) {
                Some(Start::Oldest) => "all stored and new articles are sent to it",
                Some(Start::Date(_)) => "articles that arrived since its start date are sent to it",
                _ => "articles filed from now on are sent to it",
            };
            Some(format!("{one} is a new site: {begins} {ELSEWHERE}"))
        }
        ([], _) => None,
        (some, _) => Some(format!("{} {ELSEWHERE}", many(some, fresh.len()))),
    }
}

/// The first names, and the number of all.
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
