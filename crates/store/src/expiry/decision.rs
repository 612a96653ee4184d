//! The decision of one run of expire.

use crate::Position;
use crate::expiry::state::{ExpiryState, push_cut, push_link};

/// The decision of one run of expire. Numbers are those of existing articles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExpiryDecision {
    /// Kept although the group's cut is above: group and number.
    pub survivors: Vec<(Vec<u8>, u64)>,
    /// Everything of a group below this number is removed.
    pub cuts: Vec<(Vec<u8>, u64)>,
    /// Removed individually: group and number.
    pub gone: Vec<(Vec<u8>, u64)>,
    /// Ids that arrived before this time are forgotten once their articles are removed. `None` leaves it unchanged.
    pub forget_before: Option<i64>,
    /// Below this position no article of a group is left to decide by its default.
    pub settled: Vec<(Vec<u8>, u64)>,
    /// The end of the log that the decision knows: late articles behind it are kept although a cut is above them. `None`: there are none.
    pub known_end: Option<Position>,
    /// The bases of the segments with removed articles, whose space can be reclaimed.
    pub touched: Vec<u64>,
}

impl ExpiryDecision {
    /// Whether there is nothing to apply.
    pub fn is_empty(&self) -> bool {
        self.removes_nothing()
            && self.forget_before.is_none()
            && self.settled.is_empty()
            && self.survivors.is_empty()
    }

    /// Whether no article is removed.
    pub fn removes_nothing(&self) -> bool {
        self.cuts.is_empty() && self.gone.is_empty()
    }
}

impl ExpiryState {
    /// The expiry state after `expiry` is applied.
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
