//! The state of a running daemon, for `status` and the metrics.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use feed::nntp::{FeedCounts, PeersHandle};
use serde::{Deserialize, Serialize};
use server::{Counter, Server};
use store::Commits;
use store::histogram::Spread;

use super::feed_lease::ClusterFeeds;
use super::intake_queue::{IntakeQueue, IntakeState};
use super::node::health::ClusterNode;

/// The state of a daemon. Fields missing in the reply of another version have their defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DaemonStatus {
    /// Whether articles are accepted over NNTP.
    pub intake: Intake,
    /// `on`, `off`, or the missing features of the kernel.
    pub sandbox: String,
    /// The NNTP server; `None` without listeners.
    pub nntp: Option<Nntp>,
    /// The counts of filing.
    pub store: Store,
    /// The peers that get articles by NNTP.
    pub peers: Vec<FedPeer>,
    /// The feeds of a node of a cluster; `None` without a cluster.
    pub cluster_feeds: Option<ClusterFeeds>,
    /// The node of a cluster; `None` without a cluster.
    pub cluster_node: Option<ClusterNode>,
}

/// A peer that gets articles by NNTP. The counts begin when the daemon starts, or reads its sites again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FedPeer {
    /// The feed.
    pub site: String,
    /// `idle`, `connecting`, `sending`, `failing` or `paused`.
    pub state: String,
    /// The reason why articles wait; empty if nothing is wrong.
    pub why: String,
    /// Since when, seconds since 1970.
    pub since: i64,
    /// The next attempt, seconds since 1970.
    pub next: Option<i64>,
    /// Since when no article could be sent, also during another attempt, seconds since 1970. `None`: some could, or nothing waits.
    pub failing_since: Option<i64>,
    /// Current number of connections.
    pub connections: u64,
    /// Number of discovered articles that the peer has not answered for.
    pub waiting: u64,
    /// Arrival of the oldest of them, seconds since 1970.
    pub oldest_arrival: Option<i64>,
    /// Number of offers, repeated ones among them.
    pub offered: u64,
    /// Number of articles that the peer accepted.
    pub accepted: u64,
    /// Number of articles that it did not want.
    pub not_wanted: u64,
    /// Number of articles that it refused when it had them.
    pub refused: u64,
    /// Number of answers that it wants an article later.
    pub deferred: u64,
    /// Number of articles that were given up.
    pub given_up: u64,
    /// Bytes sent to it.
    pub bytes: u64,
    /// Refusals by the peer's reason, the most frequent first.
    pub refusals: Vec<RefusalCount>,
}

/// Number of refusals of a peer for a reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RefusalCount {
    /// `not_wanted` or `refused`.
    pub answer: String,
    /// The peer's text; `other` for further ones.
    pub reason: String,
    /// Number of articles.
    pub count: u64,
}

/// Whether articles are accepted over NNTP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Intake {
    /// `open`, `paused`, `stopped` or `full`.
    pub state: String,
    /// The reason why it is not open.
    pub why: String,
}

/// The NNTP server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Nntp {
    /// Network threads.
    pub threads: u64,
    /// Current number of connections.
    pub connections: u64,
    /// Those that may read or post.
    pub readers: u64,
    /// Those that may send articles.
    pub peers: u64,
    /// Those with TLS.
    pub tls: u64,
    /// Total number of connections.
    pub connected: u64,
    /// Number of rejected connections.
    pub rejected: u64,
    /// Number of connections closed after a timeout.
    pub timed_out: u64,
    /// Number of successful logins.
    pub logins: u64,
    /// Number of failed logins.
    pub logins_failed: u64,
    /// Number of places in the store that are damaged or unreadable.
    pub damaged: u64,
    /// Bytes of received articles without a reply yet.
    pub in_flight_bytes: u64,
    /// The access entries that have matched a client.
    pub entries: Vec<Entry>,
}

/// An access entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Entry {
    /// Its name; empty for clients without a matching entry.
    pub name: String,
    /// Current number of connections.
    pub connections: u64,
    /// Total number of connections.
    pub connected: u64,
    /// The counters, by name.
    #[serde(flatten)]
    pub counts: BTreeMap<String, u64>,
    /// The refusals, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Time from the last byte of an article to the reply that it is accepted.
    pub latency: Took,
}

/// The distribution of durations.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Took {
    /// Their number.
    pub count: u64,
    /// Their sum, microseconds.
    pub micros: u64,
    /// Upper bound of the shorter half; `None` above all buckets, or without durations.
    pub p50_micros: Option<u64>,
    /// Upper bound of 99 of 100.
    pub p99_micros: Option<u64>,
    /// The number in each bucket; the last one counts those above all edges (`store::histogram::EDGES_MICROS`).
    pub buckets: Vec<u64>,
}

/// The counts of filing since the start of the daemon, from all sources.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Store {
    /// Number of articles.
    pub articles: u64,
    /// Bytes of the log.
    pub bytes: u64,
    /// Number of commits, and how long each took to write and sync.
    pub commits: Took,
    /// Number of ids in the index, including forgotten ones.
    pub index_used: u64,
    /// Capacity of the index, ids.
    pub index_slots: u64,
    /// Free space on the disk, bytes; `None` where the file system does not report its size.
    pub free_bytes: Option<u64>,
}

impl From<Spread> for Took {
    fn from(spread: Spread) -> Took {
        Took {
            count: spread.count(),
            micros: spread.micros,
            p50_micros: spread.within_micros(50),
            p99_micros: spread.within_micros(99),
            buckets: spread.buckets,
        }
    }
}

impl DaemonStatus {
    /// Collects the current state. `server` is `None` without listeners.
    pub fn look(
        intake_queue: &IntakeQueue,
        server: Option<&Server>,
        commits: &Commits,
        dir: &Path,
    ) -> DaemonStatus {
        let (intake_state, why) = intake_queue.intake_state_now();
        DaemonStatus {
            sandbox: String::new(),
            intake: Intake {
                state: intake_state.word().to_owned(),
                why: why.to_string(),
            },
            nntp: server.map(Nntp::look),
            store: Store::look(commits, dir),
            peers: Vec::new(),
            cluster_feeds: None,
            cluster_node: None,
        }
    }
}

impl Intake {
    /// The state, with the reason and what helps.
    pub fn sentence(&self) -> String {
        match (self.state.as_str(), self.why.as_str()) {
            (state, "") => state.to_owned(),
            (state, why) if state == IntakeState::Full.word() => {
                format!("{state}: {why}; {}", store::MAKE_ROOM)
            }
            (state, why) => format!("{state}: {why}"),
        }
    }
}

impl FedPeer {
    /// Whether articles cannot be sent to it, also during another attempt.
    pub fn is_failing(&self) -> bool {
        self.failing_since.is_some() || self.state == "failing"
    }

    /// The state and counts of all peers.
    pub fn look_at(peers: &PeersHandle) -> Vec<FedPeer> {
        let counts = peers.counts.iter();
        counts
            .map(|(name, counts)| FedPeer::look(name, counts))
            .collect()
    }

    fn look(name: &[u8], counts: &FeedCounts) -> FedPeer {
        let state = counts.state();
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let oldest = counts.oldest.load(Ordering::Relaxed);
        FedPeer {
            site: groups::shown(name),
            state: state.does.word().to_owned(),
            why: state.why,
            since: state.since,
            next: state.next,
            failing_since: state.failing_since,
            connections: read(&counts.connections),
            waiting: read(&counts.waiting),
            oldest_arrival: (oldest > 0).then_some(oldest),
            offered: read(&counts.offered),
            accepted: read(&counts.accepted),
            not_wanted: read(&counts.not_wanted),
            refused: read(&counts.refused),
            deferred: read(&counts.deferred),
            given_up: read(&counts.given_up),
            bytes: read(&counts.bytes),
            refusals: counts
                .refusals()
                .into_iter()
                .map(RefusalCount::of)
                .collect(),
        }
    }
}

impl RefusalCount {
    fn of(refusal: feed::nntp::RefusalCount) -> RefusalCount {
        RefusalCount {
            answer: refusal.answer.word().to_owned(),
            reason: refusal.reason,
            count: refusal.count,
        }
    }
}

impl Nntp {
    fn look(server: &Server) -> Nntp {
        let counts = server.counts();
        Nntp {
            threads: server.threads() as u64,
            connections: counts.connections.read(),
            readers: counts.readers.read(),
            peers: counts.peers.read(),
            tls: counts.tls.read(),
            connected: counts.connected.read(),
            rejected: counts.rejected.read(),
            timed_out: counts.timed_out.read(),
            logins: counts.logins.read(),
            logins_failed: counts.logins_failed.read(),
            damaged: counts.damaged.read(),
            in_flight_bytes: server.in_flight_bytes() as u64,
            entries: counts.entries().iter().map(Entry::look).collect(),
        }
    }
}

impl Entry {
    fn look((name, peer): &(String, server::Peer)) -> Entry {
        let told = |what: Counter| (what.name().to_owned(), peer.read(what));
        let refused = Counter::refusals().map(told).collect();
        let is_refusal = |what: &Counter| Counter::refusals().any(|other| other == *what);
        let counts = Counter::ALL.into_iter().filter(|what| !is_refusal(what));
        Entry {
            name: name.clone(),
            connections: peer.connections.read(),
            connected: peer.connected.read(),
            counts: counts.map(told).collect(),
            refused,
            latency: peer.latency.read().into(),
        }
    }

    /// One of the counters.
    pub fn count(&self, what: Counter) -> u64 {
        self.counts.get(what.name()).copied().unwrap_or_default()
    }

    /// The sum of all refusals.
    pub fn refused(&self) -> u64 {
        self.refused.values().sum()
    }
}

impl Store {
    fn look(commits: &Commits, dir: &Path) -> Store {
        Store {
            articles: commits.articles.load(Ordering::Relaxed),
            bytes: commits.bytes.load(Ordering::Relaxed),
            commits: commits.took.read().into(),
            index_used: commits.index_used.load(Ordering::Relaxed),
            index_slots: commits.index_slots.load(Ordering::Relaxed),
            free_bytes: store::free_bytes(dir).unwrap_or_default(),
        }
    }
}
