//! What `status` and the metrics tell of a daemon that serves: one picture, taken when somebody asks.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};
use server::{Counter, Server};
use store::Commits;
use store::histogram::Spread;

use super::intake_queue::IntakeQueue;

/// The picture. Fields that a daemon of another version does not know are as by default.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DaemonStatus {
    /// Whether articles are taken over NNTP.
    pub intake: Intake,
    /// `on`, `off`, or what the kernel lacks for it.
    pub sandbox: String,
    /// The NNTP server; `None`: it listens nowhere.
    pub nntp: Option<Nntp>,
    /// What was filed.
    pub store: Store,
}

/// Whether articles are taken over NNTP.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Intake {
    /// `open`, `paused`, `stopped` or `full`.
    pub state: String,
    /// Why it is not open.
    pub why: String,
}

/// The NNTP server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Nntp {
    /// Network threads.
    pub threads: u64,
    /// Connections now.
    pub connections: u64,
    /// Of those, who may read or post.
    pub readers: u64,
    /// Of those, who may send.
    pub peers: u64,
    /// Of those, with TLS.
    pub tls: u64,
    /// Connections so far.
    pub connected: u64,
    /// Connections that were sent away.
    pub rejected: u64,
    /// Connections closed because nothing came.
    pub timed_out: u64,
    /// Logins that went well.
    pub logins: u64,
    /// Logins that did not.
    pub logins_failed: u64,
    /// Places of the store that were found damaged, or that the disk cannot read.
    pub damaged: u64,
    /// Bytes of articles that came and are not answered yet.
    pub in_flight_bytes: u64,
    /// Each entry of the access rules that somebody came under.
    pub entries: Vec<Entry>,
}

/// An entry of the access rules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Entry {
    /// Its name; empty for those whom no entry fits.
    pub name: String,
    /// Connections now.
    pub connections: u64,
    /// Connections so far.
    pub connected: u64,
    /// What was counted, by name.
    #[serde(flatten)]
    pub counts: BTreeMap<String, u64>,
    /// What was refused, by reason.
    pub refused: BTreeMap<String, u64>,
    /// From the last byte of an article to the answer that it was taken.
    pub latency: Took,
}

/// How long something took.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Took {
    /// How many.
    pub count: u64,
    /// All in sum, microseconds.
    pub micros: u64,
    /// So long, or less, took half of them; `None`: longer than all buckets, or there are none.
    pub p50_micros: Option<u64>,
    /// And 99 of 100.
    pub p99_micros: Option<u64>,
    /// How many in each bucket; the last has what took longer than all edges (`store::histogram::EDGES_MICROS`).
    pub buckets: Vec<u64>,
}

/// What was filed since the daemon started, by whatever way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Store {
    /// Articles.
    pub articles: u64,
    /// Bytes of the log.
    pub bytes: u64,
    /// Commits, and how long each took to write and sync.
    pub commits: Took,
    /// Ids in the index, forgotten ones too.
    pub index_used: u64,
    /// Ids for which it has room before it is full.
    pub index_slots: u64,
    /// Bytes free on the disk.
    pub free_bytes: u64,
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
    /// As it is now. `server`: `None` where it listens nowhere.
    pub fn look(
        intake_queue: &IntakeQueue,
        server: Option<&Server>,
        commits: &Commits,
        dir: &Path,
    ) -> DaemonStatus {
        let (intake_state, why) = intake_queue.intake_state();
        DaemonStatus {
            sandbox: String::new(),
            intake: Intake {
                state: intake_state.word().to_owned(),
                why: why.to_string(),
            },
            nntp: server.map(Nntp::look),
            store: Store::look(commits, dir),
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

    /// One of the counts.
    pub fn count(&self, what: Counter) -> u64 {
        self.counts.get(what.name()).copied().unwrap_or_default()
    }

    /// Refused for whatever reason.
    pub fn refused(&self) -> u64 {
        self.refused.values().sum()
    }
}

impl Store {
    fn look(commits: &Commits, dir: &Path) -> Store {
        let free = rustix::fs::statvfs(dir);
        Store {
            articles: commits.articles.load(Ordering::Relaxed),
            bytes: commits.bytes.load(Ordering::Relaxed),
            commits: commits.took.read().into(),
            index_used: commits.index_used.load(Ordering::Relaxed),
            index_slots: commits.index_slots.load(Ordering::Relaxed),
            free_bytes: free.map_or(0, |told| told.f_bavail.saturating_mul(told.f_frsize)),
        }
    }
}
