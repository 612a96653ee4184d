//! Records the figures of a quarter of an hour in `figures/`, for the daily report.
//!
//! An idle daemon records nothing, and wakes no thread: the first work after a record sets the time of the next one.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use relay::Now;
use report::day::Day;
use report::figures::{self, DaemonFigures, EntryFigures, FeedFigures, Figures};
use server::{Counter, ReaderCounts};
use settings::NewsDirectory;
use store::Snapshot;

use super::daemon_status::{DaemonStatus, Entry, FedPeer};
use super::lock::lock;
use super::system_status::FeedsStatus;
use super::warn;

/// Longest time that a record covers, seconds.
pub const RECORD_SECONDS_MAX: u64 = 900;
/// Records figures.
pub struct Recorder {
    directory: NewsDirectory,
    /// The time of the next record is set.
    is_armed: AtomicBool,
    due: Mutex<Option<Due>>,
    changed: Condvar,
    /// The state at the last record.
    before: Mutex<DaemonStatus>,
}

/// The state of the daemon now, and the counts of readers since they were last taken, a value for each network thread.
pub type Taken = (DaemonStatus, Vec<ReaderCounts>);

/// The time of the next record.
#[derive(Debug, Clone, Copy)]
struct Due {
    at: Instant,
    /// The begin of what it covers, seconds since 1970.
    from: i64,
}

impl Recorder {
    /// A recorder of a daemon that has done nothing yet.
    pub fn new(directory: &NewsDirectory) -> Recorder {
        Recorder {
            directory: directory.clone(),
            is_armed: AtomicBool::new(false),
            due: Mutex::new(None),
            changed: Condvar::new(),
            before: Mutex::default(),
        }
    }

    /// Notes that the daemon works. Called often; waits for nothing.
    #[inline]
    pub fn note_work(&self) {
        if !self.is_armed.load(Ordering::Relaxed) {
            self.arm();
        }
    }

    #[cold]
    fn arm(&self) {
        if self.is_armed.swap(true, Ordering::SeqCst) {
            return;
        }
        let from = Now::read().seconds;
        // A record lies within one day.
        let left = u64::try_from(Day::of(from).end() - from).unwrap_or(RECORD_SECONDS_MAX);
        let wait = Duration::from_secs(left.min(RECORD_SECONDS_MAX));
        let at = Instant::now() + wait;
        *lock(&self.due) = Some(Due { at, from });
        self.changed.notify_all();
    }

    /// Writes records when they are due, in a thread that runs until the process ends. `take` gets the figures.
    ///
    /// # Errors
    /// The thread cannot be created.
    pub fn start(
        self: &Arc<Recorder>,
        take: impl Fn() -> Taken + Send + 'static,
    ) -> io::Result<()> {
        let recorder = self.clone();
        let thread = std::thread::Builder::new().name("figures".to_owned());
        thread.spawn(move || {
            loop {
                recorder.wait();
                recorder.record(&take);
            }
        })?;
        Ok(())
    }

    fn wait(&self) {
        let mut due = lock(&self.due);
        loop {
            let left = due.map(|due| due.at.saturating_duration_since(Instant::now()));
            due = match left {
                Some(Duration::ZERO) => return,
                Some(left) => {
                    let waited = self.changed.wait_timeout(due, left);
                    waited.unwrap_or_else(|error| error.into_inner()).0
                }
                None => {
                    let waited = self.changed.wait(due);
                    waited.unwrap_or_else(|error| error.into_inner())
                }
            };
        }
    }

    /// Writes the figures since the last record, if there was any work. An error is logged: no article depends on it.
    pub fn record(&self, take: impl FnOnce() -> Taken) {
        // One record at a time.
        let mut before = lock(&self.before);
        let Some(due) = *lock(&self.due) else {
            return;
        };
        let (now, readers) = take();
        let mut daemon = difference(&before, &now);
        let mut all = ReaderCounts::default();
        for readers in &readers {
            all.merge(readers);
        }
        daemon.set_networks(&all.networks);
        daemon.set_groups(&all.groups);
        let seconds = Now::read().seconds;
        daemon.feeds = self.feeds(&before, &now, seconds);
        if let Ok(disk) = rustix::fs::statvfs(self.directory.root()) {
            daemon.disk_bytes = disk.f_blocks.saturating_mul(disk.f_frsize);
        }
        let record = Figures {
            from: due.from,
            to: seconds.clamp(due.from, Day::of(due.from).end()),
            daemon: Some(daemon),
            expire: None,
            task: None,
        };
        if let Err(error) = figures::append(self.directory.root(), &record) {
            warn(&format!(
                "cannot write {}/{}: {error}",
                figures::DIRECTORY,
                Day::of(due.from)
            ));
        }
        *before = now;
        *lock(&self.due) = None;
        // The questions above woke network threads: only now their next work counts.
        self.is_armed.store(false, Ordering::SeqCst);
    }

    /// The feeds that did something or for which articles wait.
    fn feeds(&self, before: &DaemonStatus, now: &DaemonStatus, seconds: i64) -> Vec<FeedFigures> {
        let mut feeds: BTreeMap<String, FeedFigures> = BTreeMap::new();
        for peer in &now.peers {
            let same = |other: &&FedPeer| other.site == peer.site;
            let earlier = before.peers.iter().find(same);
            let figures = of_peer(earlier, peer, seconds);
            if figures != FeedFigures::default() {
                let site = peer.site.clone();
                feeds.insert(site.clone(), FeedFigures { site, ..figures });
            }
        }
        // Without them, a report lacks only the lag.
        let behind = Snapshot::open(self.directory.root())
            .map_err(anyhow::Error::from)
            .and_then(|snapshot| {
                let cluster_feeds = now.cluster_feeds.clone();
                FeedsStatus::read(&self.directory, &snapshot, cluster_feeds)
            });
        for behind in behind.map(|status| status.behind).unwrap_or_default() {
            let feed = feeds.entry(behind.site.clone()).or_default();
            feed.site = behind.site;
            feed.waiting = behind.articles;
            feed.lag_seconds = behind.oldest_arrival.map_or(0, |at| age(at, seconds));
            if behind.paused && feed.why.is_empty() {
                feed.why = "paused".to_owned();
            }
        }
        feeds.into_values().collect()
    }
}

fn age(at: i64, now: i64) -> u64 {
    u64::try_from(now.saturating_sub(at)).unwrap_or_default()
}

fn of_peer(before: Option<&FedPeer>, now: &FedPeer, seconds: i64) -> FeedFigures {
    // The counts began anew when the sites were read again.
    let before = before.filter(|before| before.offered <= now.offered && before.bytes <= now.bytes);
    let since = |count: fn(&FedPeer) -> u64| {
        let before = before.map(count).unwrap_or_default();
        count(now).saturating_sub(before)
    };
    FeedFigures {
        site: String::new(),
        offered: since(|peer| peer.offered),
        accepted: since(|peer| peer.accepted),
        not_wanted: since(|peer| peer.not_wanted),
        refused: since(|peer| peer.refused),
        deferred: since(|peer| peer.deferred),
        bytes: since(|peer| peer.bytes),
        waiting: now.waiting,
        lag_seconds: now.oldest_arrival.map_or(0, |at| age(at, seconds)),
        why: groups::shown(now.why.as_bytes()),
    }
}

/// The counts between two states, without feeds and readers.
fn difference(before: &DaemonStatus, now: &DaemonStatus) -> DaemonFigures {
    let buckets = |status: &DaemonStatus| status.store.commits.buckets.clone();
    let mut earlier = buckets(before).into_iter();
    let commits = buckets(now).into_iter();
    let none = Default::default();
    let nntp = now.nntp.as_ref().unwrap_or(&none);
    let nntp_before = before.nntp.as_ref().unwrap_or(&none);
    let entries = nntp.entries.iter().map(|entry| {
        let same = |other: &&Entry| other.name == entry.name;
        let before = nntp_before.entries.iter().find(same);
        EntryFigures {
            name: entry.name.clone(),
            counts: counts(before, entry),
        }
    });
    DaemonFigures {
        articles: now.store.articles.saturating_sub(before.store.articles),
        bytes: now.store.bytes.saturating_sub(before.store.bytes),
        commits: commits
            .map(|count| count.saturating_sub(earlier.next().unwrap_or_default()))
            .collect(),
        connected: nntp.connected.saturating_sub(nntp_before.connected),
        rejected: nntp.rejected.saturating_sub(nntp_before.rejected),
        timed_out: nntp.timed_out.saturating_sub(nntp_before.timed_out),
        logins: nntp.logins.saturating_sub(nntp_before.logins),
        logins_failed: nntp.logins_failed.saturating_sub(nntp_before.logins_failed),
        connections: nntp.connections,
        intake: now.intake.state.clone(),
        // Of a file system without a size `disk_bytes' is 0: nothing is known.
        free_bytes: now.store.free_bytes.unwrap_or_default(),
        entries: entries.filter(|entry| !entry.counts.is_empty()).collect(),
        ..DaemonFigures::default()
    }
}

/// The counts of an entry that have grown.
fn counts(before: Option<&Entry>, now: &Entry) -> BTreeMap<String, u64> {
    let mut grown = BTreeMap::new();
    for counter in Counter::ALL {
        let of = |entry: &Entry| {
            let refused = entry.refused.get(counter.name());
            refused.copied().unwrap_or_else(|| entry.count(counter))
        };
        let count = of(now).saturating_sub(before.map(of).unwrap_or_default());
        if count > 0 {
            grown.insert(counter.refusal_name().to_owned(), count);
        }
    }
    let connected = now.connected
        - before
            .map_or(0, |before| before.connected)
            .min(now.connected);
    if connected > 0 {
        grown.insert("connected".to_owned(), connected);
    }
    grown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon_status::Nntp;

    #[test]
    fn only_what_has_grown_is_recorded() {
        let entry = |offered: u64, size: u64| Entry {
            name: "peer".to_owned(),
            connected: 2,
            counts: [("offered".to_owned(), offered)].into(),
            refused: [("size".to_owned(), size)].into(),
            ..Entry::default()
        };
        let status = |entry: Entry, commits: Vec<u64>| {
            let mut status = DaemonStatus {
                nntp: Some(Nntp {
                    entries: vec![entry],
                    ..Nntp::default()
                }),
                ..DaemonStatus::default()
            };
            status.store.commits.buckets = commits;
            status
        };
        let before = status(entry(5, 1), vec![1, 2]);
        let now = status(entry(8, 2), vec![1, 5]);
        let figures = difference(&before, &now);
        assert_eq!(figures.commits, [0, 3]);
        let grown = [("offered".to_owned(), 3), ("refused_size".to_owned(), 1)];
        assert_eq!(figures.entries.first().unwrap().counts, grown.into());
        assert!(difference(&now, &now).entries.is_empty());
        assert_eq!(
            difference(&DaemonStatus::default(), &now)
                .entries
                .first()
                .unwrap()
                .counts["connected"],
            2
        );
    }

    #[test]
    fn a_peer_counts_anew_after_a_reload() {
        let peer = |offered: u64| FedPeer {
            offered,
            oldest_arrival: Some(70),
            why: "no\nroute".to_owned(),
            ..FedPeer::default()
        };
        let figures = of_peer(Some(&peer(7)), &peer(9), 100);
        assert_eq!((figures.offered, figures.lag_seconds), (2, 30));
        assert_eq!(figures.why, "no\\x0aroute");
        assert_eq!(of_peer(Some(&peer(9)), &peer(4), 100).offered, 4);
    }
}
