//! Who waits for news to be filed: feeds that send an article as soon as it is there.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

/// Counts how often something was filed. What it was, a feed reads from the log, from its own cursor on.
#[derive(Debug, Default)]
pub struct Feeds {
    filed: Mutex<u64>,
    more: Condvar,
}

impl Feeds {
    /// Something was committed: wakes who waits.
    pub fn tell(&self) {
        let mut filed = self.filed.lock().unwrap_or_else(PoisonError::into_inner);
        *filed = filed.wrapping_add(1);
        self.more.notify_all();
    }

    /// How often something was filed.
    pub fn count(&self) -> u64 {
        *self.filed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until then, however much is filed meanwhile, or until `is_over`, which is asked whenever something was told.
    pub fn rest(&self, until: Instant, is_over: impl Fn() -> bool) {
        let mut filed = self.filed.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || is_over() {
                return;
            }
            let woken = self.more.wait_timeout(filed, left);
            filed = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until more was filed than when the count was `seen`; the new count.
    pub fn wait(&self, seen: u64) -> u64 {
        let filed = self.filed.lock().unwrap_or_else(PoisonError::into_inner);
        *self
            .more
            .wait_while(filed, |filed| *filed == seen)
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_filed_before_is_not_waited_for() {
        let feeds = Feeds::default();
        feeds.tell();
        feeds.tell();
        assert_eq!(feeds.wait(0), 2);
        std::thread::scope(|scope| {
            scope.spawn(|| feeds.tell());
            assert_eq!(feeds.wait(2), 3);
        });
    }
}
