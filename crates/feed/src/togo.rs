//! The articles that wait for a site: those that a peer deferred when the site was fed by NNTP, or that the disk could not read, then those from
//! its cursor on.

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
    /// Number of deferred articles, from the first on, that are taken.
    deferred_taken: usize,
    /// Number of deferred articles that are to be offered. Behind them in the list are those that this run found unreadable.
    deferred_left: usize,
    /// The articles that were met since the last delivery and that the disk cannot read.
    unreadable: Vec<Deferred>,
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
            deferred_left: state.deferred().len(),
            state,
            late_selection,
            deferred_taken: 0,
            unreadable: Vec::new(),
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

    /// Offers the deferred articles; returns whether all are taken.
    fn offer_deferred(
        &mut self,
        put: &mut dyn FnMut(Position, &Record<'_>) -> bool,
    ) -> Result<bool, Error> {
        while self.deferred_taken < self.deferred_left
            && let Some(one) = self.state.deferred().get(self.deferred_taken).copied()
        {
            // The scan meets those behind the cursor.
            if self.state.cursor().has_passed(one.position) {
                let bytes = self.waiting_size(one.position)?;
                let offered = match bytes {
                    Some(_) => self.offer_one((one.position, one.is_unreadable), put)?,
                    None => Offered::Gone,
                };
                match offered {
                    Offered::Refused => return Ok(false),
                    Offered::Taken => {
                        self.progress.sent += 1;
                        self.progress.sent_bytes += bytes.unwrap_or(0);
                    }
                    Offered::Gone => self.progress.skipped += 1,
                    Offered::NotSelected => {}
                    Offered::Unreadable => self.keep(one.position, one.attempts),
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

    /// Offers an article, to a site that may get another selection if it could not be read before.
    fn offer_one(
        &mut self,
        (position, was_unreadable): (Position, bool),
        put: &mut dyn FnMut(Position, &Record<'_>) -> bool,
    ) -> Result<Offered, Error> {
        let record = match self.snapshot.record(position, &mut self.record) {
            Ok(Some(record)) => record,
            Err(error) if error.is_unreadable() => return Ok(Offered::Unreadable),
            // It expired meanwhile; `fsck` reports damage.
            Ok(None) | Err(store::Error::Damaged { .. }) => return Ok(Offered::Gone),
            Err(error) => return Err(error.into()),
        };
        let selected_from = self.state.cursor().selected_from;
        let site = self.state.site();
        let is_selected = !was_unreadable
            || if position >= selected_from {
                names_site(&record, site)
            } else {
                (self.late_selection)(&record, site)
            };
        Ok(match is_selected && put(position, &record) {
            true => Offered::Taken,
            false if is_selected => Offered::Refused,
            false => Offered::NotSelected,
        })
    }

    /// Keeps an article that the disk cannot read: the list of deferred articles has it before the cursor passes it.
    fn keep(&mut self, position: Position, attempts: u64) {
        let now = relay::Now::read().seconds;
        let kept = Deferred::unreadable(position, attempts.saturating_add(1), now);
        self.unreadable.push(kept);
    }
}

/// Whether a record names a site.
pub(crate) fn names_site(record: &Record<'_>, site: &[u8]) -> bool {
    let mut sites = record.sites().split(|&byte| byte == b' ');
    sites.any(|name| name == site)
}

/// The fate of an offered article.
enum Offered {
    Taken,
    /// It belongs to the next batch.
    Refused,
    /// It expired or was cancelled.
    Gone,
    /// It was unreadable, and the site does not get it.
    NotSelected,
    Unreadable,
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
                let was_unreadable = item.commit_sequence.is_none();
                let offered = self.offer_one((item.position, was_unreadable), put)?;
                if matches!(offered, Offered::Refused) {
                    return Ok(());
                }
                self.items.pop_front();
                self.next = item.next;
                self.progress.skipped += item.gone;
                match offered {
                    Offered::Taken => {
                        self.progress.sent += 1;
                        self.progress.sent_bytes += item.bytes;
                        let last = item
                            .commit_sequence
                            .map(|sequence| (item.position, sequence));
                        self.progress.last = last.or(self.progress.last);
                    }
                    Offered::Unreadable => self.keep(item.position, 0),
                    Offered::Gone => self.progress.skipped += 1,
                    Offered::NotSelected | Offered::Refused => {}
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
        let taken = std::mem::take(&mut self.deferred_taken);
        let unreadable = std::mem::take(&mut self.unreadable);
        if taken > 0 || !unreadable.is_empty() {
            let left = self.state.deferred().iter().skip(taken).copied();
            let list = left.chain(unreadable).collect();
            self.deferred_left = self.deferred_left.saturating_sub(taken);
            self.state.set_deferred(list)?;
        }
        // A cursor that passed only articles for other sites may be reset.
        self.state.pass(self.next, progress, progress.sent > 0)
    }

    fn unreadable(&self) -> u64 {
        let listed = self.state.deferred().len();
        listed.saturating_sub(self.deferred_left) as u64
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
