//! The NNTP server: sockets, TLS, compression, sessions over the store.
//!
//! A few network threads own the connections. Articles that come go in batches to the writer, the one thread that files; what they ask
//! for, readers and peers get from the network thread itself, which reads the store without a lock.

pub mod certificates;
mod connection;
mod counts;
mod event;
pub mod layers;
mod thread_store;
mod mailbox;
mod network;
mod reservations;
mod article_batch;
mod plan;
mod server;
mod shared;
mod shares;
pub mod worker_pool;
pub mod socket;
mod timers;
mod token;
mod client;

pub use connection::ON_THE_WAY_BYTES_MAX;
pub use counts::{Counts, Peer, PeerCounts, Tally, What};
pub use event::Event;
pub use thread_store::{COPIED_BYTES_MAX, LIST_FILE_BYTES_MAX};
pub use network::{HANDSHAKE_SECONDS_MAX, ROUND_MILLISECONDS_MAX, TURN_MILLISECONDS_MAX};
pub use nntp::{Intake, Kind, Outcome, Capabilities};
pub use reservations::{RESERVATION_SECONDS_MAX, RESERVATIONS_MAX};
pub use article_batch::{Entry, ArticleBatch, Poster};
pub use plan::{ConfigSnapshot, ArticleSink, Plan, Times};
pub use server::{Error, Server, serve_one};
pub use shared::{
    DAMAGE_TOLD_MAX, HANDSHAKE_BYTES_MAX, HANDSHAKE_SHARE_BYTES_MAX, HELD_BYTES_MAX,
    HELD_SHARE_BYTES_MAX, ON_THE_WAY_ALL_BYTES_MAX,
};
pub use token::Token;
