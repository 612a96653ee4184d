//! Offers articles on the connections of a peer, as long as there is room.

use std::time::Duration;

use store::{HistoryLine, Position};

use super::super::connection::{Appended, Connection, Flying};
use super::super::counts::add;
use super::super::deferrals::Deferrals;
use super::super::lane::{Lane, Settled};
use super::super::pace::Pace;
use super::super::peers::wants_late;
use super::{Context, Peer, SECOND};
use crate::deferred::Deferred;
use crate::error::Error;
use crate::site_state;
use crate::togo::names_site;

/// Most bytes that a connection writes in one turn, so that other peers get theirs.
const TURN_BYTES: u64 = 1 << 20;
/// Interval between two looks whether the feed is paused.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Interval between two looks at the clock, outside of the hours of a site: somebody may set it.
const HOURS_LOOK: Duration = Duration::from_secs(60);
/// Bytes that are reserved for an article that goes without its body, at most: its header is read only when the peer wants it.
const HEADER_BYTES: u64 = 2 << 10;
/// Why articles wait then.
const OUTSIDE_HOURS: &str = "its hours have not come";

impl Peer {
    /// Looks whether articles may be offered now: before the site's files and connections are taken.
    pub(super) fn check(&mut self, context: &Context<'_>) -> Result<(), Error> {
        if self.holds_until.is_some_and(|until| context.now >= until) {
            self.holds_until = None;
            if self.is_outside_hours() {
                self.why.clear();
            }
        }
        if self.has_work(context.time) {
            self.look_for_pause(context)?;
            let wait = self.plan.seconds_to_hours(context.time);
            if wait > 0 {
                let longest = HOURS_LOOK.min(SECOND * wait);
                self.holds_until = Some(context.now + longest);
                OUTSIDE_HOURS.clone_into(&mut self.why);
            }
        }
        Ok(())
    }

    /// Whether articles wait for the hours of the site.
    pub(super) fn is_outside_hours(&self) -> bool {
        self.why == OUTSIDE_HOURS
    }

    /// Offers what there is room for.
    pub(super) fn offer(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        let may_offer = self.may_offer() && self.state.is_some();
        self.has_more = false;
        // New articles go before the backlog within the rate.
        let count = self.connections.len();
        let places = [false, true].into_iter();
        let places = places.flat_map(|is_backlog| (0..count).map(move |place| (is_backlog, place)));
        for (is_backlog, place) in places {
            let Some(Some(connection)) = self.connections.get_mut(place) else {
                continue;
            };
            if connection.is_backlog != is_backlog {
                continue;
            }
            let Some(lanes) = self.lanes.as_mut() else {
                continue;
            };
            let selected_from = lanes.selected_from;
            let Some(lane) = lanes.of_kind(is_backlog) else {
                continue;
            };
            let mut source = Source {
                lane,
                // Deferred articles go with the new ones.
                deferrals: (!is_backlog).then_some(&mut self.deferrals),
                list: self.state.as_ref().map_or(&[], |state| state.deferred()),
                pace: &mut self.pace,
                may_offer,
                is_headfeed: self.plan.via.headfeed,
                name: &self.plan.name,
                selected_from,
                offered: 0,
            };
            let mut written = 0;
            connection.exchange_buffer(context.buffer);
            let failure = loop {
                let has_filled = source.fill(connection, context)?;
                match connection.flush(context.now) {
                    Err(failure) => break Some(failure),
                    Ok(bytes) => written += bytes,
                }
                if !has_filled || !connection.is_flushed() {
                    break None;
                }
                if written >= TURN_BYTES {
                    self.has_more = true;
                    break None;
                }
            };
            connection.exchange_buffer(context.buffer);
            add(&self.counts.offered, source.offered);
            add(&self.counts.bytes, written);
            match connection.in_flight() {
                0 => _ = connection.idle_since.get_or_insert(context.now),
                _ => connection.idle_since = None,
            }
            self.has_more |= connection.has_more();
            if let Some(failure) = failure {
                self.lose(place, failure, context);
            }
        }
        Ok(())
    }

    /// Looks whether the feed is paused: before the first article after a rest, and then now and then.
    fn look_for_pause(&mut self, context: &Context<'_>) -> Result<(), Error> {
        let is_recent = |at| context.now.saturating_duration_since(at) < LOOK_EVERY;
        if self.idle_since.is_some() || !self.paused_looked.is_some_and(is_recent) {
            self.paused_looked = Some(context.now);
            self.paused = site_state::paused(&self.root, &self.plan.name)?;
        }
        Ok(())
    }
}

/// Where the articles of a connection come from.
struct Source<'a> {
    lane: &'a mut Lane,
    deferrals: Option<&'a mut Deferrals>,
    list: &'a [Deferred],
    pace: &'a mut Pace,
    may_offer: bool,
    is_headfeed: bool,
    name: &'a [u8],
    /// The position from which records name the site.
    selected_from: Position,
    offered: u64,
}

impl Source<'_> {
    /// Appends articles to the output of a connection until it has enough; returns whether there were any.
    fn fill(
        &mut self,
        connection: &mut Connection,
        context: &mut Context<'_>,
    ) -> Result<bool, Error> {
        let mut has_filled = false;
        // What the peer waits for comes first; it is reserved already.
        while let Some(flying) = connection.next_wanted() {
            has_filled = true;
            let position = match flying {
                Flying::Article(ticket) => self.lane.position(ticket),
                Flying::Deferred(position) => Some(position),
            };
            let article = match position {
                Some(position) => article(context, position)?,
                None => Err(Settled::Gone),
            };
            if let Some(position) = position {
                self.pace.release(position);
            }
            match (connection.send(flying, article.ok()), article) {
                (Some(appended), article) => {
                    self.is_appended(flying, appended);
                    // What the peer replies to an empty article does not count.
                    if article == Err(Settled::Unreadable) {
                        self.settle(flying, Settled::Unreadable);
                    }
                }
                (None, Ok(_)) => self.settle(flying, Settled::Gone),
                (None, Err(settled)) => self.settle(flying, settled),
            }
        }
        while self.may_offer && connection.has_room() && self.pace.allows(context.now) {
            let Some((flying, position)) = self.next(connection, context) else {
                break;
            };
            has_filled = true;
            if let Err(settled) = self.check_again(context, (flying, position))? {
                self.settle(flying, settled);
                continue;
            }
            // A peer that is asked first may have it: only the id is read.
            let found = if connection.is_trusted() {
                article(context, position)?.map(|(id, wire)| (id, wire, None))
            } else {
                let line = id_line(context, position)?;
                line.map(|line| (line.id, &[][..], Some(line.size.unwrap_or(0))))
            };
            match found {
                Ok((id, wire, asked)) => {
                    self.offered += 1;
                    // When the peer wants it, it waits for it.
                    if let Some(bytes) = asked {
                        let most = if self.is_headfeed {
                            HEADER_BYTES
                        } else {
                            u64::MAX
                        };
                        self.pace.reserve(position, bytes.min(most));
                    }
                    let appended = connection.offer(id, flying, wire);
                    self.is_appended(flying, appended);
                }
                Err(settled) => self.settle(flying, settled),
            }
        }
        Ok(has_filled)
    }

    /// Checks an article that the disk could not read: whether it can now, and whether the peer gets it. An error is its fate.
    fn check_again(
        &self,
        context: &mut Context<'_>,
        (flying, position): (Flying, Position),
    ) -> Result<Result<(), Settled>, Error> {
        let is_of_list = matches!(flying, Flying::Deferred(_));
        let mut deferrals = self.deferrals.iter().filter(|_| is_of_list);
        if !deferrals.any(|deferrals| deferrals.is_unreadable(position)) {
            return Ok(Ok(()));
        }
        let record = match context.snapshot.record(position, context.record) {
            Ok(Some(record)) => record,
            Err(error) if error.is_unreadable() => return Ok(Err(Settled::Unreadable)),
            Ok(None) | Err(store::Error::Damaged { .. }) => return Ok(Err(Settled::Gone)),
            Err(error) => return Err(error.into()),
        };
        let how = (&*context.snapshot, &mut *context.selector, context.sites);
        let is_selected = if position >= self.selected_from {
            names_site(&record, self.name)
        } else {
            wants_late(how, &record, self.name)
        };
        Ok(if is_selected {
            Ok(())
        } else {
            Err(Settled::Refused)
        })
    }

    fn is_appended(&mut self, flying: Flying, appended: Appended) {
        self.pace.spend(appended.bytes);
        if let (Flying::Article(ticket), Some(size)) = (flying, appended.size) {
            self.lane.set_bytes(ticket, size);
        }
    }

    fn next(
        &mut self,
        connection: &mut Connection,
        context: &Context<'_>,
    ) -> Option<(Flying, Position)> {
        connection.is_alone = false;
        let deferrals = self.deferrals.as_mut();
        if let Some(position) =
            deferrals.and_then(|deferrals| deferrals.next(self.list, context.time))
        {
            return Some((Flying::Deferred(position), position));
        }
        if let Some((ticket, position)) = self.lane.next() {
            return Some((Flying::Article(ticket), position));
        }
        // An article at which connections broke goes last and alone, so that it takes no other one along.
        let is_last = connection.in_flight() == 0 && self.lane.seen() >= context.snapshot.end();
        let deferrals = self.deferrals.as_mut().filter(|_| is_last)?;
        let position = deferrals.next_blamed(context.time)?;
        connection.is_alone = true;
        Some((Flying::Deferred(position), position))
    }

    /// Settles an article that is not offered.
    fn settle(&mut self, flying: Flying, settled: Settled) {
        match (flying, &mut self.deferrals) {
            (Flying::Article(ticket), _) => self.lane.settle(ticket, settled),
            (Flying::Deferred(position), Some(deferrals)) => deferrals.settle(position, settled),
            (Flying::Deferred(_), None) => {}
        }
    }
}

/// An article's id, and its text with the line of one dot.
type IdAndText<'a> = (&'a [u8], &'a [u8]);

/// An article; an error is its fate: it expired, or was cancelled, or the disk cannot read it.
pub(in super::super) fn article<'c>(
    context: &'c mut Context<'_>,
    position: Position,
) -> Result<Result<IdAndText<'c>, Settled>, Error> {
    if let Some(place) = context.shared.place(position) {
        let is_gone = context.snapshot.is_cancelled(position);
        let kept = context.shared.at(place).filter(|_| !is_gone);
        return Ok(kept.ok_or(Settled::Gone));
    }
    let record = match context.snapshot.record(position, context.record) {
        Ok(record) => record,
        Err(error) if error.is_unreadable() => return Ok(Err(Settled::Unreadable)),
        // `fsck` reports it.
        Err(store::Error::Damaged { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let Some(record) = record else {
        return Ok(Err(Settled::Gone));
    };
    let (wire, line) = (record.wire(), HistoryLine::parse(record.line()));
    let Some(line) = line else {
        return Ok(Err(Settled::Gone));
    };
    if context.is_sharing {
        context.shared.keep(position, line.id, wire);
    }
    Ok(Ok((line.id, wire)))
}

/// The history line of an article, without the article; an error is its fate, as of [`article`].
fn id_line<'c>(
    context: &'c mut Context<'_>,
    position: Position,
) -> Result<Result<HistoryLine<'c>, Settled>, Error> {
    if context.snapshot.is_cancelled(position) {
        return Ok(Err(Settled::Gone));
    }
    match context.snapshot.line_at(position, context.record) {
        Ok(line) => Ok(line.ok_or(Settled::Gone)),
        Err(error) if error.is_unreadable() => Ok(Err(Settled::Unreadable)),
        // `fsck` reports it.
        Err(store::Error::Damaged { .. }) => Ok(Err(Settled::Gone)),
        Err(error) => Err(error.into()),
    }
}
