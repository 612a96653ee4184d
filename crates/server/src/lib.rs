//! The NNTP server: sockets, TLS, compression, sessions over the store.
//!
//! A few network threads own the connections. Articles that come go in parcels to the newsroom, the one thread that files; what they ask
//! for, readers and peers get from the network thread itself, which reads the store without a lock.

pub mod certificates;
mod connection;
mod counts;
mod event;
pub mod layers;
mod library;
mod mailbox;
mod network;
mod offers;
mod parcel;
mod plan;
mod server;
mod shared;
mod shares;
pub mod slow;
pub mod socket;
mod timers;
mod token;
mod visit;

pub use connection::ON_THE_WAY_BYTES_MAX;
pub use counts::{Counts, Peer, PeerCounts, Tally, What};
pub use event::Event;
pub use library::{COPIED_BYTES_MAX, LIST_FILE_BYTES_MAX};
pub use network::{HANDSHAKE_SECONDS_MAX, ROUND_MILLISECONDS_MAX, TURN_MILLISECONDS_MAX};
pub use nntp::{Intake, Kind, Outcome, Capabilities};
pub use offers::{OFFER_SECONDS_MAX, OFFERS_MAX};
pub use parcel::{Entry, Parcel, Poster};
pub use plan::{InForce, Newsroom, Plan, Times};
pub use server::{Error, Server, serve_one};
pub use shared::{
    DAMAGE_TOLD_MAX, HANDSHAKE_BYTES_MAX, HANDSHAKE_SHARE_BYTES_MAX, HELD_BYTES_MAX,
    HELD_SHARE_BYTES_MAX, ON_THE_WAY_ALL_BYTES_MAX,
};
pub use token::Token;
