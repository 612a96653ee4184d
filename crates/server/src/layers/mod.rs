//! The layers between a socket and a session: TLS and compression. Bytes in, bytes out; no sockets.

pub mod client_certificate;
pub mod deflate;
pub mod tls;
