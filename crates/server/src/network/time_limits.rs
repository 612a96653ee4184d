//! Time limits of connections, and other timers.

use crate::event::Event;
use crate::timers::Timers;
use crate::token::Token;

use rustix::event::Timespec;

use super::{DEFLATE_IDLE_MILLISECONDS, Network, RETRY_MILLISECONDS, at, at_mut, ticks};

impl Network {
    pub(super) fn timeout(&self) -> Option<Timespec> {
        if !self.unfinished.is_empty() {
            return Some(Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            });
        }
        let soon = !self.paused.is_empty() || self.listeners_paused_until.is_some();
        let now = ticks();
        let timers = [&self.timers, &self.deflate_timers, &self.handshake_timers];
        let next = timers.into_iter().filter_map(Timers::next).min();
        let next = next.map(|at| at.saturating_sub(now));
        let wait = match (next, soon) {
            (Some(wait), true) => Some(wait.min(RETRY_MILLISECONDS)),
            (None, true) => Some(RETRY_MILLISECONDS),
            (wait, false) => wait,
        };
        wait.map(|wait| Timespec {
            tv_sec: (wait / 1000) as i64,
            tv_nsec: (wait % 1000 * 1_000_000) as i64,
        })
    }

    pub(super) fn expire_timers(&mut self, ticks: u64) {
        while let Some(token) = self.timers.due(ticks) {
            let Some(active) = self.active(token) else {
                continue;
            };
            if self.end_suspension(token, ticks) {
                continue;
            }
            let since = if self.waits_for_server(token) {
                ticks
            } else {
                active
            };
            let at = since + self.time_limit(token);
            if at > ticks {
                self.timers.add(at, token);
                continue;
            }
            self.time_out(token);
        }
        self.release_deflates(ticks);
        self.end_long_handshakes(ticks);
        if self.listeners_paused_until.is_some_and(|at| at <= ticks) {
            self.listeners_paused_until = None;
            // Fails for listeners that are registered already.
            let _ = self.register_listeners();
        }
        if !self.paused.is_empty() && !self.shared.is_full() {
            for token in std::mem::take(&mut self.paused) {
                if let Some(connection) = at_mut(&mut self.slots, token) {
                    connection.is_paused = false;
                    // Its idle time begins now.
                    connection.active = ticks;
                }
                self.register(token);
            }
        }
    }

    /// Releases the compressors of quiet connections.
    pub(super) fn release_deflates(&mut self, ticks: u64) {
        while let Some(token) = self.deflate_timers.due(ticks) {
            let Some(connection) = at_mut(&mut self.slots, token) else {
                continue;
            };
            if connection.release_deflate(DEFLATE_IDLE_MILLISECONDS, ticks) {
                connection.has_deflate_timer = false
            } else {
                self.deflate_timers
                    .add(ticks + DEFLATE_IDLE_MILLISECONDS, token)
            }
        }
    }

    pub(super) fn end_long_handshakes(&mut self, ticks: u64) {
        while let Some(token) = self.handshake_timers.due(ticks) {
            let Some(connection) = at_mut(&mut self.slots, token) else {
                continue;
            };
            connection.has_handshake_timer = false;
            if connection.handshake().is_some() {
                self.time_out(token);
            }
        }
    }

    /// Time of a connection's last progress, ms.
    pub(super) fn active(&self, token: Token) -> Option<u64> {
        at(&self.slots, token).map(|connection| connection.active)
    }

    /// Handles the timer of a suspended connection. Returns false if it is not suspended.
    pub(super) fn end_suspension(&mut self, token: Token, ticks: u64) -> bool {
        let Some(connection) = at_mut(&mut self.slots, token) else {
            return true;
        };
        match connection.client.suspended_until {
            None => false,
            // The suspension was extended.
            Some(at) if at > ticks => {
                self.timers.add(at, token);
                true
            }
            Some(_) => {
                connection.client.suspended_until = None;
                connection.has_suspension_timer = false;
                // Its idle time begins now.
                connection.active = ticks;
                self.resume(token, ticks);
                true
            }
        }
    }

    pub(super) fn waits_for_server(&self, token: Token) -> bool {
        at(&self.slots, token).is_some_and(|connection| connection.waits_for_server())
    }

    pub(super) fn time_limit(&self, token: Token) -> u64 {
        let times = self.shared.config().times;
        let is_new = at(&self.slots, token).is_some_and(|connection| !connection.has_spoken());
        let most = if is_new { times.first } else { times.idle };
        u64::try_from(most.as_millis()).unwrap_or(u64::MAX / 2)
    }

    pub(super) fn time_out(&mut self, token: Token) {
        let Some(mut connection) = self.take(token) else {
            return;
        };
        self.shared.counts.timed_out.increment();
        // An idle reader is not worth a log line.
        if connection.client.rights.is_peer() || !connection.has_spoken() {
            self.shared.sink.log(&Event::TimedOut {
                address: connection.client.address,
                entry: connection.client.rights.name(),
                is_receiving: connection.session.is_receiving(),
            });
        }
        // Without a reply, which would be taken for the one to the next command (RFC 3977, 3.1).
        if !connection.has_output() {
            connection.end_layers();
        }
        self.end(connection);
    }
}
