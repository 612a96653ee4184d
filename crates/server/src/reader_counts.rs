//! Counts of readers, by network and by group, for the daily report. Each network thread has its own, plain memory.

use report::figures::{Groups, Networks};
use report::network;

use crate::connection::Connection;
use crate::counts::Counter;

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
    /// Adds what a connection did since the last call. Peers, which offer articles, do not count; nor do clients without a command.
    pub(crate) fn add(&mut self, connection: &mut Connection, is_over: bool) {
        let commands = connection.session.activity().commands;
        let client = &mut connection.client;
        if commands == 0 || client.tally.read(Counter::Offered) > 0 {
            return;
        }
        let now = [
            client.tally.read(Counter::Sent),
            commands,
            client.tally.read(Counter::SentBytes),
        ];
        let [articles, commands, bytes] = now;
        let [articles_before, commands_before, bytes_before] =
            std::mem::replace(&mut client.reader_counted, now);
        if !is_over && commands == commands_before && bytes == bytes_before {
            return;
        }
        let network = network::of(client.address.map(|address| address.ip()));
        let counts = [
            articles.saturating_sub(articles_before),
            u64::from(is_over),
            commands.saturating_sub(commands_before),
            bytes.saturating_sub(bytes_before),
        ];
        self.networks.add(network.as_bytes(), counts);
    }

    /// Adds the counts of another thread.
    pub fn merge(&mut self, other: &ReaderCounts) {
        self.networks.merge(&other.networks);
        self.groups.merge(&other.groups);
    }
}
