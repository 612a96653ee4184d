//! The layers between a socket and a protocol: TLS and compression. Bytes in, bytes out; no sockets, no news.
//!
//! The server drives [`tls`] and [`deflate`] itself; an outgoing connection uses [`ClientLayers`].

pub mod certificate;
mod client;
pub mod deflate;
pub mod tls;
mod trust;

pub use client::{ClientLayers, LayersError, PLAIN_BYTES_MAX, Received};
pub use trust::{CA_FILE_BYTES_MAX, ClientTrust, Fingerprint, Trust, TrustError};
