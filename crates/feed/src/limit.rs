//! How long a program or a command is waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A time, which gets short when nobody can wait any more.
#[derive(Debug, Clone)]
pub struct Limit {
    most: Duration,
    /// Set when it is over, and how long is waited all the same.
    over: Option<(Arc<AtomicBool>, Duration)>,
}

impl From<Duration> for Limit {
    fn from(most: Duration) -> Limit {
        Limit { most, over: None }
    }
}

impl Limit {
    /// Once `is_over` is set, whatever is waited for has only `patience` left, and nothing more is begun.
    #[must_use]
    pub fn until(mut self, is_over: Arc<AtomicBool>, patience: Duration) -> Limit {
        self.over = Some((is_over, patience));
        self
    }

    /// The whole time.
    pub fn most(&self) -> Duration {
        self.most
    }

    /// Nothing more is to be begun.
    pub fn is_over(&self) -> bool {
        let over = self.over.as_ref();
        over.is_some_and(|(is_over, _)| is_over.load(Ordering::SeqCst))
    }

    /// It may end early, and who waits has to look for that.
    pub(crate) fn may_be_over(&self) -> bool {
        self.over.is_some()
    }

    /// From now on.
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
    /// What is left of it.
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

    /// Nothing is left.
    pub(crate) fn is_over(&mut self) -> bool {
        self.left().is_zero()
    }

    /// It ended before its time.
    pub(crate) fn is_short(&self) -> bool {
        self.is_short
    }
}
