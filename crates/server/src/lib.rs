//! The NNTP server: sockets, TLS, compression, sessions over the store.
//!
//! A few network threads own the connections. Received articles go in batches to the writer, the one thread that files. Lookups of
//! readers and peers run on the network thread itself, which reads the store without a lock.

mod article_batch;
pub mod certificates;
mod client;
mod connection;
mod connection_status;
mod counts;
mod event;
mod mailbox;
mod network;
mod owner;
mod plan;
mod reader_counts;
mod reservations;
mod server;
mod shared;
mod shared_ranges;
mod shares;
pub mod socket;
mod thread_store;
mod timers;
mod token;
mod waiting_posts;
pub mod worker_pool;

pub use article_batch::{ArticleBatch, ArticleOrigin, Entry, Poster};
pub use connection::IN_FLIGHT_BYTES_MAX;
pub use connection_status::{ConnectionActivity, ConnectionStatus};
pub use counts::{Counter, Counts, Peer, PeerCounts, Tally};
pub use event::Event;
pub use layers;
pub use network::{HANDSHAKE_SECONDS_MAX, ROUND_MILLISECONDS_MAX, TIME_SLICE_MILLISECONDS_MAX};
pub use nntp::{Capabilities, Intake, TransferKind, TransferOutcome};
pub use plan::{ArticleSink, ConfigSnapshot, Plan, Times};
pub use reader_counts::{READERS_NAMED_MAX, ReaderCounts};
pub use reservations::{RESERVATION_SECONDS_MAX, RESERVATIONS_MAX};
pub use server::{Error, Server, serve_one};
pub use shared::{
    DAMAGE_REMEMBERED_MAX, FETCH_THREADS_MAX, HANDSHAKE_BYTES_MAX, HANDSHAKE_SHARE_BYTES_MAX,
    HELD_BYTES_MAX, HELD_SHARE_BYTES_MAX, IN_FLIGHT_ALL_BYTES_MAX,
};
pub use thread_store::{COPIED_BYTES_MAX, LIST_FILE_BYTES_MAX};
pub use token::Token;
pub use waiting_posts::{POSTS_ADDRESS_BYTES_MAX, POSTS_BYTES_MAX};
