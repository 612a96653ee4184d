//! What is counted: for status and metrics.
//!
//! A connection counts in its own [`Tally`], which is plain memory; what came to it goes into the counts of its entry once a turn, so
//! that a CHECK costs no atomic operation.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use store::Histogram;

/// A counter, or a gauge.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// One more.
    pub fn one(&self) {
        self.add(1);
    }

    /// So many more.
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// One more, unless there are so many already: of a gauge that several threads raise.
    pub fn enter(&self, most: u64) -> bool {
        let more = |count: u64| (count < most).then_some(count + 1);
        let changed = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        changed.is_ok()
    }

    /// One less: of a gauge.
    pub fn less(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many.
    pub fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

macro_rules! whats {
    ($($what:ident $name:literal $help:literal;)*) => {
        /// What is counted of each entry of the access rules, and of each connection.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum What {
            $(#[doc = $help] $what,)*
        }

        impl What {
            /// All of them, in order.
            pub const ALL: [What; WHATS] = [$(What::$what,)*];

            /// Its name in status and logs.
            pub fn name(self) -> &'static str {
                match self { $(What::$what => $name,)* }
            }

            /// What it counts, in a sentence.
            pub fn help(self) -> &'static str {
                match self { $(What::$what => $help,)* }
            }
        }

        const WHATS: usize = [$($name,)*].len();
    };
}

whats! {
    Offered "offered" "Ids offered, with CHECK, IHAVE or TAKETHIS; CHECK and the TAKETHIS behind it are one offer.";
    Accepted "accepted" "Articles of a peer that were taken.";
    AcceptedBytes "accepted_bytes" "Bytes of the articles that were taken, posts too.";
    Posted "posted" "Posts that were taken.";
    Duplicates "duplicates" "Ids and articles that were here already.";
    Deferred "deferred" "Told to come again later.";
    Sent "articles_sent" "Articles that were sent to readers, or parts of them.";
    ReceivedBytes "received_bytes" "Bytes that came.";
    SentBytes "sent_bytes" "Bytes that went.";
    NotAllowed "not_allowed" "Refused: its groups are not taken from this visitor.";
    Flood "flood" "Refused: too many posts.";
    Groups "groups" "Refused: none of its groups is subscribed to, or here.";
    Size "size" "Refused: too large, or too many groups.";
    Date "date" "Refused: its date is too old, ahead of the clock, or none.";
    Unapproved "unapproved" "Refused: in a moderated group without approval.";
    Malformed "malformed" "Refused: its header is faulty, or its id another than announced.";
    Other "other" "Refused for another reason; the log has it.";
}

impl What {
    /// Its name in the log, where refusals stand beside other counts.
    pub fn refusal_name(self) -> &'static str {
        match self {
            What::NotAllowed => "refused_not_allowed",
            What::Flood => "refused_flood",
            What::Groups => "refused_groups",
            What::Size => "refused_size",
            What::Date => "refused_date",
            What::Unapproved => "refused_unapproved",
            What::Malformed => "refused_malformed",
            What::Other => "refused_other",
            what => what.name(),
        }
    }

    /// The reasons for refusals.
    pub fn refusals() -> impl Iterator<Item = What> {
        What::ALL
            .into_iter()
            .skip_while(|what| *what != What::NotAllowed)
    }
}

/// What one connection counted.
#[derive(Debug, Default, Clone)]
pub struct Tally {
    now: [u64; WHATS],
    /// What the entry was told already.
    told: [u64; WHATS],
}

impl Tally {
    /// So many more.
    #[inline]
    pub fn add(&mut self, what: What, count: u64) {
        if let Some(place) = self.now.get_mut(what as usize) {
            *place += count;
        }
    }

    /// How many.
    pub fn read(&self, what: What) -> u64 {
        self.now.get(what as usize).copied().unwrap_or_default()
    }

    /// Articles that were refused, for whatever reason.
    pub fn refused(&self) -> u64 {
        What::refusals().map(|what| self.read(what)).sum()
    }

    /// Tells the entry what came to it since the last time.
    pub fn tell(&mut self, peer: &PeerCounts) {
        let each = self.now.iter().zip(&mut self.told).zip(&peer.counts);
        for ((now, told), count) in each {
            if now != told {
                count.add(*now - *told);
                *told = *now;
            }
        }
    }
}

/// Of the server as a whole.
#[derive(Debug, Default)]
pub struct Counts {
    /// Connections now.
    pub connections: Count,
    /// Connections now of those who may read or post.
    pub readers: Count,
    /// Connections now of those who may send.
    pub peers: Count,
    /// Connections now with TLS.
    pub tls: Count,
    /// Connections so far.
    pub connected: Count,
    /// Connections that were sent away.
    pub rejected: Count,
    /// Connections that were closed because nothing came for too long.
    pub timed_out: Count,
    /// Logins that went well.
    pub logins: Count,
    /// Logins that did not.
    pub logins_failed: Count,
    /// Places of the store that were found damaged, or that the disk cannot read.
    pub damaged: Count,
    entries: Mutex<BTreeMap<String, Arc<PeerCounts>>>,
}

/// Of one entry of the access rules.
#[derive(Debug, Default)]
pub struct PeerCounts {
    /// Connections now.
    pub connections: Count,
    /// Connections so far.
    pub connected: Count,
    /// From the last byte of an article to the answer that it was taken.
    pub latency: Histogram,
    counts: [Count; WHATS],
}

impl PeerCounts {
    /// So many more: where it does not happen often.
    pub fn add(&self, what: What, count: u64) {
        if let Some(place) = self.counts.get(what as usize) {
            place.add(count);
        }
    }

    /// How many.
    pub fn read(&self, what: What) -> u64 {
        self.counts.get(what as usize).map_or(0, Count::read)
    }
}

/// The counts of one entry.
pub type Peer = Arc<PeerCounts>;

impl Counts {
    /// The counts of the entry with a name.
    pub fn peer(&self, name: &str) -> Peer {
        let mut peers = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        match peers.get(name) {
            Some(peer) => peer.clone(),
            None => peers.entry(name.to_owned()).or_default().clone(),
        }
    }

    /// All of them.
    pub fn entries(&self) -> Vec<(String, Peer)> {
        let peers = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        peers
            .iter()
            .map(|(name, peer)| (name.clone(), peer.clone()))
            .collect()
    }
}

/// As what a connection is counted among those of now.
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
    /// Counts it as something else from now on.
    pub fn change(&mut self, to: Kinds, counts: &Counts) {
        let gauges = [
            (self.reads, to.reads, &counts.readers),
            (self.sends, to.sends, &counts.peers),
            (self.is_secure, to.is_secure, &counts.tls),
        ];
        for (before, now, gauge) in gauges {
            match (before, now) {
                (false, true) => gauge.one(),
                (true, false) => gauge.less(),
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
    fn an_entry_is_told_once() {
        let counts = Counts::default();
        let peer = counts.peer("a");
        let mut tally = Tally::default();
        tally.add(What::Offered, 3);
        tally.add(What::Size, 1);
        tally.tell(&peer);
        tally.tell(&peer);
        tally.add(What::Offered, 1);
        tally.tell(&peer);
        assert_eq!(peer.read(What::Offered), 4);
        assert_eq!(peer.read(What::Size), 1);
        assert_eq!(tally.refused(), 1);
        assert_eq!(
            What::ALL.map(|what| what as usize).last(),
            Some(&(WHATS - 1))
        );
    }

    #[test]
    fn gauges_come_back_to_nothing() {
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
