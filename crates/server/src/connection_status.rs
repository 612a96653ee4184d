//! The state of a connection, for the administrator.

use std::net::SocketAddr;

use nntp::{Doing, TransferKind};

use crate::connection::Connection;
use crate::counts::Counter;

/// The state of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionStatus {
    /// Its number: connections count from 1 since the server started.
    pub number: u64,
    /// The client's address; `None` for a pipe of this machine.
    pub address: Option<SocketAddr>,
    /// The access entry; empty without a matching one.
    pub entry: String,
    /// The login; `None` without one.
    pub user: Option<String>,
    /// It may send articles as a peer.
    pub is_peer: bool,
    /// Its activity.
    pub activity: ConnectionActivity,
    /// The last command; empty before the first one.
    pub last_command: &'static str,
    /// The selected group.
    pub group: Option<Vec<u8>>,
    /// Age, ms.
    pub age_milliseconds: u64,
    /// Time since the last progress, ms.
    pub idle_milliseconds: u64,
    /// Number of valid commands.
    pub commands: u64,
    /// Number of accepted articles, posts included.
    pub articles_in: u64,
    /// Number of articles, headers and bodies sent.
    pub articles_out: u64,
    /// Number of offered ids.
    pub offered: u64,
    /// Bytes received.
    pub bytes_in: u64,
    /// Bytes sent.
    pub bytes_out: u64,
    /// It uses TLS.
    pub has_tls: bool,
    /// It uses COMPRESS.
    pub is_compressed: bool,
}

/// The activity of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionActivity {
    /// The TLS handshake is not complete.
    Handshake,
    /// It waits for the client's next command.
    Idle,
    /// It receives an article.
    Receiving(TransferKind),
    /// It discards the rest of a refused article.
    Discarding,
    /// It sends a reply that the client has not read yet.
    Replying,
    /// It waits for the commit of articles that it sent.
    Committing,
    /// A login is being checked.
    LoggingIn,
    /// A rate limit suspends it.
    Suspended,
    /// It ends when its last reply is sent.
    Ending,
}

impl ConnectionActivity {
    /// Its words for people.
    pub fn words(self) -> &'static str {
        match self {
            ConnectionActivity::Handshake => "TLS handshake",
            ConnectionActivity::Idle => "idle",
            ConnectionActivity::Receiving(TransferKind::Post) => "receiving a post",
            ConnectionActivity::Receiving(TransferKind::Ihave) => "receiving by IHAVE",
            ConnectionActivity::Receiving(TransferKind::TakeThis) => "receiving by TAKETHIS",
            ConnectionActivity::Discarding => "discarding an article",
            ConnectionActivity::Replying => "sending",
            ConnectionActivity::Committing => "waiting for a commit",
            ConnectionActivity::LoggingIn => "logging in",
            ConnectionActivity::Suspended => "held back by its rate limit",
            ConnectionActivity::Ending => "ending",
        }
    }
}

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
}
