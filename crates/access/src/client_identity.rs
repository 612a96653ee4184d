//! Who is at the door.

use std::net::IpAddr;

/// What is known of somebody who is connected.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClientIdentity<'a> {
    /// Where he comes from; `None` over a pipe (inetd without a socket, ssh), which counts as local.
    pub address: Option<IpAddr>,
    /// His name, when he has logged in.
    pub user: Option<&'a str>,
    /// SHA-256 of the certificate (DER) by which TLS knows him.
    pub certificate: Option<[u8; 32]>,
    /// Nobody on the way can listen: TLS.
    pub is_secure: bool,
}
