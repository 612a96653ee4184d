//! The connections of a peer: begun, read, given up.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::nntp::client::Outcome;
use rustix::event::epoll::{self, EventData, EventFlags};
use store::Position;

use super::super::connection::{Connection, Failure, Flying};
use super::super::counts::{FeedCounts, RefusalAnswer, Weight, add};
use super::super::lane::{Lane, Settled};
use super::{Context, Peer, SECOND, WRITTEN_BYTES};
use crate::answers::{Answer, AnswerNotes};
use crate::cursor::Cursor;
use crate::error::Error;
use crate::remote::Remote;
use crate::site_state::SiteState;

/// After so many failed connections on which an article was the oldest in flight, it is deferred: it may be the reason.
const FAILURES_MAX: u8 = 5;
/// A peer that defers so many articles one after the other rests.
const DEFERRED_IN_A_ROW: u32 = 100;
/// Most articles in a row that a peer refuses by a general error. Behind them, or if it has replied nothing else, it may fail at all commands: then
/// articles are deferred.
const FAILED_IN_A_ROW: u32 = 10;
/// How long there are no further connections after one failed without an answer, and after one that had answers.
const FEWER: Duration = Duration::from_secs(300);
const FEWER_AFTER_ANSWERS: Duration = SECOND;
/// A peer that answered nothing may close a connection that was idle for so long. An earlier end is a failure.
const IDLE_EXPECTED: Duration = Duration::from_secs(10);
/// How long another program may serve the site before it is told.
const BUSY_PATIENCE: Duration = Duration::from_millis(100);
/// How long the address that worked is used without another look-up.
const ADDRESS_LASTS: Duration = Duration::from_secs(3600);
/// How long a peer that defers everything rests, seconds.
const HOLD_SECONDS: u32 = 15;

/// The key of a connection in the events of the kernel.
pub(in super::super) fn event_key(place: usize, connection: usize) -> u64 {
    ((place as u64) << 8) | (connection as u64 & 0xff)
}

/// The peer's place and the connection of a key.
pub(in super::super) fn of_event_key(key: u64) -> (usize, usize) {
    ((key >> 8) as usize, (key & 0xff) as usize)
}

impl Peer {
    /// Reads the answers.
    pub(super) fn receive(&mut self, context: &mut Context<'_>) {
        for place in 0..self.connections.len() {
            let Some(Some(connection)) = self.connections.get_mut(place) else {
                continue;
            };
            let was_ready = connection.is_ready();
            let answered = connection.answered;
            let is_backlog = connection.is_backlog;
            let mut answers = Answers {
                lane: self
                    .lanes
                    .as_mut()
                    .and_then(|lanes| lanes.of_kind(is_backlog)),
                deferrals: &mut self.deferrals,
                notes: &mut self.answers,
                pace: &mut self.pace,
                counts: &self.counts,
                deferred_in_a_row: &mut self.deferred_in_a_row,
                failed_in_a_row: &mut self.failed_in_a_row,
                refusal: None,
                time: context.time,
            };
            let read = connection.receive(context.now, &mut |flying, outcome| {
                answers.take(flying, outcome);
            });
            let refusal = answers.refusal.take();
            if !was_ready && connection.is_ready() {
                connection.idle_since = Some(context.now);
                self.addresses.clear();
                self.good_address = self.address;
            }
            let has_answered = connection.answered > answered;
            if has_answered {
                self.end_outage();
            }
            if has_answered && self.deferred_in_a_row == 0 {
                self.is_answered();
            }
            if let Some(refusal) = refusal {
                self.tell_refusal(&refusal, context);
            }
            if self.deferred_in_a_row >= DEFERRED_IN_A_ROW {
                self.deferred_in_a_row = 0;
                self.holds_until = Some(context.now + SECOND * HOLD_SECONDS);
                self.why = "the peer wants all articles later".to_owned();
            }
            if let Err(failure) = read {
                self.lose(place, failure, context);
            }
        }
    }

    /// Tells the administrator of a refusal, once a minute at most.
    fn tell_refusal(&mut self, text: &str, context: &Context<'_>) {
        let is_recent = |told: Instant| context.now.saturating_duration_since(told) < SECOND * 60;
        if !self.refusal_told.is_some_and(is_recent) {
            self.refusal_told = Some(context.now);
            let name = groups::shown(&self.plan.name);
            let text = format!("{name}: the peer refused an article: {text}");
            (context.tell)(Weight::Work, &text);
        }
    }

    /// A connection failed, or was closed by the peer.
    pub(super) fn lose(&mut self, place: usize, failure: Failure, context: &mut Context<'_>) {
        let Some(Some(connection)) = self.connections.get(place) else {
            return;
        };
        let (was_ready, is_leaving) = (connection.is_ready(), connection.is_leaving());
        let had_answers = connection.answered > 0;
        let was_idle = was_ready && connection.in_flight() == 0;
        let is_long = |since| context.now.saturating_duration_since(since) >= IDLE_EXPECTED;
        let may_close = was_idle && (had_answers || connection.idle_since.is_some_and(is_long));
        let is_expected = is_leaving || (may_close && matches!(failure, Failure::Closed));
        let blamed = self.close(place, context);
        if is_expected {
            return;
        }
        // A peer that breaks at every article rests longer and longer all the same.
        let is_found = |position| self.blamed_last.is_none_or(|last| last == position);
        if had_answers || blamed.is_some_and(is_found) {
            self.back_off.succeeded();
        }
        let others = self.connections.iter().flatten();
        let others = others.filter(|one| one.is_ready()).count();
        if blamed.is_some() {
            self.blamed_last = blamed;
            let why = self.breaks(context).unwrap_or_default();
            match others {
                0 => self.fail_after(had_answers, why, context),
                _ => self.why = why,
            }
            return;
        }
        if others > 0 {
            self.growth_of_new.shrink();
            self.growth_of_backlog.shrink();
            let pause = if had_answers {
                FEWER_AFTER_ANSWERS
            } else {
                FEWER
            };
            let until = context.now + pause;
            let longer = self.fewer.filter(|(_, known)| *known > until);
            self.fewer = Some(longer.map_or((others, until), |(_, known)| (others, known)));
            if !had_answers {
                // The peer may not want so many.
                let name = groups::shown(&self.plan.name);
                let text = format!("{name}: a further connection failed: {failure}");
                (context.tell)(Weight::Work, &text);
            }
            return;
        }
        if !was_ready && !self.addresses.is_empty() {
            self.connect_next(failure, context);
            return;
        }
        if !was_ready {
            // The host may have another address now.
            self.looked_up = None;
        }
        self.fail_after(had_answers, failure.to_string(), context);
    }

    /// The last connection failed.
    fn fail_after(&mut self, had_answers: bool, why: String, context: &mut Context<'_>) {
        if had_answers {
            self.retry_later(why, context)
        } else {
            self.fail(why, context)
        }
    }

    /// Closes a connection; what is in flight is offered again. Returns the article that is deferred, since it may be the reason.
    pub(super) fn close(&mut self, place: usize, context: &mut Context<'_>) -> Option<Position> {
        let connection = self.connections.get_mut(place)?.take()?;
        let mut blamed = None;
        let _ = epoll::delete(context.epoll, &connection);
        let lanes = self.lanes.as_mut();
        let mut lane = lanes.and_then(|lanes| lanes.of_kind(connection.is_backlog));
        let was_ready = connection.is_ready();
        for (at, flying) in connection.into_in_flight().enumerate() {
            let position = match (flying, &lane) {
                (Flying::Deferred(position), _) => Some(position),
                (Flying::Article(ticket), Some(lane)) => lane.position(ticket),
                (Flying::Article(_), None) => None,
            };
            if let Some(position) = position {
                self.pace.release(position);
            }
            let mut is_reason = false;
            if let Some(position) = position.filter(|_| at == 0 && was_ready) {
                let is_known = self.deferrals.is_blamed(position);
                let before = self.suspect.filter(|(suspect, _)| *suspect == position);
                let failures = before.map_or(0, |(_, failures)| failures) + 1;
                is_reason = is_known || failures >= FAILURES_MAX;
                self.suspect = (!is_reason).then_some((position, failures));
                if is_reason {
                    self.deferrals.blame(position);
                    blamed = Some(position);
                }
            }
            match (flying, &mut lane) {
                (Flying::Deferred(position), _) if is_reason => {
                    self.deferrals.settle(position, Settled::Deferred);
                }
                (Flying::Deferred(position), _) => self.deferrals.give_back(position),
                (Flying::Article(ticket), Some(lane)) if is_reason => {
                    lane.settle(ticket, Settled::Deferred);
                }
                (Flying::Article(ticket), Some(lane)) => lane.give_back(ticket),
                (Flying::Article(_), None) => {}
            }
        }
        blamed
    }

    /// Takes the site's files and a connection, where there is something to offer.
    pub(super) fn take_up(&mut self, context: &mut Context<'_>) -> Result<(), Error> {
        let has_work = self.has_work(context.time);
        let is_far = |stored: Option<Cursor>, passed: Position| {
            stored.is_none_or(|stored| passed.0 >= stored.position.0 + WRITTEN_BYTES)
        };
        let is_to_write = match (&self.lanes, &self.state) {
            (Some(lanes), None) if lanes.is_empty() && lanes.backlog.is_none() => {
                self.writes || is_far(self.stored, lanes.new.passed())
            }
            _ => false,
        };
        if !is_to_write && (!has_work || !self.may_offer()) {
            return Ok(());
        }
        // A peer that does not answer costs no files.
        let is_ready = self.connections.iter().flatten().any(Connection::is_ready);
        if self.state.is_none() && (is_ready || is_to_write) {
            let taken = SiteState::try_take(&self.root, &self.plan.name, context.snapshot);
            let state = match taken {
                Err(error @ Error::Busy(_)) => {
                    self.is_served_elsewhere(&error, context);
                    return Ok(());
                }
                taken => taken?,
            };
            (self.is_busy, self.busy_since) = (false, None);
            // Somebody else may have moved it.
            let is_known =
                self.stored == Some(*state.cursor()) && self.deferrals.knows(state.deferred());
            if self.lanes.is_none() || !is_known {
                self.follow(&state);
            }
            self.state = Some(state);
        }
        let is_open = self.connections.iter().flatten().next().is_some();
        if has_work && self.may_offer() && !is_open && self.look_up.is_none() {
            match Remote::open(&self.root, &self.plan.via.server) {
                Ok(remote) => self.remote = Some(Arc::new(remote)),
                Err(error) => {
                    self.fail(error.to_string(), context);
                    return Ok(());
                }
            }
            let is_recent = |at| context.now.saturating_duration_since(at) < ADDRESS_LASTS;
            match self.good_address {
                Some(address) if self.looked_up.is_some_and(is_recent) => {
                    self.addresses = [address].into();
                    self.connect_next(no_address(), context);
                }
                _ => self.look_up_addresses(context),
            }
        }
        Ok(())
    }

    /// Another program serves the site: what waits then is seen a little later. Who only looks at the lock has it for a moment.
    fn is_served_elsewhere(&mut self, error: &Error, context: &Context<'_>) {
        let since = *self.busy_since.get_or_insert(context.now);
        let mut pause = SECOND / 100;
        if context.now >= since + BUSY_PATIENCE {
            self.is_busy = true;
            self.why = error.to_string();
            pause = SECOND / 10;
        }
        self.lanes = None;
        self.retry_at = Some(context.now + pause);
    }

    fn look_up_addresses(&mut self, context: &mut Context<'_>) {
        *context.look_ups += 1;
        let number = (*context.look_ups << 16) | (context.place as u64 & 0xffff);
        self.look_up = Some(number);
        let server = &self.plan.via.server;
        let host = (server.host.as_str(), server.port);
        let number = (number, self.look_up_failed);
        context.resolver.look_up(host, number, context.mailbox);
    }

    /// Takes the addresses of the host.
    pub fn resolved(
        &mut self,
        number: u64,
        found: std::io::Result<Vec<SocketAddr>>,
        context: &mut Context<'_>,
    ) {
        if self.look_up != Some(number) {
            return;
        }
        self.look_up = None;
        self.look_up_failed = found.is_err();
        match found {
            Ok(mut addresses) => {
                // A dead address before the one that worked would cost a minute.
                addresses.sort_by_key(|address| Some(*address) != self.good_address);
                self.looked_up = Some(context.now);
                self.addresses = addresses.into();
                self.connect_next(no_address(), context);
            }
            Err(error) => {
                let failure = Failure::Io("find the address of the host", error);
                if let Some(address) = self.good_address {
                    self.addresses = [address].into();
                    return self.connect_next(failure, context);
                }
                self.fail(
                    format!("{failure} ({})", self.plan.via.server.host),
                    context,
                );
            }
        }
    }

    /// Connects to the next address; `failure`: why the one before does not do.
    fn connect_next(&mut self, mut failure: Failure, context: &mut Context<'_>) {
        while let Some(address) = self.addresses.pop_front() {
            match self.connect(address, false, context) {
                Ok(()) => {
                    self.address = Some(address);
                    return;
                }
                Err(error) => failure = error,
            }
        }
        self.looked_up = None;
        self.fail(failure.to_string(), context);
    }

    fn connect(
        &mut self,
        address: SocketAddr,
        is_backlog: bool,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let Some(remote) = &self.remote else {
            return Ok(());
        };
        let how = (remote, self.plan.via.headfeed);
        let mut connection = Connection::begin(address, how, context.now)?;
        connection.is_backlog = is_backlog;
        let free = self.connections.iter().position(Option::is_none);
        let place = free.unwrap_or(self.connections.len());
        let data = EventData::new_u64(event_key(context.place, place));
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        epoll::add(context.epoll, &connection, data, flags)
            .map_err(|errno| Failure::Io("wait for the connection", errno.into()))?;
        match self.connections.get_mut(place) {
            Some(slot) => *slot = Some(connection),
            None => self.connections.push(Some(connection)),
        }
        Ok(())
    }

    /// Watches the patience with each connection, and how many there should be.
    pub(super) fn tend(&mut self, context: &mut Context<'_>) {
        self.watch_silence(context);
        for place in 0..self.connections.len() {
            let Some(Some(connection)) = self.connections.get(place) else {
                continue;
            };
            if connection
                .patience()
                .is_some_and(|until| context.now >= until)
            {
                let failure = connection.silence();
                self.lose(place, failure, context);
            }
        }
        if !self.may_offer() {
            return;
        }
        let mut moved = false;
        for connection in self.connections.iter_mut().flatten() {
            moved |= std::mem::take(&mut connection.moves);
        }
        let fewer = self.fewer.filter(|(_, until)| context.now < *until);
        let most = self.plan.connections_max();
        let most = fewer.map_or(most, |(count, _)| count.min(most));
        for is_backlog in [false, true] {
            let Some(lanes) = &mut self.lanes else { return };
            let has_next = lanes.of_kind(is_backlog).map(|lane| lane.has_next());
            let Some(has_next) = has_next else { continue };
            let has_next = has_next || (!is_backlog && self.deferrals.is_first_due(context.time));
            let own = self.connections.iter().flatten();
            // While an article goes alone, the others get another connection.
            let own = own
                .filter(|one| one.is_backlog == is_backlog && !one.is_leaving() && !one.is_held());
            let (mut count, mut answered, mut are_full) = (0, 0, true);
            for connection in own {
                count += 1;
                answered += connection.answered;
                are_full &= connection.is_full();
            }
            let all = self.connections.iter().flatten().count();
            let growth = if is_backlog {
                &mut self.growth_of_backlog
            } else {
                &mut self.growth_of_new
            };
            growth.decide(
                context.now,
                has_next && are_full && count > 0,
                answered,
                most,
            );
            let is_other_ready =
                all > 0 && self.connections.iter().flatten().any(Connection::is_ready);
            if !has_next || !is_other_ready || count >= growth.wanted() {
                continue;
            }
            if count == 0 && all >= most {
                self.share(is_backlog);
            } else if all < most
                && let Some(address) = self.address
                && let Err(failure) = self.connect(address, is_backlog, context)
            {
                let text = format!("{}: {failure}", groups::shown(&self.plan.name));
                (context.tell)(Weight::Work, &text);
            }
        }
        let moves = self.connections.iter().flatten().any(|one| one.moves);
        self.has_more |= moved && !moves;
    }

    /// A stretch of the log without a connection gets one of the other's, as soon as nothing is in flight on it.
    fn share(&mut self, is_backlog: bool) {
        let mut ready = self.connections.iter_mut().flatten();
        let Some(connection) = ready.find(|one| one.is_ready() && one.is_backlog != is_backlog)
        else {
            return;
        };
        match connection.in_flight() {
            0 => (connection.is_backlog, self.has_more) = (is_backlog, true),
            _ => connection.moves = true,
        }
    }

    /// Lets the kernel report the events of all connections to another loop.
    pub fn leave_loop(&mut self, epoll_of_loop: &std::os::fd::OwnedFd) {
        for connection in self.connections.iter().flatten() {
            let _ = epoll::delete(epoll_of_loop, connection);
        }
    }

    /// As [`Peer::leave_loop`]: here is the new loop.
    pub fn enter_loop(&mut self, context: &mut Context<'_>) {
        for place in 0..self.connections.len() {
            let Some(Some(connection)) = self.connections.get_mut(place) else {
                continue;
            };
            let data = EventData::new_u64(event_key(context.place, place));
            let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
            if let Err(errno) = epoll::add(context.epoll, connection, data, flags) {
                let failure = Failure::Io("wait for the connection", errno.into());
                self.lose(place, failure, context);
            }
        }
    }
}

/// Reports that a host has no address.
fn no_address() -> Failure {
    let none = std::io::Error::from(std::io::ErrorKind::AddrNotAvailable);
    Failure::Io("find an address of the host", none)
}

/// The text of a reply without the message-id at its beginning.
fn without_id(text: &str) -> &str {
    let rest = text.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    rest.map_or(text, |(_, rest)| rest).trim()
}

/// The state that the answers of a connection change.
struct Answers<'a> {
    lane: Option<&'a mut Lane>,
    deferrals: &'a mut super::Deferrals,
    notes: &'a mut AnswerNotes,
    pace: &'a mut super::Pace,
    counts: &'a FeedCounts,
    deferred_in_a_row: &'a mut u32,
    failed_in_a_row: &'a mut Option<u32>,
    /// The text of the first refusal.
    refusal: Option<String>,
    /// Seconds since 1970.
    time: i64,
}

impl Answers<'_> {
    /// Takes the outcome of an article. `None`: the peer asks for it.
    fn take(&mut self, flying: Flying, outcome: Option<Outcome>) {
        let counts = self.counts;
        if !matches!(outcome, Some(Outcome::Failed(_))) {
            *self.failed_in_a_row = Some(0);
        }
        let Some(outcome) = outcome else {
            return;
        };
        let position = match (flying, &self.lane) {
            (Flying::Deferred(position), _) => Some(position),
            (Flying::Article(ticket), Some(lane)) => lane.position(ticket),
            (Flying::Article(_), None) => None,
        };
        self.note(flying, position, &outcome);
        let settled = match outcome {
            Outcome::Accepted => {
                add(&counts.accepted, 1);
                self.deferrals.accepted(self.time);
                Settled::Accepted
            }
            Outcome::NotWanted(text) => {
                add(&counts.not_wanted, 1);
                counts.count_refusal(RefusalAnswer::NotWanted, &text);
                Settled::NotWanted
            }
            Outcome::Refused(text) => {
                add(&counts.refused, 1);
                counts.count_refusal(RefusalAnswer::Refused, &text);
                // Between CHECK and TAKETHIS another peer may send it.
                if !text.to_ascii_lowercase().contains("duplicate") {
                    self.refusal.get_or_insert(text);
                }
                Settled::Refused
            }
            Outcome::Failed(text) => self.failed(text),
            Outcome::Deferred => {
                add(&counts.deferred, 1);
                Settled::Deferred
            }
        };
        // An article that was sent has given it back.
        if let Some(position) = position {
            self.pace.release(position);
        }
        *self.deferred_in_a_row = match settled {
            Settled::Deferred => *self.deferred_in_a_row + 1,
            _ => 0,
        };
        match (flying, &mut self.lane) {
            (Flying::Article(ticket), Some(lane)) => lane.settle(ticket, settled),
            (Flying::Deferred(position), _) => {
                self.deferrals.settle(position, settled);
            }
            (Flying::Article(_), None) => {}
        }
    }

    /// Notes an answer that is not in the runs of the lane: that about a deferred article, and the text of a refusal.
    fn note(&mut self, flying: Flying, position: Option<Position>, outcome: &Outcome) {
        let is_of_list = matches!(flying, Flying::Deferred(_));
        let (answer, text) = match outcome {
            Outcome::Accepted if is_of_list => (Answer::Accepted, ""),
            Outcome::NotWanted(text) if is_of_list => (Answer::NotWanted, text.as_str()),
            Outcome::Refused(text) => (Answer::Refused, without_id(text)),
            Outcome::Failed(text) if !self.fails_at_all() => (Answer::Refused, text.as_str()),
            _ => return,
        };
        // An answer without a text is in the run.
        let has_run = !is_of_list && text.is_empty();
        if let Some(position) = position.filter(|_| !has_run) {
            self.notes.note(position, answer, text, self.time);
        }
    }

    /// Whether the peer may fail at all commands.
    fn fails_at_all(&self) -> bool {
        self.failed_in_a_row
            .is_none_or(|failed| failed >= FAILED_IN_A_ROW)
    }

    /// The fate of an article to whose offer the peer replied with a general error.
    fn failed(&mut self, text: String) -> Settled {
        match self.failed_in_a_row {
            Some(failed) if *failed < FAILED_IN_A_ROW => {
                *failed += 1;
                add(&self.counts.refused, 1);
                self.counts.count_refusal(RefusalAnswer::Refused, &text);
                self.refusal.get_or_insert(text);
                Settled::Refused
            }
            _ => {
                add(&self.counts.deferred, 1);
                self.refusal
                    .get_or_insert(text + " (the article is offered again later)");
                Settled::Deferred
            }
        }
    }
}
