//! The articles that wait for a site, from its cursor on.

use std::collections::VecDeque;

use store::{Position, Record, Snapshot};

use crate::cursor::Cursor;
use crate::deferred::Deferred;
use crate::error::Error;
use crate::sendbatches::ArticleSource;
use crate::site_state::{Progress, SiteState};
use crate::waiting::{self, Item, Site, Waiting};

/// Waiting articles in memory, some 3 MB: bounds the memory of a long backlog.
pub const NOTED_ARTICLES_MAX: usize = 1 << 16;

/// Decides whether a site gets an article that was filed before the site was known.
pub type LateSelection<'a> = Box<dyn FnMut(&Record<'_>, &[u8]) -> bool + 'a>;

/// A served site and its waiting articles.
pub struct FromCursor<'a> {
    snapshot: &'a Snapshot,
    /// The record that is offered.
    record: Vec<u8>,
    state: SiteState,
    late_selection: LateSelection<'a>,
    items: VecDeque<Item>,
    /// The scanned position of the log.
    seen: Position,
    /// Number of expired or cancelled articles after the last waiting one.
    gone: u64,
    is_complete: bool,
    /// The cursor after delivery of the taken articles.
    next: Position,
    progress: Progress,
}

impl<'a> FromCursor<'a> {
    /// The waiting articles of a site, as far as `snapshot` sees.
    pub fn new(
        snapshot: &'a Snapshot,
        state: SiteState,
        late_selection: LateSelection<'a>,
    ) -> FromCursor<'a> {
        let position = state.cursor().position;
        FromCursor {
            snapshot,
            record: Vec::new(),
            state,
            late_selection,
            items: VecDeque::new(),
            seen: position,
            gone: 0,
            is_complete: false,
            next: position,
            progress: Progress::default(),
        }
    }

    /// As [`FromCursor`], with this site's result of a pass for many sites: see [`waiting::round`].
    pub fn found(&mut self, waiting: Waiting, end: Position, is_complete: bool) {
        self.items = waiting.items.into();
        self.gone = waiting.gone;
        self.seen = end;
        self.is_complete = is_complete;
    }

    /// Scans for the next waiting articles.
    fn scan(&mut self) -> Result<(), Error> {
        let cursor = Cursor {
            position: self.seen,
            ..*self.state.cursor()
        };
        let site = Site {
            name: self.state.site(),
            cursor,
        };
        let round = waiting::round(
            self.snapshot,
            &[site],
            NOTED_ARTICLES_MAX,
            &mut *self.late_selection,
        )?;
        if let Some(found) = round.sites.into_iter().next() {
            self.found(found, round.end, round.complete);
        }
        Ok(())
    }

    /// Offers an article; `None` if it expired or was cancelled.
    fn offer_one(
        &mut self,
        position: Position,
        put: &mut dyn FnMut(Position, &Record<'_>) -> bool,
    ) -> Result<Option<bool>, Error> {
        match self.snapshot.record(position, &mut self.record) {
            Ok(Some(record)) => Ok(Some(put(position, &record))),
            // It expired meanwhile; `fsck` reports damage.
            Ok(None) | Err(store::Error::Damaged { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl FromCursor<'_> {
    /// As [`ArticleSource::offer`], with the position of each article.
    ///
    /// # Errors
    /// The articles cannot be read.
    pub fn offer_at(
        &mut self,
        put: &mut dyn FnMut(Position, &Record<'_>) -> bool,
    ) -> Result<(), Error> {
        loop {
            while let Some(item) = self.items.front().copied() {
                let taken = self.offer_one(item.position, put)?;
                if taken == Some(false) {
                    return Ok(());
                }
                self.items.pop_front();
                self.next = item.next;
                self.progress.skipped += item.gone;
                match taken {
                    Some(_) => {
                        self.progress.sent += 1;
                        self.progress.sent_bytes += item.bytes;
                        self.progress.last = Some((item.position, item.commit_sequence));
                    }
                    None => self.progress.skipped += 1,
                }
            }
            self.progress.skipped += std::mem::take(&mut self.gone);
            self.next = self.next.max(self.seen);
            if self.is_complete {
                return Ok(());
            }
            self.scan()?;
        }
    }

    /// The deferred articles.
    pub fn deferred(&self) -> &[Deferred] {
        self.state.deferred()
    }

    /// Replaces the list of deferred articles. Call it before [`ArticleSource::delivered`], which passes those articles.
    ///
    /// # Errors
    /// As [`SiteState::set_deferred`].
    pub fn set_deferred(&mut self, list: Vec<Deferred>) -> Result<(), Error> {
        match list == self.state.deferred() {
            true => Ok(()),
            false => self.state.set_deferred(list),
        }
    }
}

impl ArticleSource for FromCursor<'_> {
    fn offer(&mut self, put: &mut dyn FnMut(&Record<'_>) -> bool) -> Result<(), Error> {
        self.offer_at(&mut |_, record| put(record))
    }

    fn delivered(&mut self) -> Result<(), Error> {
        let mut progress = std::mem::take(&mut self.progress);
        progress.now = relay::Now::read().seconds;
        // A cursor that passed only articles for other sites may be reset.
        self.state.pass(self.next, progress, progress.sent > 0)
    }

    /// The size of the known waiting articles, with a proportional estimate for the rest of the log, so that a backlog is scanned once.
    fn waiting_bytes(&mut self) -> Result<u64, Error> {
        if self.items.is_empty() && !self.is_complete {
            let gone = std::mem::take(&mut self.gone);
            self.scan()?;
            self.gone += gone;
        }
        let sizes = self.items.iter().map(|item| item.bytes);
        let bytes = sizes.fold(self.progress.sent_bytes, u64::saturating_add);
        let start = self.state.cursor().position.0;
        let (seen, all) = (self.seen.0, self.snapshot.end().0);
        let seen = u128::from(seen.saturating_sub(start).max(1));
        let all = u128::from(all.saturating_sub(start)).max(seen);
        let bytes = u128::from(bytes).saturating_mul(all) / seen;
        Ok(u64::try_from(bytes).unwrap_or(u64::MAX))
    }

    fn is_paused(&self) -> bool {
        self.state.is_paused()
    }
}
