//! The decision of one run of expire.

use crate::expiry::state::{ExpiryState, push_cut, push_link};

/// What one run of expire decided. Numbers are of articles that exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExpiryDecision {
    /// Kept although the group's cut lies above: group and number.
    pub survivors: Vec<(Vec<u8>, u64)>,
    /// Everything of a group below this number goes.
    pub cuts: Vec<(Vec<u8>, u64)>,
    /// Gone one by one: group and number.
    pub gone: Vec<(Vec<u8>, u64)>,
    /// Ids that arrived before this are forgotten once their articles are gone. `None`: as before.
    pub forget_before: Option<i64>,
    /// Below this position nothing of a group is left to be decided by its default.
    pub settled: Vec<(Vec<u8>, u64)>,
    /// The bases of the segments in which something goes: their space is to be given back.
    pub touched: Vec<u64>,
}

impl ExpiryDecision {
    /// True when there is nothing to take over.
    pub fn is_empty(&self) -> bool {
        self.removes_nothing()
            && self.forget_before.is_none()
            && self.settled.is_empty()
            && self.survivors.is_empty()
    }

    /// True when no article goes.
    pub fn removes_nothing(&self) -> bool {
        self.cuts.is_empty() && self.gone.is_empty()
    }
}

impl ExpiryState {
    /// What will have expired when `expiry` is taken over.
    pub fn after(&self, expiry: &ExpiryDecision) -> ExpiryState {
        let mut lines = Vec::new();
        for (group, number) in &expiry.survivors {
            push_link(&mut lines, b'+', group, *number);
        }
        for (group, cut) in &expiry.cuts {
            push_cut(&mut lines, group, *cut, *cut);
        }
        for (group, number) in &expiry.gone {
            push_link(&mut lines, b'-', group, *number);
        }
        let mut told = self.clone();
        told.apply(&lines);
        told
    }
}
