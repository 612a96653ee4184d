//! The NNTP server: sockets, TLS, compression, sessions over the store.

pub mod certificates;
pub mod layers;
pub mod slow;
pub mod socket;
