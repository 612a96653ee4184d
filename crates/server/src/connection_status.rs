//! The state of a connection, for the administrator.

use std::net::SocketAddr;

use nntp::TransferKind;

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
