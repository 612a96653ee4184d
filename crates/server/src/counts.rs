//! Counters for status and metrics.
//!
//! A connection counts in its own [`Tally`], plain memory, and adds the difference to its entry's counters once a time slice, so that
//! CHECK costs no atomic operation.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use store::Histogram;

/// A counter, or a gauge.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds 1.
    pub fn increment(&self) {
        self.add(1);
    }

    /// Adds `count`.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// Adds 1, and returns the new value: a number that no other caller gets.
    pub fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Adds 1 unless the gauge has reached `most`; safe for several threads.
    pub fn increment_below(&self, most: u64) -> bool {
        let more = |count: u64| (count < most).then_some(count + 1);
        let changed = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        changed.is_ok()
    }

    /// Subtracts 1 from a gauge.
    pub fn decrement(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// The value.
    pub fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

macro_rules! counters {
    ($($counter:ident $name:literal $help:literal;)*) => {
        /// A counter of each access entry and of each connection.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Counter {
            $(#[doc = $help] $counter,)*
        }

        impl Counter {
            /// All counters, in order.
            pub const ALL: [Counter; COUNTERS] = [$(Counter::$counter,)*];

            /// Its name in status and logs.
            pub fn name(self) -> &'static str {
                match self { $(Counter::$counter => $name,)* }
            }

            /// Its description, a sentence.
            pub fn help(self) -> &'static str {
                match self { $(Counter::$counter => $help,)* }
            }
        }

        const COUNTERS: usize = [$($name,)*].len();
    };
}

counters! {
    Offered "offered" "Ids offered, with CHECK, IHAVE or TAKETHIS; CHECK and the TAKETHIS behind it are one offer.";
    Accepted "accepted" "Articles accepted from peers.";
    AcceptedBytes "accepted_bytes" "Bytes of accepted articles, posts included.";
    Posted "posted" "Accepted posts.";
    Duplicates "duplicates" "Offered ids and received articles that were in the history.";
    Deferred "deferred" "Offers and articles deferred with a request to retry.";
    Sent "articles_sent" "Articles, headers or bodies sent to readers.";
    ReceivedBytes "received_bytes" "Bytes received.";
    SentBytes "sent_bytes" "Bytes sent.";
    NotAllowed "not_allowed" "Refused: the client may not send to these groups.";
    Flood "flood" "Refused: too many posts a minute.";
    Groups "groups" "Refused: no group of it is subscribed to, or exists.";
    Size "size" "Refused: too large, or too many groups.";
    Date "date" "Refused: its date is too old, in the future, or missing.";
    Unapproved "unapproved" "Refused: in a moderated group without approval.";
    Malformed "malformed" "Refused: its header is invalid, or its message-id differs from the offered one.";
    Other "other" "Refused for another reason, which the log has.";
}

impl Counter {
    /// Its name in the log, beside counters that are not refusals.
    pub fn refusal_name(self) -> &'static str {
        match self {
            Counter::NotAllowed => "refused_not_allowed",
            Counter::Flood => "refused_flood",
            Counter::Groups => "refused_groups",
            Counter::Size => "refused_size",
            Counter::Date => "refused_date",
            Counter::Unapproved => "refused_unapproved",
            Counter::Malformed => "refused_malformed",
            Counter::Other => "refused_other",
            counter => counter.name(),
        }
    }

    /// The counters of refusals.
    pub fn refusals() -> impl Iterator<Item = Counter> {
        Counter::ALL
            .into_iter()
            .skip_while(|counter| *counter != Counter::NotAllowed)
    }
}

/// The counters of one connection.
#[derive(Debug, Default, Clone)]
pub struct Tally {
    now: [u64; COUNTERS],
    /// The part that the entry's counters contain.
    published: [u64; COUNTERS],
}

impl Tally {
    /// Adds `count`.
    #[inline]
    pub fn add(&mut self, counter: Counter, count: u64) {
        if let Some(counter) = self.now.get_mut(counter as usize) {
            *counter += count;
        }
    }

    /// The value of a counter.
    pub fn read(&self, counter: Counter) -> u64 {
        self.now.get(counter as usize).copied().unwrap_or_default()
    }

    /// Refused articles, for all reasons.
    pub fn refused(&self) -> u64 {
        Counter::refusals().map(|counter| self.read(counter)).sum()
    }

    /// Adds the change since the last call to the entry's counters.
    pub fn publish(&mut self, peer: &PeerCounts) {
        let each = self.now.iter().zip(&mut self.published).zip(&peer.counts);
        for ((now, published), count) in each {
            if now != published {
                count.add(*now - *published);
                *published = *now;
            }
        }
    }
}

/// The counters of the whole server.
#[derive(Debug, Default)]
pub struct Counts {
    /// Connections now.
    pub connections: Count,
    /// Connections now that may read or post.
    pub readers: Count,
    /// Connections now that may send as peers.
    pub peers: Count,
    /// Connections now with TLS.
    pub tls: Count,
    /// Connections so far.
    pub connected: Count,
    /// Rejected connections.
    pub rejected: Count,
    /// Connections closed by a timeout.
    pub timed_out: Count,
    /// Successful logins.
    pub logins: Count,
    /// Failed logins.
    pub logins_failed: Count,
    /// Damaged or unreadable positions found in the store.
    pub damaged: Count,
    entries: Mutex<BTreeMap<String, Arc<PeerCounts>>>,
}

/// The counters of one access entry.
#[derive(Debug, Default)]
pub struct PeerCounts {
    /// Connections now.
    pub connections: Count,
    /// Connections so far.
    pub connected: Count,
    /// Time from the last byte of an article to the reply that accepts it.
    pub latency: Histogram,
    counts: [Count; COUNTERS],
}

impl PeerCounts {
    /// Adds `count` directly, for rare events.
    pub fn add(&self, counter: Counter, count: u64) {
        if let Some(counter) = self.counts.get(counter as usize) {
            counter.add(count);
        }
    }

    /// The value of a counter.
    pub fn read(&self, counter: Counter) -> u64 {
        self.counts.get(counter as usize).map_or(0, Count::read)
    }
}

/// Shared counters of one access entry.
pub type Peer = Arc<PeerCounts>;

impl Counts {
    /// The counters of the entry with a name.
    pub fn peer(&self, name: &str) -> Peer {
        let mut peers = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        match peers.get(name) {
            Some(peer) => peer.clone(),
            None => peers.entry(name.to_owned()).or_default().clone(),
        }
    }

    /// The counters of all entries, by name.
    pub fn entries(&self) -> Vec<(String, Peer)> {
        let peers = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        peers
            .iter()
            .map(|(name, peer)| (name.clone(), peer.clone()))
            .collect()
    }
}

/// The gauges that count a connection.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Kinds {
    /// It may read or post.
    pub reads: bool,
    /// It may send.
    pub sends: bool,
    /// It has TLS.
    pub is_secure: bool,
}

impl Kinds {
    /// Moves the connection to other gauges.
    pub fn change(&mut self, to: Kinds, counts: &Counts) {
        let gauges = [
            (self.reads, to.reads, &counts.readers),
            (self.sends, to.sends, &counts.peers),
            (self.is_secure, to.is_secure, &counts.tls),
        ];
        for (before, now, gauge) in gauges {
            match (before, now) {
                (false, true) => gauge.increment(),
                (true, false) => gauge.decrement(),
                _ => {}
            }
        }
        *self = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_added_once() {
        let counts = Counts::default();
        let peer = counts.peer("a");
        let mut tally = Tally::default();
        tally.add(Counter::Offered, 3);
        tally.add(Counter::Size, 1);
        tally.publish(&peer);
        tally.publish(&peer);
        tally.add(Counter::Offered, 1);
        tally.publish(&peer);
        assert_eq!(peer.read(Counter::Offered), 4);
        assert_eq!(peer.read(Counter::Size), 1);
        assert_eq!(tally.refused(), 1);
        assert_eq!(
            Counter::ALL.map(|counter| counter as usize).last(),
            Some(&(COUNTERS - 1))
        );
    }

    #[test]
    fn gauges_return_to_zero() {
        let counts = Counts::default();
        let mut kinds = Kinds::default();
        let all = Kinds {
            reads: true,
            sends: true,
            is_secure: true,
        };
        kinds.change(all, &counts);
        kinds.change(all, &counts);
        assert_eq!((counts.readers.read(), counts.tls.read()), (1, 1));
        kinds.change(Kinds::default(), &counts);
        assert_eq!((counts.peers.read(), counts.tls.read()), (0, 0));
    }
}
