//! Events for the administrator's log. Single articles and readers' commands cause none.

use std::net::SocketAddr;
use std::time::Duration;

use crate::counts::Tally;

/// An event for the log. The log limits the number of lines a second.
#[derive(Debug)]
pub enum Event<'a> {
    /// A connection was rejected.
    Rejected {
        /// The client's address.
        address: Option<SocketAddr>,
        /// The reason.
        why: &'static str,
    },
    /// A login failed. The event has no name: an unknown one may be a password typed in the wrong place.
    LoginFailed {
        /// The client's address.
        address: Option<SocketAddr>,
        /// The entry of the access rules.
        entry: &'a str,
        /// The reason; not for the client.
        why: &'a str,
    },
    /// A connection was idle for too long.
    TimedOut {
        /// The client's address.
        address: Option<SocketAddr>,
        /// The entry of the access rules.
        entry: &'a str,
        /// An article was incomplete.
        is_receiving: bool,
    },
    /// The memory for incomplete input is used up, and this connection's part of it was discarded: it was the slowest of the address with
    /// the largest share.
    Discard {
        /// The client's address.
        address: Option<SocketAddr>,
        /// The entry of the access rules.
        entry: &'a str,
        /// The incomplete input: `article`, `handshake` or `command`.
        what: &'static str,
        /// Its size, bytes.
        bytes: usize,
    },
    /// An article was discarded because it exceeds the size limit.
    TooLarge {
        /// The client's address.
        address: Option<SocketAddr>,
        /// The entry of the access rules.
        entry: &'a str,
        /// The message-id in the command; empty for a post.
        id: &'a [u8],
    },
    /// The connection of a peer ended.
    PeerLeft {
        /// The client's address.
        address: Option<SocketAddr>,
        /// The entry of the access rules.
        entry: &'a str,
        /// Duration of the connection.
        lasted: Duration,
        /// Its counters.
        tally: &'a Tally,
    },
    /// The object store does not answer any more, or it answers again.
    ObjectStore {
        /// The reason; `None` if it answers again.
        why: Option<&'a str>,
    },
    /// The store or another file of the news directory cannot be read.
    LookupFailed {
        /// The reason.
        why: &'a str,
    },
}
