//! Counts of readers, by network and by group, for the daily report. Each network thread has its own, plain memory.

use report::figures::{Groups, Networks};

/// Networks, and groups, that a network thread counts by name; the others are added up.
pub const READERS_NAMED_MAX: usize = 4096;

/// Counts of readers.
#[derive(Debug, Clone)]
pub struct ReaderCounts {
    /// Articles, ended connections, commands and bytes, by shortened address.
    pub networks: Networks,
    /// Requests by group.
    pub groups: Groups,
}

impl Default for ReaderCounts {
    fn default() -> ReaderCounts {
        ReaderCounts {
            networks: Networks::new(READERS_NAMED_MAX),
            groups: Groups::new(READERS_NAMED_MAX),
        }
    }
}

impl ReaderCounts {
    /// Adds the counts of another thread.
    pub fn merge(&mut self, other: &ReaderCounts) {
        self.networks.merge(&other.networks);
        self.groups.merge(&other.groups);
    }
}
