//! Peers that get articles by NNTP: CHECK and TAKETHIS (RFC 4644), or IHAVE.
//!
//! | file | idea |
//! |---|---|
//! | `peers` | one thread for many peers: an epoll loop, and the passes along the log |
//! | `peer` | one peer: its place in the log, its connections, and what failed |
//! | `lane` | the articles of a stretch of the log, from their discovery to the peer's answers |
//! | `connection` | a socket that never blocks, below `nntp::client` |
//! | `shared_articles` | the articles read last, for peers that come to them next |
//! | `growth`, `pace` | how many connections help; the rate limit |
//! | `headfeed` | articles without their bodies |
//! | `deferrals` | articles that the peer wants later |
//! | `counts` | what others may know of a peer |
//! | `mailbox`, `resolver` | messages to the loop; addresses of hosts |
//!
//! The cursor passes an article when the peer has answered for it and for all before it. What is in flight when the program is killed is
//! offered again, and nothing is skipped.

mod connection;
mod counts;
mod deferrals;
mod growth;
mod headfeed;
mod lane;
mod mailbox;
mod pace;
mod peer;
mod peers;
mod resolver;
mod shared_articles;

pub use connection::{ANSWER_SECONDS_MAX, OPEN_SECONDS_MAX, WINDOW_ARTICLES_MAX};
pub use counts::{
    FeedCounts, PeerDoes, PeerState, REFUSAL_REASONS_MAX, RefusalAnswer, RefusalCount, Weight,
};
pub use deferrals::ATTEMPTS_MAX;
pub use lane::{FLIGHT_ARTICLES_MAX, NOTED_ARTICLES_MAX};
pub use peer::{DURABLE_SECONDS_MAX, IDLE_SECONDS_MAX, PeerPlan, SILENT_SECONDS_MAX};
pub use peers::{Delivered, Peers, PeersHandle, Tell, deliver, loops};
pub use resolver::RESOLVERS_MAX;
pub use shared_articles::SHARED_BYTES_MAX;
