//! The lease of the feeds: at most one node of a cluster feeds the sites at any time.
//!
//! The lease is a value in the servers' key-value store ([`Claim`]). A write names the revision that it replaces, so that of two nodes one
//! wins. The holder writes it again every [`RENEW`], and counts its lease from the moment before the write was sent; another node takes the
//! lease when it has seen the same revision for [`LEASE`] by its own clock, which it saw after the write. So no two clocks are compared.
//!
//! *Invariant:* while [`Lease::until`] of a node lies in the future, it lies in the past on all others. Whatever requests are lost, late or
//! repeated, and however long a node sleeps: see the tests.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How long a lease lasts after its last renewal.
pub const LEASE: Duration = Duration::from_secs(10);
/// Interval at which the holder renews it.
pub const RENEW: Duration = Duration::from_secs(3);
/// Time before the end of a lease at which the holder must be silent.
pub const SILENT_BEFORE_END: Duration = Duration::from_secs(1);
/// Time before the end of a lease at which the holder begins nothing new.
pub const REST_BEFORE_END: Duration = Duration::from_secs(3);
/// Interval at which others look at it.
const LOOK: Duration = Duration::from_secs(1);
/// Pause after a request without an answer, and after one that another node has overtaken.
const AGAIN: Duration = Duration::from_millis(300);

/// The value of the lease.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The name of the node that holds it.
    pub node: String,
    /// Its process: a random number for each start of a daemon.
    pub process: u64,
    /// Counts the changes of the holder.
    pub term: u64,
    /// The holder has given it back.
    pub is_released: bool,
}

/// The next act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Nothing until this time.
    Rest(Duration),
    /// Read the value, and pass it to [`Lease::read`].
    Read,
    /// Replace this revision of the value (0: there is none), and pass the result to [`Lease::wrote`].
    Write(Claim, u64),
}

/// The result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// The value has this revision now.
    Done(u64),
    /// The revision to replace was not the last one.
    Overtaken,
    /// No answer: the value may be written, now or later.
    Unknown,
}

/// The value as it was seen.
#[derive(Debug, Clone)]
struct Seen {
    claim: Option<Claim>,
    revision: u64,
    /// When this revision was seen first.
    since: Duration,
}

/// The lease as one node knows it. All times are those of one clock of the node, from any beginning on; it must run while the machine sleeps.
#[derive(Debug)]
pub struct Lease {
    node: String,
    process: u64,
    wants: bool,
    seen: Option<Seen>,
    until: Option<Duration>,
    /// The time of the next act, which is a write of this or a read.
    at: Duration,
    writes: bool,
}

impl Lease {
    /// The lease as a node knows it that has seen nothing yet, and does not want it.
    pub fn new(node: &str, process: u64) -> Lease {
        Lease {
            node: node.to_owned(),
            process,
            wants: false,
            seen: None,
            until: None,
            at: Duration::ZERO,
            writes: false,
        }
    }

    /// Whether the node wants the lease from now on. If not, it gives the lease back, and must not feed any more: the answer to that may be
    /// lost, when another has the lease already.
    pub fn want(&mut self, wants: bool, now: Duration) {
        if wants != self.wants {
            self.wants = wants;
            if !wants {
                self.until = None;
            }
            self.decide(now);
            self.at = now;
        }
    }

    /// The end of the lease of this node, if it holds it; it may be over.
    pub fn until(&self) -> Option<Duration> {
        self.until
    }

    /// The last value seen.
    pub fn claim(&self) -> Option<&Claim> {
        self.seen.as_ref()?.claim.as_ref()
    }

    /// The next act.
    pub fn act(&self, now: Duration) -> Act {
        if now < self.at {
            return Act::Rest(self.at);
        }
        match (&self.seen, self.writes) {
            (Some(seen), true) => Act::Write(self.next_claim(seen), seen.revision),
            _ => Act::Read,
        }
    }

    fn is_own(&self, claim: &Claim) -> bool {
        claim.process == self.process && claim.node == self.node && !claim.is_released
    }

    fn next_claim(&self, seen: &Seen) -> Claim {
        let term = seen.claim.as_ref().map_or(0, |claim| claim.term);
        let is_own = seen.claim.as_ref().is_some_and(|claim| self.is_own(claim));
        Claim {
            node: self.node.clone(),
            process: self.process,
            term: if is_own { term } else { term + 1 },
            is_released: !self.wants,
        }
    }

    /// Sets the next act after a look at the value.
    fn decide(&mut self, now: Duration) {
        let Some(seen) = &self.seen else {
            (self.at, self.writes) = (now, false);
            return;
        };
        let end = seen.since + LEASE;
        (self.at, self.writes) = match &seen.claim {
            Some(claim) if self.is_own(claim) => (now, true),
            Some(claim) if !claim.is_released => match self.wants {
                true if now >= end => (now, true),
                true => ((now + LOOK).min(end), false),
                false => (now + LOOK, false),
            },
            _ if self.wants => (now, true),
            _ => (now + LOOK, false),
        };
    }

    /// Takes the value, which was read before `now`, with its revision (0: there is none). `None`: no answer.
    pub fn read(&mut self, told: Option<(Option<Claim>, u64)>, now: Duration) {
        let Some((claim, revision)) = told else {
            (self.at, self.writes) = (now + AGAIN, false);
            return;
        };
        let is_own = claim.as_ref().is_some_and(|claim| self.is_own(claim));
        if !is_own {
            self.until = None;
        }
        if self
            .seen
            .as_ref()
            .is_none_or(|seen| seen.revision != revision)
        {
            self.seen = Some(Seen {
                claim,
                revision,
                since: now,
            });
        }
        self.decide(now);
    }

    /// Takes the result of a write of `claim` that was sent not before `sent`.
    pub fn wrote(&mut self, claim: Claim, sent: Duration, written: Written, now: Duration) {
        match written {
            Written::Done(revision) => {
                let is_released = claim.is_released;
                self.until = (self.wants && !is_released).then_some(sent + LEASE);
                self.seen = Some(Seen {
                    claim: Some(claim),
                    revision,
                    since: now,
                });
                // Perhaps the node has changed its mind meanwhile.
                match self.wants == is_released {
                    true => self.decide(now),
                    false if is_released => (self.at, self.writes) = (now + LOOK, false),
                    false => (self.at, self.writes) = (sent + RENEW, true),
                }
            }
            Written::Overtaken | Written::Unknown => {
                (self.at, self.writes) = (now + AGAIN, false);
            }
        }
    }
}

#[cfg(test)]
mod tests;
