//! Wakes the feeds that send articles immediately after articles were filed.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use feed::nntp::PeersHandle;

/// Counts the commits. Each feed reads the articles from the log, from its cursor on.
#[derive(Debug, Default)]
pub struct Feeds {
    counts: Mutex<Counts>,
    more: Condvar,
    /// The loops over peers by NNTP.
    peers: Mutex<PeersHandle>,
    /// How often outages of feeds began or ended, or may have.
    outages: Mutex<u64>,
    outage: Condvar,
}

/// The counts so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Number of commits with articles.
    filed: u64,
    /// Number of requests for a pass of the feeds.
    calls: u64,
}

impl Feeds {
    /// Reports a commit: wakes the waiting feeds.
    pub fn tell(&self) {
        let mut counts = self.lock();
        counts.filed = counts.filed.wrapping_add(1);
        self.more.notify_all();
        drop(counts);
        self.peers().filed();
    }

    /// Requests a pass of the feed with this name, or of all: wakes the waiting feeds, and those that pause after an error. Of the peers by NNTP
    /// only those that are meant notice it.
    pub fn call(&self, name: Option<&[u8]>) {
        let mut counts = self.lock();
        counts.calls = counts.calls.wrapping_add(1);
        self.more.notify_all();
        drop(counts);
        self.peers().call(name);
    }

    /// The peers by NNTP.
    pub fn peers(&self) -> MutexGuard<'_, PeersHandle> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        *self.lock()
    }

    /// Waits until this time, even if articles are filed meanwhile, or until a request after the counts `seen`. Returns true after a request.
    pub fn rest(&self, until: Instant, seen: Counts) -> bool {
        let mut counts = self.lock();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if counts.calls != seen.calls {
                return true;
            }
            if left.is_zero() {
                return false;
            }
            let woken = self.more.wait_timeout(counts, left);
            counts = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits for a commit or a request after the counts `seen`.
    pub fn wait(&self, seen: Counts) {
        let told = self.more.wait_while(self.lock(), |counts| *counts == seen);
        drop(told);
    }

    /// Reports that an outage of a feed began or ended, or that the settings about them may be others.
    pub fn note_outage(&self) {
        *self.lock_outages() += 1;
        self.outage.notify_all();
    }

    /// The number of such reports.
    pub fn outages(&self) -> u64 {
        *self.lock_outages()
    }

    /// Waits for a report after the number `seen`, or for this time.
    pub fn wait_for_outages(&self, seen: u64, time: Option<Duration>) {
        let outages = self.lock_outages();
        let is_same = |outages: &mut u64| *outages == seen;
        match time {
            None => drop(self.outage.wait_while(outages, is_same)),
            Some(time) => drop(self.outage.wait_timeout_while(outages, time, is_same)),
        }
    }

    fn lock_outages(&self) -> MutexGuard<'_, u64> {
        self.outages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_filed_before_is_not_waited_for() {
        let feeds = Feeds::default();
        let before = feeds.counts();
        feeds.tell();
        feeds.wait(before);
        let seen = feeds.counts();
        std::thread::scope(|scope| {
            scope.spawn(|| feeds.tell());
            feeds.wait(seen);
        });
        assert_eq!(feeds.counts().filed, 2);
    }

    #[test]
    fn a_call_ends_a_rest_and_what_is_filed_does_not() {
        let feeds = Feeds::default();
        let seen = feeds.counts();
        feeds.tell();
        assert!(!feeds.rest(Instant::now(), seen));
        let late = Instant::now() + std::time::Duration::from_secs(600);
        std::thread::scope(|scope| {
            scope.spawn(|| feeds.call(None));
            assert!(feeds.rest(late, seen));
        });
        feeds.wait(seen);
    }
}
