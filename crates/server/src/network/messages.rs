//! Handles the messages of the mailbox.

use std::sync::atomic::Ordering;

use nntp::{LoginResult, Session, TransferKind, TransferOutcome};
use store::Position;

use crate::article_batch::{ArticleBatch, ENTRY_BYTES};
use crate::client::{NO_LOGIN, TOO_MANY};
use crate::connection::{IoContext, READ_BYTES};
use crate::connection_status::ConnectionStatus;
use crate::counts::Counter;
use crate::mailbox::Message;
use crate::reader_counts::ReaderCounts;
use crate::thread_store;
use crate::timers::Timers;
use crate::token::Token;

use super::{Network, SPARE_BUFFERS_MAX, at, at_mut, seconds};

impl Network {
    pub(super) fn handle_messages(&mut self, ticks: u64) {
        for message in self.mailbox.take_all() {
            match message {
                Message::BatchDone(batch) => self.complete_batch(batch, ticks),
                Message::LoginDone(token, outcome) => self.logged_in(token, outcome, ticks),
                Message::FetchDone(token, position, result) => {
                    let has_failed = thread_store::note_fetch(&self.shared, result);
                    self.fetched((token, position), has_failed, ticks);
                }
                Message::FetchDisplaced(token, position) => {
                    self.fetched((token, position), true, ticks);
                }
                Message::Reloaded => self.reload(ticks),
                Message::Discard(token) => self.discard_input(token, ticks),
                Message::Ping(answer) => drop(answer),
                // Fails if the caller no longer waits.
                Message::Connections(to) => drop(to.send(self.statuses(ticks))),
                Message::Close(numbers, to) => drop(to.send(self.close(&numbers, ticks))),
                Message::CloseAll(line) => {
                    let all = self.tokens().collect();
                    self.close_after(all, line, ticks);
                }
                Message::TakeReaders(to) => drop(to.send(vec![self.take_readers()])),
                Message::Stop => self.is_stopping = true,
            }
        }
    }

    /// Completes the pending replies to a batch's articles.
    pub(super) fn complete_batch(&mut self, batch: ArticleBatch, ticks: u64) {
        let bytes = batch.transfer_bytes();
        self.shared.in_flight.fetch_sub(bytes, Ordering::Relaxed);
        let mut last: Option<Token> = None;
        let mut taken = 0;
        let received = batch.received;
        for (entry, id, length, outcome) in batch.outcomes() {
            if let Some(hash) = entry.offered {
                self.shared.reservations.release(hash, entry.connection);
            }
            let Some(connection) = at_mut(&mut self.slots, entry.connection) else {
                continue;
            };
            let client = &mut connection.client;
            client.in_flight.0 = client.in_flight.0.saturating_sub(1);
            client.in_flight.1 = client.in_flight.1.saturating_sub(length + ENTRY_BYTES);
            let what = match (outcome, entry.kind) {
                (TransferOutcome::Accepted, kind) => {
                    client.tally.add(Counter::AcceptedBytes, length as u64);
                    taken += 1;
                    match kind {
                        TransferKind::Post => Counter::Posted,
                        TransferKind::Ihave | TransferKind::TakeThis => Counter::Accepted,
                    }
                }
                (TransferOutcome::Duplicate, _) => Counter::Duplicates,
                (TransferOutcome::Refused(_), _) => entry.refusal_counter,
                (TransferOutcome::Deferred(_), _) => Counter::Deferred,
            };
            client.tally.add(what, 1);
            if Session::complete_transfer(entry.kind, id, outcome, connection.out()) {
                connection.close_after(b"");
            }
            last = Some(entry.connection);
        }
        let mut buffer = batch.into_buffer();
        // One that a large article has grown is freed.
        let is_usual = (READ_BYTES..=2 * READ_BYTES).contains(&buffer.capacity());
        if self.spare.len() < SPARE_BUFFERS_MAX && is_usual {
            buffer.clear();
            self.spare.push(buffer);
        }
        // All articles of a batch belong to one connection.
        if let Some(token) = last {
            if let Some(connection) = at(&self.slots, token).filter(|_| taken > 0) {
                connection
                    .client
                    .peer
                    .latency
                    .add(received.elapsed(), taken);
            }
            self.resume(token, ticks);
        }
    }

    pub(super) fn logged_in(&mut self, token: Token, outcome: access::Outcome, ticks: u64) {
        let Some(mut connection) = self.take(token) else {
            return;
        };
        let client = &mut connection.client;
        let result = match outcome {
            access::Outcome::LoggedIn { user, .. } => {
                if client.log_in(Some(user), &self.shared) {
                    LoginResult::Accepted(client.permissions())
                } else {
                    LoginResult::Failed(TOO_MANY)
                }
            }
            access::Outcome::Failed(why) => {
                client.login_failed(&self.shared, &why);
                LoginResult::Failed(NO_LOGIN)
            }
            access::Outcome::Refused(why) => {
                client.login_refused(&self.shared, &why);
                LoginResult::Refused
            }
            access::Outcome::Malformed(why) => {
                client.login_failed(&self.shared, why);
                LoginResult::Refused
            }
        };
        connection.logged_in(&result);
        let until = self.slice_end();
        let mut context = context!(self, ticks, until);
        let done = connection.resume(&mut context);
        self.put(connection, done);
    }

    /// Continues a session that waited for an article from the object store.
    fn fetched(&mut self, (token, position): (Token, Position), has_failed: bool, ticks: u64) {
        let Some(mut connection) = self.take(token) else {
            return;
        };
        connection.client.fetched(position, has_failed);
        let until = self.slice_end();
        let mut context = context!(self, ticks, until);
        let done = connection.resume(&mut context);
        self.put(connection, done);
    }

    /// Lets a connection discard its incomplete input.
    pub(super) fn discard_input(&mut self, token: Token, ticks: u64) {
        if let Some(mut connection) = self.take(token) {
            let until = self.slice_end();
            let mut context = context!(self, ticks, until);
            let done = connection.discard_input(&mut context);
            self.put(connection, done);
        }
    }

    /// The state of all connections.
    fn statuses(&self, ticks: u64) -> Vec<ConnectionStatus> {
        let connections = self
            .slots
            .iter()
            .filter_map(|slot| slot.connection.as_ref());
        connections
            .map(|connection| connection.status(ticks))
            .collect()
    }

    /// The counts of readers since the last call, those of open connections included.
    fn take_readers(&mut self) -> ReaderCounts {
        let connections = self
            .slots
            .iter_mut()
            .filter_map(|slot| slot.connection.as_mut());
        for connection in connections {
            connection.count_reader(&mut self.store.readers, false);
        }
        std::mem::take(&mut self.store.readers)
    }

    /// Closes the connections with these numbers. Returns the numbers found.
    fn close(&mut self, numbers: &[u64], ticks: u64) -> Vec<u64> {
        let number = |token| at(&self.slots, token).map(|connection| connection.client.number);
        let all = self.tokens();
        let found = all.filter(|token| number(*token).is_some_and(|one| numbers.contains(&one)));
        let found: Vec<Token> = found.collect();
        let line = b"400 Connection closed by the administrator\r\n";
        self.close_after(found, line, ticks)
    }

    /// Closes these connections after a last line. Returns their numbers.
    fn close_after(&mut self, found: Vec<Token>, line: &[u8], ticks: u64) -> Vec<u64> {
        let mut closed = Vec::new();
        for token in found {
            if let Some(mut connection) = self.take(token) {
                closed.push(connection.client.number);
                // A line within the handshake would not be one of TLS.
                if connection.handshake().is_none() {
                    connection.close_after(line);
                    let until = self.slice_end();
                    let context = context!(self, ticks, until);
                    let _ = connection.send(&context);
                    if !connection.has_output() {
                        connection.end_layers();
                    }
                }
                self.end(connection);
            }
        }
        closed
    }

    pub(super) fn reload(&mut self, ticks: u64) {
        let all: Vec<Token> = self.tokens().collect();
        // Time limits may be shorter now.
        self.timers = Timers::default();
        for token in all {
            let time_limit = self.time_limit(token);
            if let Some(mut connection) = self.take(token) {
                self.timers.add(connection.active + time_limit, token);
                connection.client.reload_rights(&self.shared);
                let had_timer = connection.has_suspension_timer;
                let is_free = had_timer && connection.client.suspended_until.is_none();
                connection.has_suspension_timer = had_timer && !is_free;
                if is_free {
                    // Its idle time begins now.
                    connection.active = ticks;
                }
                if let Some(at) = connection.client.suspended_until
                    && had_timer
                {
                    self.timers.add(at, token);
                }
                connection
                    .session
                    .set_permissions(connection.client.permissions());
                self.put(connection, Ok(()));
                if is_free {
                    self.resume(token, ticks);
                }
            }
        }
    }
}
