//! Who waits for news to be filed: feeds that send an article as soon as it is there.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Counts how often something was filed. What it was, a feed reads from the log, from its own cursor on.
#[derive(Debug, Default)]
pub struct Feeds {
    counts: Mutex<Counts>,
    more: Condvar,
}

/// What was told so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// How often something was filed.
    filed: u64,
    /// How often somebody asked to look at the feeds again.
    calls: u64,
}

impl Feeds {
    /// Something was committed: wakes who waits.
    pub fn tell(&self) {
        let mut counts = self.lock();
        counts.filed = counts.filed.wrapping_add(1);
        self.more.notify_all();
    }

    /// The feeds are to be looked at again: wakes who waits, and who rests.
    pub fn call(&self) {
        let mut counts = self.lock();
        counts.calls = counts.calls.wrapping_add(1);
        self.more.notify_all();
    }

    /// What was told so far.
    pub fn counts(&self) -> Counts {
        *self.lock()
    }

    /// Waits until then, however much is filed meanwhile, or for a call since the counts were `seen`. True: it was a call.
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

    /// Waits for anything that is told since the counts were `seen`.
    pub fn wait(&self, seen: Counts) {
        let told = self.more.wait_while(self.lock(), |counts| *counts == seen);
        drop(told);
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
            scope.spawn(|| feeds.call());
            assert!(feeds.rest(late, seen));
        });
        feeds.wait(seen);
    }
}
