//! What waits for sites: one pass along the log, however many they are.

use std::ops::ControlFlow;

use hashbrown::HashMap;
use store::{HistoryLine, Logged, Position, Reader, Record};

use crate::cursor::Cursor;
use crate::error::Error;

/// The most articles that one pass notes, over all sites: bounds memory to some 50 MB.
pub const ROUND_ARTICLES_MAX: usize = 1_000_000;

/// A site and how far it is.
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
    /// Where it is in the log.
    pub position: Position,
    /// Where the cursor goes when it was sent.
    pub next: Position,
    /// The stamp of its record.
    pub commit_sequence: u64,
    /// Bytes, native form.
    pub bytes: u64,
    /// When it arrived, epoch seconds.
    pub arrival: i64,
    /// Articles for the site, between this one and the one before, that are gone.
    pub gone: u64,
}

/// What one pass found for a site.
#[derive(Debug, Clone, Default)]
pub struct Waiting {
    /// In the order they were filed.
    pub items: Vec<Item>,
    /// Articles behind the last of them that are gone.
    pub gone: u64,
}

/// What one pass found.
#[derive(Debug)]
pub struct Round {
    /// For each site, in the order they were given.
    pub sites: Vec<Waiting>,
    /// How far the pass went: a site that has got all its articles is there.
    pub end: Position,
    /// It went to the end of the log; else there may be more behind.
    pub complete: bool,
}

/// Which sites get an article that was filed before they were known: asked for records before [`Cursor::selected_from`].
pub type Chosen<'a> = &'a mut dyn FnMut(&Record<'_>, &[u8]) -> bool;

/// Goes along the log once, from the first cursor on, and notes for each site the articles that wait for it.
/// Stops early when `most` articles (at most [`ROUND_ARTICLES_MAX`]) are noted.
///
/// # Errors
/// The store cannot be read.
pub fn round(
    reader: &Reader,
    sites: &[Site<'_>],
    most: usize,
    chosen: Chosen<'_>,
) -> Result<Round, Error> {
    let mut found = vec![Waiting::default(); sites.len()];
    let mut room = most.clamp(1, ROUND_ARTICLES_MAX);
    let mut end = reader.end();
    let mut noted = Position(0);
    let flow = each(reader, sites, chosen, |which, logged, (line, is_alive)| {
        let Some(waiting) = found.get_mut(which) else {
            return ControlFlow::Continue(());
        };
        if !is_alive {
            waiting.gone += 1;
            return ControlFlow::Continue(());
        }
        if room == 0 && logged.position != noted {
            // Whoever was to get this one, and had got all before it, goes on here. Between two articles only: the others of one
            // that several sites get have it already.
            end = logged.position;
            return ControlFlow::Break(());
        }
        room = room.saturating_sub(1);
        noted = logged.position;
        waiting.items.push(Item {
            position: logged.position,
            next: logged.next,
            commit_sequence: logged.record.head.commit_sequence,
            bytes: line.size.unwrap_or(0),
            arrival: line.arrival.unwrap_or(0),
            gone: std::mem::take(&mut waiting.gone),
        });
        ControlFlow::Continue(())
    })?;
    Ok(Round {
        sites: found,
        end,
        complete: flow.is_continue(),
    })
}

/// How much waits for a site.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Articles.
    pub articles: u64,
    /// Their bytes, native form.
    pub bytes: u64,
    /// When the first of them arrived, epoch seconds.
    pub oldest: Option<i64>,
}

/// Counts what waits for each site.
///
/// # Errors
/// The store cannot be read.
pub fn count(
    reader: &Reader,
    sites: &[Site<'_>],
    chosen: Chosen<'_>,
) -> Result<Vec<Backlog>, Error> {
    let mut found = vec![Backlog::default(); sites.len()];
    let _ = each(reader, sites, chosen, |which, _, (line, is_alive)| {
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

/// Calls `found` for each article behind a site's cursor that the site gets: the number of the site in `sites`, the article,
/// its history line and whether it can still be read.
fn each(
    reader: &Reader,
    sites: &[Site<'_>],
    chosen: Chosen<'_>,
    mut found: impl FnMut(usize, &Logged<'_>, (&HistoryLine<'_>, bool)) -> ControlFlow<()>,
) -> Result<ControlFlow<()>, Error> {
    let Some(from) = sites.iter().map(|site| site.cursor.position).min() else {
        return Ok(ControlFlow::Continue(()));
    };
    let named: HashMap<&[u8], usize> = sites.iter().map(|site| site.name).zip(0..).collect();
    let late = sites.iter().map(|site| site.cursor.selected_from).max();
    let late = late.unwrap_or(from);
    Ok(reader.each_article((from, reader.end()), |logged| {
        let record = &logged.record;
        let position = logged.position;
        let mut line = None;
        let mut tell = |which: usize, site: &Site<'_>| {
            if site.cursor.position > position {
                return ControlFlow::Continue(());
            }
            // Read once, and only for an article that somebody gets.
            let line = line.get_or_insert_with(|| {
                let line = HistoryLine::parse(record.line())?;
                let is_alive = reader.is_alive(&line);
                Some((line, is_alive))
            });
            match line {
                Some((line, is_alive)) => found(which, &logged, (line, *is_alive)),
                None => ControlFlow::Continue(()),
            }
        };
        for name in record.sites().split(|&byte| byte == b' ') {
            if let Some(which) = named.get(name)
                && let Some(site) = sites.get(*which)
                && position >= site.cursor.selected_from
            {
                tell(*which, site)?;
            }
        }
        if position < late {
            for (which, site) in sites.iter().enumerate() {
                let is_behind = site.cursor.position <= position;
                if is_behind && position < site.cursor.selected_from && chosen(record, site.name) {
                    tell(which, site)?;
                }
            }
        }
        ControlFlow::Continue(())
    })?)
}
