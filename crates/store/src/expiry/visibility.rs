//! Whether an article is there: the one rule that all ask.

use crate::expiry::state::ExpiryState;
use crate::history::HistoryLine;
use crate::history::cancels::Cancels;
use crate::log::position::Position;

/// What is known of articles that are gone though their history line is there.
#[derive(Debug, Clone, Copy)]
pub struct Visibility<'a> {
    /// By expire.
    pub expired: &'a ExpiryState,
    /// By cancels.
    pub cancelled: &'a Cancels,
}

impl Visibility<'_> {
    /// True when an article can still be read under a number in a group.
    pub fn is_in(&self, group: &[u8], number: u64, position: Position) -> bool {
        self.expired.keeps(group, number) && !self.cancelled.contains(position)
    }

    /// True when an article can still be read: it was filed, has not expired in all its groups, and was not cancelled.
    pub fn has(&self, line: &HistoryLine<'_>) -> bool {
        line.position
            .is_some_and(|position| !self.cancelled.contains(position))
            && self.expired.keeps_any(line)
    }

    /// True for the line of an article that was filed and is gone: its space may be given back.
    pub fn is_dead(&self, line: &HistoryLine<'_>) -> bool {
        line.position.is_some() && !self.has(line)
    }
}
