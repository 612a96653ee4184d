//! The rule whether an article is visible.

use crate::expiry::state::ExpiryState;
use crate::history::HistoryLine;
use crate::history::cancels::Cancels;
use crate::log::position::Position;

/// The removed articles whose history line remains.
#[derive(Debug, Clone, Copy)]
pub struct Visibility<'a> {
    /// Removed by expire.
    pub expired: &'a ExpiryState,
    /// Removed by cancels.
    pub cancelled: &'a Cancels,
}

impl Visibility<'_> {
    /// Whether an article can still be read under a number in a group.
    pub fn is_in(&self, group: &[u8], number: u64, position: Position) -> bool {
        self.expired.keeps(group, number) && !self.cancelled.contains(position)
    }

    /// Whether an article can still be read: it was filed, has not expired in all its groups, and was not cancelled.
    pub fn has(&self, line: &HistoryLine<'_>) -> bool {
        line.position
            .is_some_and(|position| !self.cancelled.contains(position))
            && self.expired.keeps_any(line)
    }

    /// Whether the line is that of a filed and removed article, whose space may be reclaimed.
    pub fn is_dead(&self, line: &HistoryLine<'_>) -> bool {
        line.position.is_some() && !self.has(line)
    }
}
