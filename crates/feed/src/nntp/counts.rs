//! The state of a peer in words, and its counts, for other threads.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The state and the counts of a peer.
#[derive(Debug, Default)]
pub struct FeedCounts {
    /// Number of offered articles, repeated offers among them.
    pub offered: AtomicU64,
    /// Number of articles that the peer accepted (235, 239).
    pub accepted: AtomicU64,
    /// Number of articles that it did not want (435, 438).
    pub not_wanted: AtomicU64,
    /// Number of articles that it refused when it had them (437, 439).
    pub refused: AtomicU64,
    /// Number of answers that it wants an article later (431, 436).
    pub deferred: AtomicU64,
    /// Number of articles that were given up, since the peer deferred them too often.
    pub given_up: AtomicU64,
    /// Bytes sent to it.
    pub bytes: AtomicU64,
    /// Current number of connections.
    pub connections: AtomicU64,
    /// Current number of discovered articles without an answer.
    pub waiting: AtomicU64,
    /// Arrival of the oldest of them, seconds since 1970; 0 for none.
    pub oldest: AtomicI64,
    state: Mutex<PeerState>,
}

/// The state of a peer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PeerState {
    /// Its state.
    pub does: PeerDoes,
    /// The reason why articles wait; empty if nothing is wrong.
    pub why: String,
    /// Since when, seconds since 1970.
    pub since: i64,
    /// The next attempt, seconds since 1970.
    pub next: Option<i64>,
}

/// The state of a peer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PeerDoes {
    /// Nothing waits for it.
    #[default]
    Idle,
    /// A connection begins.
    Connecting,
    /// Articles are in flight.
    Sending,
    /// The last attempt failed.
    Failing,
    /// It is paused, or its hours have not come.
    Paused,
}

impl PeerDoes {
    /// A word for a person.
    pub fn word(self) -> &'static str {
        match self {
            PeerDoes::Idle => "idle",
            PeerDoes::Connecting => "connecting",
            PeerDoes::Sending => "sending",
            PeerDoes::Failing => "failing",
            PeerDoes::Paused => "paused",
        }
    }
}

impl FeedCounts {
    /// The state now.
    pub fn state(&self) -> PeerState {
        let state = self.state.lock();
        state.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Number of articles whose fate the peer told, but not those that it wants later.
    pub fn answered(&self) -> u64 {
        let counts = [&self.accepted, &self.not_wanted, &self.refused];
        counts
            .iter()
            .map(|count| count.load(Ordering::Relaxed))
            .sum()
    }

    /// Sets the gauges.
    pub(super) fn set_waiting(&self, connections: u64, waiting: usize, oldest: Option<i64>) {
        self.connections.store(connections, Ordering::Relaxed);
        self.waiting.store(waiting as u64, Ordering::Relaxed);
        self.oldest.store(oldest.unwrap_or(0), Ordering::Relaxed);
    }

    /// Sets the state; `now` counts only if it is another one. Returns whether the reason is another one.
    pub(super) fn set_state(
        &self,
        does: PeerDoes,
        why: &str,
        (now, next): (i64, Option<i64>),
    ) -> bool {
        let state = self.state.lock();
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let is_new = state.why != why;
        if is_new {
            why.clone_into(&mut state.why);
        }
        if is_new || state.does != does {
            // A peer that fails and is tried again has failed since the first time.
            let goes_on = !is_new && !why.is_empty();
            if !goes_on {
                state.since = now;
            }
            state.does = does;
        }
        state.next = next;
        is_new
    }
}

/// Adds to a count.
pub(super) fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}
