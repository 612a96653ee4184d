//! The activity of a connection, for the administrator and the daily report.

use nntp::Doing;
use report::network;

use super::Connection;
use crate::connection_status::{ConnectionActivity, ConnectionStatus};
use crate::counts::Counter;
use crate::reader_counts::ReaderCounts;

impl Connection {
    /// Its state at `ticks`, ms of the monotonic clock.
    pub(crate) fn status(&self, ticks: u64) -> ConnectionStatus {
        let session = self.session.activity();
        let client = &self.client;
        let read = |counter| client.tally.read(counter);
        let activity = match session.doing {
            _ if self.handshake().is_some() => ConnectionActivity::Handshake,
            _ if client.suspended_until.is_some() => ConnectionActivity::Suspended,
            Doing::Ended => ConnectionActivity::Ending,
            Doing::Receiving(kind) => ConnectionActivity::Receiving(kind),
            Doing::Discarding => ConnectionActivity::Discarding,
            Doing::LoggingIn => ConnectionActivity::LoggingIn,
            Doing::Replying => ConnectionActivity::Replying,
            Doing::Idle if client.in_flight.0 > 0 => ConnectionActivity::Committing,
            Doing::Idle if self.has_output() => ConnectionActivity::Replying,
            Doing::Idle => ConnectionActivity::Idle,
        };
        ConnectionStatus {
            number: client.number,
            address: client.address,
            entry: client.rights.name().to_owned(),
            user: client.user.clone(),
            is_peer: client.rights.is_peer(),
            activity,
            last_command: session.last.unwrap_or_default(),
            group: session.group.map(<[u8]>::to_vec),
            age_milliseconds: ticks.saturating_sub(client.since),
            idle_milliseconds: ticks.saturating_sub(self.active),
            commands: session.commands,
            articles_in: read(Counter::Accepted) + read(Counter::Posted),
            articles_out: read(Counter::Sent),
            offered: read(Counter::Offered),
            bytes_in: read(Counter::ReceivedBytes),
            bytes_out: read(Counter::SentBytes),
            has_tls: client.is_secure,
            is_compressed: session.is_compressed,
        }
    }

    /// Adds what it did since the last call to the counts of readers. Peers, which offer articles, do not count; nor do clients without a command.
    pub(crate) fn count_reader(&mut self, counted: &mut ReaderCounts, is_over: bool) {
        let commands = self.session.activity().commands;
        let client = &mut self.client;
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
        counted.networks.add(network.as_bytes(), counts);
    }
}
