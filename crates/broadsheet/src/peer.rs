//! Peers: what `peer add` writes, what the administrator of the other site writes, and the test of a connection.

pub mod checks;
pub mod entry;
pub mod exchanged;
pub mod lines;
pub mod probe;
