//! The articles that wait for sites: one pass along the log for any number of sites.

use std::ops::ControlFlow;

use hashbrown::HashMap;
use store::{HistoryLine, Met, Position, Record, Snapshot};

use crate::cursor::Cursor;
use crate::error::Error;

/// Maximum number of articles that one pass collects for all sites: bounds memory to some 50 MB.
pub const ROUND_ARTICLES_MAX: usize = 1_000_000;

/// Most bytes of lists of sites that a pass keeps, with the places of the sites in them.
pub const LISTS_BYTES_MAX: usize = 256 << 10;

/// A site and its cursor.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its cursor.
    pub cursor: Cursor,
}

/// An article that waits for a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item {
    /// Its position in the log.
    pub position: Position,
    /// The cursor after its delivery.
    pub next: Position,
    /// The commit sequence number of its record; `None`: the disk cannot read it, and it may be for other sites.
    pub commit_sequence: Option<u64>,
    /// Size in native form, bytes.
    pub bytes: u64,
    /// Time of arrival, seconds since 1970.
    pub arrival: i64,
    /// Number of expired or cancelled articles for the site since the previous one.
    pub gone: u64,
}

/// The result of a pass for one site.
#[derive(Debug, Clone, Default)]
pub struct Waiting {
    /// The waiting articles, in filing order.
    pub items: Vec<Item>,
    /// Number of expired or cancelled articles after the last one.
    pub gone: u64,
}

/// The result of a pass.
#[derive(Debug)]
pub struct Round {
    /// The results, in the order of the sites.
    pub sites: Vec<Waiting>,
    /// The end of the pass: the cursor of a site without remaining articles.
    pub end: Position,
    /// Whether the pass reached the end of the log.
    pub complete: bool,
}

/// Decides whether a site gets an article filed before [`Cursor::selected_from`].
pub type Chosen<'a> = &'a mut dyn FnMut(&Record<'_>, &[u8]) -> bool;

/// Scans the log once, from the first cursor on, and collects the waiting articles of each site. Stops after `most` articles, and
/// [`ROUND_ARTICLES_MAX`] at most.
///
/// # Errors
/// The store cannot be read.
pub fn round(
    snapshot: &Snapshot,
    sites: &[Site<'_>],
    most: usize,
    chosen: Chosen<'_>,
) -> Result<Round, Error> {
    round_until(snapshot, sites, (snapshot.end(), most), chosen)
}

/// As [`round`], as far as a position of the log.
///
/// # Errors
/// The store cannot be read.
pub fn round_until(
    snapshot: &Snapshot,
    sites: &[Site<'_>],
    (mut end, most): (Position, usize),
    chosen: Chosen<'_>,
) -> Result<Round, Error> {
    let mut found = vec![Waiting::default(); sites.len()];
    let mut room = most.clamp(1, ROUND_ARTICLES_MAX);
    let mut noted = Position(0);
    let flow = each(
        (snapshot, end),
        sites,
        chosen,
        |which, met, (line, is_alive)| {
            let Some(waiting) = found.get_mut(which) else {
                return ControlFlow::Continue(());
            };
            if !is_alive {
                waiting.gone += 1;
                return ControlFlow::Continue(());
            }
            let (position, next, commit_sequence) = match met {
                Met::Article(logged) => {
                    let commit_sequence = logged.record.head.commit_sequence;
                    (logged.position, logged.next, Some(commit_sequence))
                }
                Met::Unreadable { position, next, .. } => (*position, *next, None),
            };
            if room == 0 && position != noted {
                // The sites of this article continue here in the next pass. The pass ends only between two articles, since an article is collected
                // for all of its sites or for none.
                end = position;
                return ControlFlow::Break(());
            }
            room = room.saturating_sub(1);
            noted = position;
            waiting.items.push(Item {
                position,
                next,
                commit_sequence,
                bytes: line.size.unwrap_or(0),
                arrival: line.arrival.unwrap_or(0),
                gone: std::mem::take(&mut waiting.gone),
            });
            ControlFlow::Continue(())
        },
    )?;
    Ok(Round {
        sites: found,
        end,
        complete: flow.is_continue(),
    })
}

/// The size of a site's backlog.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Number of articles.
    pub articles: u64,
    /// Their bytes, native form.
    pub bytes: u64,
    /// Arrival of the oldest one, seconds since 1970.
    pub oldest: Option<i64>,
}

/// Counts the waiting articles of each site.
///
/// # Errors
/// The store cannot be read.
pub fn count(
    snapshot: &Snapshot,
    sites: &[Site<'_>],
    chosen: Chosen<'_>,
) -> Result<Vec<Backlog>, Error> {
    let mut found = vec![Backlog::default(); sites.len()];
    let reach = (snapshot, snapshot.end());
    let _ = each(reach, sites, chosen, |which, _, (line, is_alive)| {
        if let Some(backlog) = found.get_mut(which)
            && is_alive
        {
            backlog.articles += 1;
            backlog.bytes = backlog.bytes.saturating_add(line.size.unwrap_or(0));
            backlog.oldest = backlog.oldest.or(line.arrival);
        }
        ControlFlow::<()>::Continue(())
    })?;
    Ok(found)
}

/// Finds the sites that a record names. Most articles go to the same sites as one shortly before, so that hundreds of names are not
/// looked up for each.
struct Named<'a> {
    by_name: HashMap<&'a [u8], usize>,
    /// The sites of the lists met before.
    lists: HashMap<Box<[u8]>, Box<[usize]>>,
    /// The length of these lists together.
    bytes: usize,
}

impl<'a> Named<'a> {
    fn new(sites: &[Site<'a>]) -> Named<'a> {
        Named {
            by_name: sites.iter().map(|site| site.name).zip(0..).collect(),
            lists: HashMap::new(),
            bytes: 0,
        }
    }

    /// The places of the named sites, in the order of their names in the list.
    fn of(&mut self, list: &[u8]) -> &[usize] {
        if !self.lists.contains_key(list) {
            if self.bytes + list.len() > LISTS_BYTES_MAX {
                // The next lists are most likely others.
                self.lists.clear();
                self.bytes = 0;
            }
            self.bytes += list.len();
            let names = list.split(|&byte| byte == b' ');
            let places = names.filter_map(|name| self.by_name.get(name).copied());
            self.lists.insert(list.into(), places.collect());
        }
        self.lists.get(list).map_or(&[], |places| places)
    }
}

/// Calls `found` for each article after a site's cursor that the site gets, with the site's index in `sites`, the article, its history
/// line, and whether it is still readable; as far as `end`. Every site may get an article that the disk cannot read.
fn each(
    (snapshot, end): (&Snapshot, Position),
    sites: &[Site<'_>],
    chosen: Chosen<'_>,
    mut found: impl FnMut(usize, &Met<'_>, (&HistoryLine<'_>, bool)) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Error> {
    let Some(from) = sites.iter().map(|site| site.cursor.position).min() else {
        return Ok(ControlFlow::Continue(()));
    };
    let mut named = Named::new(sites);
    let late = sites.iter().map(|site| site.cursor.selected_from).max();
    let late = late.unwrap_or(from);
    Ok(snapshot.each_met((from, end), |met| {
        let logged = match met {
            Met::Article(logged) => logged,
            Met::Unreadable { position, line, .. } => {
                let line = (&line, snapshot.is_alive(&line));
                let mut sites = sites.iter().enumerate();
                return sites.try_for_each(|(which, site)| {
                    if site.cursor.has_passed(position) {
                        ControlFlow::Continue(())
                    } else {
                        found(which, &met, line)
                    }
                });
            }
        };
        let record = &logged.record;
        let position = logged.position;
        let mut line = None;
        let mut tell = |which: usize, site: &Site<'_>| {
            if site.cursor.has_passed(position) {
                return ControlFlow::Continue(());
            }
            // Read once, and only for an article that some site gets.
            let line = line.get_or_insert_with(|| {
                let line = HistoryLine::parse(record.line())?;
                let is_alive = snapshot.is_alive(&line);
                Some((line, is_alive))
            });
            match line {
                Some((line, is_alive)) => found(which, &met, (line, *is_alive)),
                None => ControlFlow::Continue(()),
            }
        };
        for &which in named.of(record.sites()) {
            if let Some(site) = sites.get(which)
                && position >= site.cursor.selected_from
            {
                tell(which, site)?;
            }
        }
        if position < late {
            for (which, site) in sites.iter().enumerate() {
                let is_late = position < site.cursor.selected_from;
                if is_late && !site.cursor.has_passed(position) && chosen(record, site.name) {
                    tell(which, site)?;
                }
            }
        }
        ControlFlow::Continue(())
    })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_sites_are_looked_up_once_within_the_limit() {
        let site = |name| Site {
            name,
            cursor: Cursor::new(Position(0)),
        };
        let sites = [site(b"one"), site(b"two"), site(b"three")];
        let mut named = Named::new(&sites);
        for _ in 0..2 {
            assert_eq!(named.of(b"three x one"), [2, 0]);
            assert_eq!(named.of(b""), [0usize; 0]);
            assert_eq!(named.of(b"two"), [1]);
        }
        assert_eq!(named.lists.len(), 3);
        for number in 0..100_000 {
            let list = format!("two {number} one");
            assert_eq!(named.of(list.as_bytes()), [1, 0]);
            let kept: usize = named.lists.keys().map(|list| list.len()).sum();
            assert!(number % 1000 != 0 || (kept == named.bytes && kept <= LISTS_BYTES_MAX));
        }
        let long = vec![b'x'; LISTS_BYTES_MAX + 1];
        assert!(named.of(&long).is_empty());
        assert_eq!(named.of(b"one"), [0]);
    }
}
