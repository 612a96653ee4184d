//! Time limits of programs and commands.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A time limit that shrinks when the daemon stops.
#[derive(Debug, Clone)]
pub struct Limit {
    most: Duration,
    /// The stop flag, and the remaining time after it is set.
    over: Option<(Arc<AtomicBool>, Duration)>,
}

impl From<Duration> for Limit {
    fn from(most: Duration) -> Limit {
        Limit { most, over: None }
    }
}

impl Limit {
    /// A limit that shrinks to `patience` once `is_over` is set; nothing new starts then.
    #[must_use]
    pub fn until(mut self, is_over: Arc<AtomicBool>, patience: Duration) -> Limit {
        self.over = Some((is_over, patience));
        self
    }

    /// The full time.
    pub fn most(&self) -> Duration {
        self.most
    }

    /// Whether nothing new may start.
    pub fn is_over(&self) -> bool {
        let over = self.over.as_ref();
        over.is_some_and(|(is_over, _)| is_over.load(Ordering::SeqCst))
    }

    /// Whether it may shrink, so that the waiting thread has to check it.
    pub(crate) fn may_be_over(&self) -> bool {
        self.over.is_some()
    }

    /// Starts a wait.
    pub(crate) fn begin(&self) -> Deadline<'_> {
        Deadline {
            limit: self,
            until: Instant::now() + self.most,
            is_short: false,
        }
    }
}

/// One wait.
pub(crate) struct Deadline<'a> {
    limit: &'a Limit,
    until: Instant,
    is_short: bool,
}

impl Deadline<'_> {
    /// The remaining time.
    pub(crate) fn left(&mut self) -> Duration {
        let now = Instant::now();
        if let Some((_, patience)) = &self.limit.over
            && !self.is_short
            && self.limit.is_over()
        {
            self.is_short = true;
            self.until = self.until.min(now + *patience);
        }
        self.until.saturating_duration_since(now)
    }

    /// Whether no time is left.
    pub(crate) fn is_over(&mut self) -> bool {
        self.left().is_zero()
    }

    /// Whether it ended before its full time.
    pub(crate) fn is_short(&self) -> bool {
        self.is_short
    }
}
