//! What the server tells the administrator: nothing of a single article, nothing of a reader's commands.

use std::net::SocketAddr;
use std::time::Duration;

use crate::counts::Tally;

/// Something worth a line of the journal. Those who write it limit how many lines a second there are.
#[derive(Debug)]
pub enum Event<'a> {
    /// A connection was sent away.
    Rejected {
        /// Where from.
        address: Option<SocketAddr>,
        /// Why.
        why: &'static str,
    },
    /// A login failed. A name that is nobody's is not told: it may be a password that was typed in the wrong place.
    LoginFailed {
        /// Where from.
        address: Option<SocketAddr>,
        /// The entry of the access rules.
        entry: &'a str,
        /// What was wrong, for the administrator alone.
        why: &'a str,
    },
    /// Nothing came for too long.
    TimedOut {
        /// Where from.
        address: Option<SocketAddr>,
        /// The entry of the access rules.
        entry: &'a str,
        /// An article was not whole.
        is_receiving: bool,
    },
    /// Memory for what is not whole is used up, and this connection was the slowest of the greediest: what it had sent of an article, or
    /// of a TLS handshake, is thrown away.
    LetGo {
        /// Where from.
        address: Option<SocketAddr>,
        /// The entry of the access rules.
        entry: &'a str,
        /// What was not whole: `article', `handshake' or `command'.
        what: &'static str,
        /// How much of it there was.
        bytes: usize,
    },
    /// The connection of a peer is over.
    PeerLeft {
        /// Where from.
        address: Option<SocketAddr>,
        /// The entry of the access rules.
        entry: &'a str,
        /// How long it lasted.
        lasted: Duration,
        /// What it did.
        tally: &'a Tally,
    },
    /// The store, or another file of the news directory, cannot be read.
    LookupFailed {
        /// Why.
        why: &'a str,
    },
}
