//! Releases the files of a peer for which nothing waits, and computes the time of its next turn.

use std::time::{Duration, Instant};

use store::Position;

use super::super::connection::Connection;
use super::super::lane::Lane;
use super::cursor::named_article;
use super::{Context, Peer, SECOND, earlier};
use crate::deferred::DELAY_LAST;

/// How long a connection stays open without articles, seconds.
pub const IDLE_SECONDS_MAX: u32 = 300;
/// How long a further connection stays open without articles, seconds.
const IDLE_FURTHER_SECONDS: u32 = 10;
/// How long the files of a site stay open without articles.
const LINGER: Duration = SECOND;
/// Why articles wait when all others are settled. It is the same for any number of them, so that the journal has it once.
const LATER: &str = "the peer wants articles later";
/// The beginning of the reason why articles wait at which connections broke, and how many of them it names.
const BREAKS: &str = "connections break at ";
const NAMED_MAX: usize = 3;
/// How long they are left to others who asked for them.
const YIELD: Duration = Duration::from_millis(100);

impl Peer {
    /// Gives back what is not needed, and takes note of the end of what was waited for.
    pub(super) fn rest(&mut self, context: &mut Context<'_>) {
        let in_flight: usize = self.open().map(Connection::in_flight).sum();
        let is_settled = in_flight == 0 && self.list_due(context.now).is_none();
        if self.yields_until.is_some() && is_settled {
            self.yields_until = None;
            // The next turn reads the files again: at once, if nobody can have waited for them.
            let pause = self.state.as_ref().map_or(Duration::ZERO, |_| YIELD);
            self.release(context.now);
            self.retry_at = Some(context.now + pause);
            self.lanes = None;
        }
        if self.yields_until.is_some_and(|until| context.now >= until) {
            // An answer that does not come holds up no other article. Nobody else has changed the files.
            (self.yields_until, self.has_more) = (None, true);
            if let Some(state) = &self.state {
                self.deferrals.find_next_due(state.deferred());
            }
        }
        let lanes = self.lanes.as_ref();
        let is_empty = lanes.is_none_or(super::Lanes::is_empty) && is_settled;
        if is_empty {
            _ = self.idle_since.get_or_insert(context.now)
        } else {
            self.idle_since = None
        }
        let has_lingered = self.release_at().is_some_and(|at| context.now >= at);
        // Others may move the cursor of a feed that is paused, or whose hours have not come.
        if self.state.is_some() && (has_lingered || (is_settled && !self.may_offer())) {
            self.release(context.now);
            self.writes = false;
        }
        let ends = self.stops || self.paused.is_some();
        let mut longest = IDLE_SECONDS_MAX;
        for connection in self.connections.iter_mut().flatten() {
            let end = idle_end(connection, &mut longest);
            if end.is_some_and(|end| ends || context.now >= end) {
                connection.leave(context.now);
                let _ = connection.flush(context.now);
            }
        }
        if self.stops && is_settled {
            // What is not open yet has nothing to say.
            self.let_go(context);
        }
        // A reason lasts until an answer comes, or nothing waits.
        if self.retry_at.is_none() && is_settled && self.has_all(context.snapshot.end()) {
            let breaks = self.breaks(context);
            if self.deferrals.has_any() {
                self.why = breaks.unwrap_or_else(|| LATER.to_owned())
            } else {
                self.why.clear();
                self.end_outage();
            }
        }
    }

    /// When the files of the site are given back: they were not needed for a while, and the cursor is to be synced, if it is not.
    fn release_at(&self) -> Option<Instant> {
        let lingered = self.idle_since? + LINGER;
        Some(self.sync_due().map_or(lingered, |due| due.max(lingered)))
    }

    /// An answer came: what was wrong is over, unless articles are still deferred.
    pub(super) fn is_answered(&mut self) {
        self.blamed_last = None;
        let is_kept = self.why == LATER || self.why.starts_with(BREAKS);
        if !is_kept || !self.deferrals.has_any() {
            self.why.clear();
        }
    }

    /// Names the articles at which connections broke. `None`: there are none.
    pub(super) fn breaks(&self, context: &Context<'_>) -> Option<String> {
        let blamed = self.deferrals.all_blamed();
        let named = blamed.iter().take(NAMED_MAX);
        let named = named.map(|position| named_article(context.snapshot, *position));
        let named = named.collect::<Vec<_>>().join(", ");
        let more = match blamed.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let last = "(offered last, and alone)";
        (!blamed.is_empty()).then(|| format!("{BREAKS}{named}{more} {last}"))
    }

    fn open(&self) -> impl Iterator<Item = &Connection> {
        self.connections.iter().flatten()
    }

    /// Whether there is more to do in another turn at once.
    pub fn has_more(&self) -> bool {
        self.has_more
    }

    /// Whether the peer has ended after [`Peer::stop`].
    pub fn has_ended(&self) -> bool {
        self.stops && self.connections.iter().all(Option::is_none)
    }

    /// Whether nothing can be done now: all is settled as far as `end`, or it fails, or is paused, or what is left is deferred.
    pub fn is_at_rest(&self, end: Position, time: i64) -> bool {
        let rests = self.retry_at.is_some() || self.holds_until.is_some();
        if self.paused.is_some() || (rests && !self.why.is_empty()) {
            return true;
        }
        let are_deferrals_idle = !self.deferrals.is_due(time) && !self.deferrals.are_on_the_way();
        self.has_all(end) && are_deferrals_idle && !self.writes
    }

    /// Whether all articles as far as `end` are settled.
    fn has_all(&self, end: Position) -> bool {
        let lanes = self.lanes.as_ref();
        lanes.is_some_and(|lanes| {
            lanes.each().all(|lane: &Lane| {
                let until = lane.until().unwrap_or(end);
                lane.is_empty() && lane.seen() >= until && lane.passed() >= until
            })
        })
    }

    /// When the peer wants a turn, if nothing happens before.
    pub fn next_turn(&self, context: &Context<'_>) -> Option<Instant> {
        let mut next = earlier(self.retry_at, self.holds_until);
        next = earlier(next, self.yields_until);
        let has_next = self.lanes.as_ref().is_some_and(super::Lanes::has_next);
        // Without room on a connection, the answers are what it waits for.
        if has_next && self.may_offer() && self.open().any(Connection::has_room) {
            next = earlier(next, self.pace.next(context.now));
        }
        for connection in self.open() {
            next = earlier(next, connection.patience());
        }
        next = earlier(next, self.silent_at());
        let mut longest = IDLE_SECONDS_MAX;
        for connection in self.open() {
            next = earlier(next, idle_end(connection, &mut longest));
        }
        next = earlier(next, self.list_due(context.now));
        next = earlier(next, self.answers_due(context.now));
        if self.state.is_some() {
            next = earlier(next, self.release_at());
        }
        if has_next {
            next = earlier(next, Some(context.now + SECOND * 3));
        }
        let due = self
            .deferrals
            .next_due()
            .filter(|_| self.retry_at.is_none());
        let wait = |due: i64| (due - context.time).clamp(1, DELAY_LAST).unsigned_abs();
        let due = due.map(wait);
        earlier(
            next,
            due.map(|wait| context.now + Duration::from_secs(wait)),
        )
    }
}

/// When a connection ends on which nothing is in flight; the first one lasts longest.
fn idle_end(connection: &Connection, longest: &mut u32) -> Option<Instant> {
    if !connection.is_ready() {
        return None;
    }
    let seconds = std::mem::replace(longest, IDLE_FURTHER_SECONDS);
    connection.idle_since.map(|since| since + SECOND * seconds)
}
