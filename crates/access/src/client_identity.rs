//! The identity of a connected client.

use std::net::IpAddr;

/// The facts about a client that access entries match.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClientIdentity<'a> {
    /// Its address; `None` for a pipe (inetd without a socket, ssh), which counts as local.
    pub address: Option<IpAddr>,
    /// The user name, if logged in.
    pub user: Option<&'a str>,
    /// SHA-256 of its TLS certificate (DER).
    pub certificate: Option<[u8; 32]>,
    /// The connection uses TLS.
    pub is_secure: bool,
}
