//! The permission to feed: in a cluster it is lent to one node, for a time that is put off again and again.
//!
//! All that feeds looks at the clock before it begins something, so that a process that was stopped and goes on after its time begins nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// A permission, whose times another thread may move.
#[derive(Debug)]
pub struct Permit {
    /// Time from which on nothing new begins, ms of [`clock`].
    rests_at: AtomicU64,
    /// Time from which on nothing is sent, ms of [`clock`].
    ends_at: AtomicU64,
}

/// The time since the machine started, sleep included.
pub fn clock() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Permit {
    /// A permission without an end: that of a site of one machine.
    pub fn always() -> Arc<Permit> {
        Arc::new(Permit {
            rests_at: AtomicU64::new(u64::MAX),
            ends_at: AtomicU64::new(u64::MAX),
        })
    }

    /// No permission yet.
    pub fn never() -> Arc<Permit> {
        Arc::new(Permit {
            rests_at: AtomicU64::new(0),
            ends_at: AtomicU64::new(0),
        })
    }

    /// Sets the times, of [`clock`]: nothing new begins after the first, and nothing is sent after the second.
    pub fn set(&self, rests_at: Duration, ends_at: Duration) {
        self.rests_at.store(millis(rests_at), Ordering::SeqCst);
        self.ends_at.store(millis(ends_at), Ordering::SeqCst);
    }

    /// Whether something new may begin.
    pub fn may_begin(&self) -> bool {
        is_before(&self.rests_at)
    }

    /// Whether everything must have ended.
    pub fn is_over(&self) -> bool {
        !is_before(&self.ends_at)
    }

    /// The time until its end. `None`: it has none.
    pub fn left(&self) -> Option<Duration> {
        match self.ends_at.load(Ordering::SeqCst) {
            u64::MAX => None,
            end => Some(Duration::from_millis(end).saturating_sub(clock())),
        }
    }
}

fn is_before(time: &AtomicU64) -> bool {
    match time.load(Ordering::SeqCst) {
        0 => false,
        u64::MAX => true,
        time => millis(clock()) < time,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rests_and_then_ends() {
        let permit = Permit::always();
        assert!(permit.may_begin() && !permit.is_over() && permit.left().is_none());
        let (hour, now) = (Duration::from_secs(3600), clock());
        permit.set(now + hour, now + hour);
        assert!(permit.may_begin() && !permit.is_over());
        permit.set(now, now + hour);
        assert!(!permit.may_begin() && !permit.is_over());
        assert!(permit.left().is_some_and(|left| left <= hour));
        permit.set(now, now);
        assert!(!permit.may_begin() && permit.is_over());
        assert_eq!(permit.left(), Some(Duration::ZERO));
        assert!(Permit::never().is_over());
    }
}
