//! The cursor of a site on its way from the node of a cluster that fed to the one that goes on.
//!
//! *Invariant:* what is told is true or too early: a node that goes on from there sends articles again, and leaves none out.

use std::path::Path;

use store::{EntryEnd, Position, Snapshot};

use crate::cursor::Cursor;
use crate::deferred::{DEFERRED_MAX, Deferred};
use crate::error::Error;
use crate::site_state::{self, SiteState, SiteSummary};

/// How far a site is fed, in terms that all nodes share: sequence numbers of the log of the cluster, and message-ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToldCursor {
    /// The last entry that lies wholly before the cursor. `None`: the cursor lies before all.
    pub entry: Option<u64>,
    /// Entries behind the first and up to the second are delivered as well.
    pub ahead: Option<(u64, u64)>,
    /// Articles before the cursor to be offered again.
    pub deferred: Vec<ToldArticle>,
    /// The reason of the pause, if the feed is paused.
    pub paused: Option<String>,
}

/// A deferred article.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToldArticle {
    /// Its message-id.
    pub id: Vec<u8>,
    /// Earliest time of the next offer, seconds since 1970.
    pub due: i64,
    /// Number of offers.
    pub attempts: u64,
}

/// Tells the cursors of sites, and remembers what it found in the log, so that the next time it walks along what is new.
#[derive(Debug, Default)]
pub struct Teller {
    /// Ends of entries found the last time, ascending.
    known: Vec<EntryEnd>,
    fresh: Vec<EntryEnd>,
}

impl Teller {
    /// The cursors of these sites, in their order; `None` for a site without a cursor, or whose files cannot be read. At most `deferred_max` deferred articles of all sites are
    /// told: for the others the cursors are told as earlier ones. The order of the walk is that of the log.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn tell(
        &mut self,
        news: &Path,
        sites: &[&[u8]],
        snapshot: &mut Snapshot,
        deferred_max: usize,
    ) -> Result<Vec<Option<ToldCursor>>, Error> {
        // Serving a site whose files cannot be read reports the error.
        let looks = sites
            .iter()
            .map(|site| site_state::look(news, site).ok().flatten());
        let looks: Vec<Option<SiteSummary>> = looks.collect();
        // Behind the cursors that were read.
        snapshot.catch_up()?;
        let mut order: Vec<usize> = (0..looks.len()).collect();
        let position = |at: &usize| looks.get(*at)?.as_ref().map(|look| look.cursor.position);
        order.sort_by_key(position);
        let deferring = looks
            .iter()
            .flatten()
            .filter(|look| !look.deferred.is_empty());
        let share = deferred_max / deferring.count().max(1);
        let mut told = vec![None; looks.len()];
        for at in order {
            if let (Some(Some(look)), Some(slot)) = (looks.get(at), told.get_mut(at)) {
                *slot = Some(self.tell_one(look, snapshot, share)?);
            }
        }
        self.fresh.sort_unstable();
        self.fresh.dedup();
        self.known = std::mem::take(&mut self.fresh);
        Ok(told)
    }

    fn tell_one(
        &mut self,
        look: &SiteSummary,
        snapshot: &Snapshot,
        deferred_max: usize,
    ) -> Result<ToldCursor, Error> {
        let mut list = look.deferred.clone();
        list.sort_by_key(|one| one.position);
        let mut cursor = look.cursor;
        // The other node can read it, and finds out whether the site gets it.
        if let Some(first) = list.iter().find(|one| one.is_unreadable) {
            cursor.position = cursor.position.min(first.position);
            cursor.ahead = None;
            list.retain(|one| !one.is_unreadable);
        }
        if let Some(first) = list.get(deferred_max) {
            // It is sent again in its turn, with all behind it.
            cursor.position = cursor.position.min(first.position);
            cursor.ahead = None;
            list.truncate(deferred_max);
        }
        let mut deferred = Vec::with_capacity(list.len());
        let mut record = Vec::new();
        for one in list {
            match snapshot.line_at(one.position, &mut record) {
                Ok(Some(line)) => deferred.push(ToldArticle {
                    id: line.id.to_vec(),
                    due: one.due,
                    attempts: one.attempts,
                }),
                // It is gone; `fsck` reports damage.
                Ok(None) | Err(store::Error::Damaged { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let entry = self.before(cursor.position, snapshot)?;
        let ahead = match cursor.ahead {
            None => None,
            Some((from, to)) => {
                // The entry that contains the beginning is not delivered as a whole.
                let begins = self.before(from, snapshot)?;
                let is_whole = begins.is_some_and(|end| end.position == from);
                let ends = self.before(to, snapshot)?;
                let first = begins.map(|end| end.sequence + u64::from(!is_whole));
                first.zip(ends.map(|end| end.sequence))
            }
        };
        Ok(ToldCursor {
            entry: entry.map(|end| end.sequence),
            ahead: ahead.filter(|(from, to)| from < to),
            deferred,
            paused: look.paused.clone(),
        })
    }

    fn before(
        &mut self,
        position: Position,
        snapshot: &Snapshot,
    ) -> Result<Option<EntryEnd>, Error> {
        let at = |known: &[EntryEnd]| {
            let earlier = known.iter().filter(|end| end.position <= position);
            earlier.max().copied()
        };
        let known = at(&self.known).max(at(&self.fresh));
        // The log may have been cut and written again behind it, after a failed commit or a power cut.
        let known = known.filter(|known| known.position <= snapshot.end());
        let end = snapshot.entry_before(position, known)?;
        self.fresh.extend(end);
        Ok(end)
    }

    /// Forgets what it found: the log may be another one behind some place.
    pub fn forget(&mut self) {
        *self = Teller::default();
    }
}

/// Goes on from a cursor that another node has told. The entries up to it must be applied here.
///
/// # Errors
/// [`Error::Busy`] while another program serves the site; its files cannot be written; or the store cannot be read.
pub fn go_on(
    news: &Path,
    site: &[u8],
    told: &ToldCursor,
    snapshot: &mut Snapshot,
) -> Result<(), Error> {
    let mut state = SiteState::take_only(news, site)?;
    snapshot.catch_up()?;
    let behind = |entry: Option<u64>| match entry {
        Some(entry) => snapshot.behind_entry(entry),
        None => Ok(snapshot.oldest()),
    };
    let position = behind(told.entry)?;
    let ahead = match told.ahead {
        Some((from, to)) => {
            let range = (behind(Some(from))?.max(position), behind(Some(to))?);
            (range.0 < range.1).then_some(range)
        }
        None => None,
    };
    let mut list = Vec::new();
    for article in told.deferred.iter().take(DEFERRED_MAX) {
        match snapshot.find(&article.id) {
            Ok(Some(found)) => list.push(Deferred {
                position: found.position,
                due: article.due,
                attempts: article.attempts,
                is_blamed: false,
                is_unreadable: false,
            }),
            // What expired meanwhile is not found; a damaged one cannot be sent, and `fsck` reports it.
            Ok(None) | Err(store::Error::Damaged { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    // In this order: what the list lacks lies behind the cursor until then.
    state.set_deferred(list)?;
    let cursor = Cursor {
        position,
        ahead,
        last: None,
        ..*state.cursor()
    };
    state.set_cursor(cursor, true)?;
    drop(state);
    match &told.paused {
        Some(why) => site_state::pause(news, site, why),
        None => site_state::resume(news, site).map(drop),
    }
}
