//! Time limits of programs and commands.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::permit::Permit;

/// A time limit that shrinks when the daemon stops.
#[derive(Debug, Clone)]
pub struct Limit {
    most: Duration,
    /// The stop flag, and the remaining time after it is set.
    over: Option<(Arc<AtomicBool>, Duration)>,
    /// The permission to feed, if it may end.
    permit: Option<Arc<Permit>>,
}

impl From<Duration> for Limit {
    fn from(most: Duration) -> Limit {
        Limit {
            most,
            over: None,
            permit: None,
        }
    }
}

impl Limit {
    /// A limit that shrinks to `patience` once `is_over` is set; nothing new starts then.
    #[must_use]
    pub fn until(mut self, is_over: Arc<AtomicBool>, patience: Duration) -> Limit {
        self.over = Some((is_over, patience));
        self
    }

    /// A limit that shrinks to the rest of a permission once nothing new may begin.
    #[must_use]
    pub fn within(mut self, permit: &Arc<Permit>) -> Limit {
        self.permit = Some(permit.clone());
        self
    }

    /// The full time.
    pub fn most(&self) -> Duration {
        self.most
    }

    /// Whether nothing new may start.
    pub fn is_over(&self) -> bool {
        self.is_told()
            || self
                .permit
                .as_ref()
                .is_some_and(|permit| !permit.may_begin())
    }

    fn is_told(&self) -> bool {
        let over = self.over.as_ref();
        over.is_some_and(|(is_over, _)| is_over.load(Ordering::SeqCst))
    }

    /// The permission; one without an end, if there is none.
    pub(crate) fn permit(&self) -> Arc<Permit> {
        self.permit.clone().unwrap_or_else(Permit::always)
    }

    /// Whether it may shrink, so that the waiting thread has to check it.
    pub(crate) fn may_be_over(&self) -> bool {
        self.over.is_some() || self.permit.is_some()
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
            && self.limit.is_told()
        {
            self.is_short = true;
            self.until = self.until.min(now + *patience);
        }
        if let Some(permit) = &self.limit.permit
            && !permit.may_begin()
            && let Some(left) = permit.left()
        {
            // The permission may be prolonged meanwhile, so the time is not kept.
            self.is_short |= left.is_zero();
            return self.until.min(now + left).saturating_duration_since(now);
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
