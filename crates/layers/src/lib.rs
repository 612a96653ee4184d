//! The layers between a socket and a protocol: TLS and compression. Bytes in, bytes out; no sockets, no news.
//!
//! The server drives [`tls`] and [`deflate`] itself; an outgoing connection uses [`ClientLayers`].

pub mod certificate;
pub mod client;
pub mod deflate;
pub mod files;
pub mod tls;
pub mod trust;

pub use client::{ClientLayers, LayersError, Received};
pub use trust::{ClientTrust, Fingerprint, Trust, TrustError};
