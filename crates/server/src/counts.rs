//! What is counted: for status and metrics.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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

    /// One less: of a gauge.
    pub fn less(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    /// How many.
    pub fn read(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Of the server as a whole.
#[derive(Debug, Default)]
pub struct Counts {
    /// Connections now.
    pub connections: Count,
    /// Connections so far.
    pub connected: Count,
    /// Connections that were sent away.
    pub rejected: Count,
    /// Bytes received and sent.
    pub received_bytes: Count,
    /// Bytes sent.
    pub sent_bytes: Count,
    peers: Mutex<BTreeMap<String, Arc<PeerCounts>>>,
}

/// Of one entry of the access rules.
#[derive(Debug, Default)]
pub struct PeerCounts {
    /// Connections now.
    pub connections: Count,
    /// Ids asked about with CHECK, or announced with IHAVE and TAKETHIS.
    pub offered: Count,
    /// Articles that were taken.
    pub accepted: Count,
    /// Articles that were refused, not as duplicates.
    pub refused: Count,
    /// Ids and articles that were here already.
    pub duplicates: Count,
    /// Told to come again later.
    pub deferred: Count,
    /// Bytes of the articles taken.
    pub bytes: Count,
    /// Posts taken.
    pub posted: Count,
}

/// The counts of one entry.
pub type Peer = Arc<PeerCounts>;

impl Counts {
    /// The counts of the entry with a name.
    pub fn peer(&self, name: &str) -> Peer {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        peers.entry(name.to_owned()).or_default().clone()
    }

    /// All of them.
    pub fn peers(&self) -> Vec<(String, Peer)> {
        let peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        peers
            .iter()
            .map(|(name, peer)| (name.clone(), peer.clone()))
            .collect()
    }
}
