//! The articles that wait for a site: those that a peer deferred when the site was fed by NNTP, then those from its cursor on.

use std::collections::VecDeque;

use store::{Position, Record, Snapshot};

use crate::cursor::Cursor;
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
    /// Number of deferred articles, from the first on, that are taken.
    deferred_taken: usize,
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
            deferred_taken: 0,
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

    /// Offers the deferred articles, which no other way than NNTP leaves; returns whether all are taken.
    fn offer_deferred(
        &mut self,
        put: &mut dyn FnMut(Position, &Record<'_>) -> bool,
    ) -> Result<bool, Error> {
        while let Some(one) = self.state.deferred().get(self.deferred_taken).copied() {
            // The scan meets those behind the cursor.
            if self.state.cursor().has_passed(one.position) {
                let bytes = self.waiting_size(one.position)?;
                let taken = match bytes {
                    Some(_) => self.offer_one(one.position, put)?,
                    None => None,
                };
                match taken {
                    Some(false) => return Ok(false),
                    Some(true) => {
                        self.progress.sent += 1;
                        self.progress.sent_bytes += bytes.unwrap_or(0);
                    }
                    None => self.progress.skipped += 1,
                }
            }
            self.deferred_taken += 1;
        }
        Ok(true)
    }

    /// The size of the deferred articles that are not taken, bytes.
    fn deferred_bytes(&mut self) -> Result<u64, Error> {
        let left = self.state.deferred().iter().skip(self.deferred_taken);
        let left: Vec<Position> = left.map(|one| one.position).collect();
        left.into_iter().try_fold(0, |bytes: u64, position| {
            let size = self.waiting_size(position)?.unwrap_or(0);
            Ok(bytes.saturating_add(size))
        })
    }

    /// The size of an article, bytes; `None` if it expired or was cancelled.
    fn waiting_size(&mut self, position: Position) -> Result<Option<u64>, Error> {
        match self.snapshot.line_at(position, &mut self.record) {
            Ok(line) => {
                let line = line.filter(|line| self.snapshot.is_alive(line));
                Ok(line.map(|line| line.size.unwrap_or(0)))
            }
            // `fsck` reports it.
            Err(store::Error::Damaged { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
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
        if !self.offer_deferred(put)? {
            return Ok(());
        }
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
}

impl ArticleSource for FromCursor<'_> {
    fn offer(&mut self, put: &mut dyn FnMut(&Record<'_>) -> bool) -> Result<(), Error> {
        self.offer_at(&mut |_, record| put(record))
    }

    fn delivered(&mut self) -> Result<(), Error> {
        let mut progress = std::mem::take(&mut self.progress);
        progress.now = relay::Now::read().seconds;
        // A cursor that passed only articles for other sites may be reset.
        self.state.pass(self.next, progress, progress.sent > 0)?;
        let left = match std::mem::take(&mut self.deferred_taken) {
            0 => return Ok(()),
            taken => self.state.deferred().iter().skip(taken).copied().collect(),
        };
        self.state.set_deferred(left)
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
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        Ok(bytes.saturating_add(self.deferred_bytes()?))
    }

    fn is_paused(&self) -> bool {
        self.state.is_paused()
    }
}
