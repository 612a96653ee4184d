//! One article at a time while it is quiet, many in one commit while there is a rush: the automatic siloing of 4.3BSD, which took
//! characters from terminal lines one by one below a rate and out of the silo above it. The switch is damped: it goes on at twice the
//! rate at which it goes off.

use std::time::{Duration, Instant};

/// Articles a second above which the silo is used.
const ON: u64 = 2000;
/// Articles a second below which it is not.
const OFF: u64 = 1000;
/// Over how long they are counted.
const WINDOW: Duration = Duration::from_millis(50);
/// How long a commit waits for more, in a rush.
const PATIENCE: Duration = Duration::from_millis(2);
/// Bytes that are enough for a commit.
pub const ENOUGH_BYTES: usize = 2 << 20;

/// Decides how long a commit waits.
#[derive(Debug)]
pub struct GroupCommit {
    is_on: bool,
    since: Instant,
    articles: u64,
}

impl GroupCommit {
    /// Quiet as yet.
    pub fn new(now: Instant) -> GroupCommit {
        GroupCommit {
            is_on: false,
            since: now,
            articles: 0,
        }
    }

    /// So many articles were committed.
    pub fn note(&mut self, articles: u64, now: Instant) {
        self.articles += articles;
        let past = now.duration_since(self.since);
        if past < WINDOW {
            return;
        }
        let rate = u128::from(self.articles) * 1000 / past.as_millis().max(1);
        let edge = if self.is_on { OFF } else { ON };
        self.is_on = rate >= u128::from(edge);
        self.since = now;
        self.articles = 0;
    }

    /// How long to wait for more articles before those that are filed are committed.
    pub fn patience(&self, pending_bytes: usize) -> Duration {
        match self.is_on && pending_bytes < ENOUGH_BYTES {
            true => PATIENCE,
            false => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_switch_is_damped() {
        let start = Instant::now();
        let mut group_commit = GroupCommit::new(start);
        let at = |window: u32| start + WINDOW * window;
        group_commit.note(99, at(1));
        assert_eq!(group_commit.patience(0), Duration::ZERO);
        group_commit.note(100, at(2));
        assert_eq!(group_commit.patience(0), PATIENCE);
        assert_eq!(group_commit.patience(ENOUGH_BYTES), Duration::ZERO);
        group_commit.note(60, at(3));
        assert_eq!(group_commit.patience(0), PATIENCE);
        group_commit.note(49, at(4));
        assert_eq!(group_commit.patience(0), Duration::ZERO);
        group_commit.note(60, at(5));
        assert_eq!(group_commit.patience(0), Duration::ZERO);
    }
}
