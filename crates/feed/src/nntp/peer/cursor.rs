//! Moves the cursor of a peer past what is settled, and writes the list of deferred articles.

use std::time::{Duration, Instant};

use store::{Position, Snapshot};

use super::super::counts::{Weight, add};
use super::super::deferrals::ATTEMPTS_MAX;
use super::super::lane::Lane;
use super::{Context, Lanes, Peer, SECOND};
use crate::answers::Answer;
use crate::cursor::Cursor;
use crate::error::Error;
use crate::serving::why_unreadable;
use crate::site_state::{Progress, SiteState};

/// After a power cut the feed goes on where it was at most so long ago, seconds.
pub const DURABLE_SECONDS_MAX: u32 = 10;
/// Interval between two writes of the list of deferred articles, and the number of articles in it for which it is a second longer.
const LIST_EVERY: Duration = SECOND;
const LIST_ARTICLES: usize = 25_000;
/// How long nothing is offered when the list is full and articles are in flight.
const FULL_PAUSE: Duration = Duration::from_secs(15);

impl Peer {
    /// Passes what is settled.
    pub(super) fn advance(&mut self, context: &Context<'_>) -> Result<(), Error> {
        // The cursor passes what is settled even if the list cannot be written: no deferred article is settled then.
        let listed = self.write_list(context);
        self.move_cursor(context)?;
        self.write_answers(context.now);
        listed
    }

    fn move_cursor(&mut self, context: &Context<'_>) -> Result<(), Error> {
        let (Some(lanes), Some(state)) = (&mut self.lanes, &mut self.state) else {
            return Ok(());
        };
        let (answers, time) = (&mut self.answers, context.time);
        let new = lanes.new.advance((answers, false), time);
        let backlog = lanes.backlog.as_mut();
        let backlog = backlog.and_then(|lane| lane.advance((answers, true), time));
        let mut cursor = *state.cursor();
        for progress in new.iter().chain(&backlog) {
            count(&mut cursor, progress, context.time);
        }
        lanes.place(&mut cursor);
        if cursor != *state.cursor() {
            // A cursor that passed only articles for others is not worth a sync.
            let has_answers = new
                .iter()
                .chain(&backlog)
                .any(|progress| progress.last.is_some());
            let is_due = has_answers
                && self
                    .durable_at
                    .is_none_or(|at| context.now >= at + SECOND * DURABLE_SECONDS_MAX);
            state.set_cursor(cursor, is_due)?;
            if is_due {
                self.durable_at = Some(context.now);
            }
            self.is_synced = is_due || (self.is_synced && !has_answers);
        }
        self.stored = Some(cursor);
        self.writes &= !lanes.is_empty();
        Ok(())
    }

    /// Writes the answers now and then, while the files of the site are here.
    fn write_answers(&mut self, now: Instant) {
        let is_due = self.answers.due(now).is_some_and(|due| now >= due);
        if let Some(state) = self.state.as_mut().filter(|_| is_due) {
            state.write_answers(&mut self.answers, now);
        }
    }

    /// When the answers are to be written, if there are any.
    pub(super) fn answers_due(&self, now: Instant) -> Option<Instant> {
        self.state.as_ref().and_then(|_| self.answers.due(now))
    }

    /// When the cursor is to be synced, if it is not.
    pub(super) fn sync_due(&self) -> Option<Instant> {
        let at = self.durable_at.filter(|_| !self.is_synced)?;
        Some(at + SECOND * DURABLE_SECONDS_MAX)
    }

    /// Gives the files of the site back, with the cursor on the disk.
    pub(super) fn release(&mut self, now: Instant) {
        let Some(mut state) = self.state.take() else {
            return;
        };
        if !self.is_synced {
            let cursor = *state.cursor();
            // An older cursor costs only articles sent twice.
            let _ = state.set_cursor(cursor, true);
            (self.is_synced, self.durable_at) = (true, Some(now));
        }
        state.write_last_answers(&mut self.answers, now);
    }

    /// Follows the files of the site, which somebody else may have changed.
    pub(super) fn follow(&mut self, state: &SiteState) {
        self.deferrals.reset(state.deferred());
        self.lanes = Some(Lanes::of(state.cursor()));
        self.stored = Some(*state.cursor());
    }

    /// When the list of deferred articles is to be written.
    pub(super) fn list_due(&self, now: Instant) -> Option<Instant> {
        let lanes = self.lanes.as_ref()?;
        let is_new = lanes.each().any(Lane::has_deferred);
        let count = self
            .state
            .as_ref()
            .map_or(0, |state| state.deferred().len());
        let longer = u32::try_from(count / LIST_ARTICLES).unwrap_or(0);
        let interval = LIST_EVERY + SECOND * longer;
        (is_new || self.deferrals.has_answers())
            .then(|| self.list_written.map_or(now, |at| at + interval))
    }

    /// Writes the list of deferred articles, before the cursor passes them.
    fn write_list(&mut self, context: &Context<'_>) -> Result<(), Error> {
        let ends = self.stops || self.yields_until.is_some() || self.retry_at.is_some();
        let is_due = |at| ends || context.now >= at;
        if !self.list_due(context.now).is_some_and(is_due) {
            return Ok(());
        }
        let is_waiting = self
            .connections
            .iter()
            .flatten()
            .any(|one| one.in_flight() > 0);
        let (Some(lanes), Some(state)) = (&mut self.lanes, &mut self.state) else {
            return Ok(());
        };
        let fresh = lanes.each().flat_map(Lane::deferred);
        let (list, given_up) = self.deferrals.list(state.deferred(), fresh, context.time);
        let written = match state.set_deferred(list) {
            Err(Error::TooManyDeferred { .. }) if is_waiting => {
                // The answers to what is in flight come first.
                self.list_written = Some(context.now);
                self.holds_until = Some(context.now + FULL_PAUSE);
                return Ok(());
            }
            Err(full @ Error::TooManyDeferred { .. }) => {
                // The answers about listed articles make room for others.
                let none = std::iter::empty::<(Position, bool)>();
                let (list, _) = self.deferrals.list(state.deferred(), none, context.time);
                state.set_deferred(list)?;
                Err(full)
            }
            written => {
                written?;
                lanes.each_mut().for_each(Lane::deferred_are_noted);
                Ok(())
            }
        };
        self.list_written = Some(context.now);
        let snapshot = &*context.snapshot;
        let size = |position| id_and_size(snapshot, position).map_or(0, |(_, size)| size);
        let progress = self.deferrals.progress(size);
        add(&self.counts.given_up, given_up.len() as u64);
        let name = groups::shown(&self.plan.name);
        for position in given_up {
            let article = named_article(snapshot, position);
            let reason = if self.deferrals.is_blamed(position) {
                "connections broke at it, or the peer deferred it,"
            } else {
                "the peer deferred it"
            };
            let text = format!("{name}: {article} is given up: {reason} {ATTEMPTS_MAX} times");
            (context.tell)(Weight::Work, &text);
            let time = context.time;
            self.answers.note(position, Answer::GivenUp, "", time);
        }
        let known = self.deferrals.unreadable_count();
        self.deferrals.written(state.deferred(), context.time);
        let unreadable = self.deferrals.unreadable_count();
        if unreadable > known
            && let Some(why) = why_unreadable(unreadable)
        {
            (context.tell)(Weight::Work, &format!("{name}: {why}"));
        }
        let mut cursor = *state.cursor();
        count(&mut cursor, &progress, context.time);
        if cursor != *state.cursor() {
            state.set_cursor(cursor, false)?;
        }
        written
    }

    /// After the backlog is settled, there is one stretch of the log again.
    pub(super) fn merge(&mut self) {
        let Some(lanes) = &mut self.lanes else { return };
        if lanes.backlog.as_ref().is_some_and(Lane::is_done) {
            lanes.backlog = None;
            // They may serve the new articles; those that are too many end when they are idle.
            for connection in self.connections.iter_mut().flatten() {
                connection.is_backlog = false;
            }
        }
    }
}

impl Lanes {
    /// The place in the log that is reached.
    fn place(&self, cursor: &mut Cursor) {
        match &self.backlog {
            Some(backlog) if !backlog.is_done() => {
                cursor.position = backlog.passed();
                let until = backlog.until().unwrap_or(self.new.passed());
                let ahead = (until, self.new.passed());
                cursor.ahead = (ahead.0 < ahead.1).then_some(ahead);
            }
            _ => (cursor.position, cursor.ahead) = (self.new.passed(), None),
        }
    }
}

/// The message-id of an article, for messages, and its size, bytes. `None`: it has gone.
fn id_and_size(snapshot: &Snapshot, position: Position) -> Option<(String, u64)> {
    let mut room = Vec::new();
    let line = snapshot.line_at(position, &mut room).ok()??;
    Some((line.id.escape_ascii().to_string(), line.size.unwrap_or(0)))
}

/// An article, for messages.
pub(super) fn named_article(snapshot: &Snapshot, position: Position) -> String {
    match id_and_size(snapshot, position) {
        Some((id, _)) => id,
        None => format!("the article at {}", position.0),
    }
}

fn count(cursor: &mut Cursor, progress: &Progress, time: i64) {
    cursor.last = progress.last.or(cursor.last);
    cursor.sent = cursor.sent.saturating_add(progress.sent);
    cursor.sent_bytes = cursor.sent_bytes.saturating_add(progress.sent_bytes);
    cursor.skipped = cursor.skipped.saturating_add(progress.skipped);
    if progress.sent > 0 {
        cursor.sent_at = u64::try_from(time).unwrap_or(0);
    }
}
