//! Listening sockets: bound here, or inherited from systemd.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::time::Duration;

use listenfd::ListenFd;
use rustix::io::Errno;
use rustix::net::sockopt::{
    ipv6_v6only, set_ipv6_v6only, set_socket_keepalive, set_socket_reuseaddr, set_tcp_keepcnt,
    set_tcp_keepidle, set_tcp_keepintvl, set_tcp_nodelay, socket_acceptconn,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};
use thiserror::Error;

/// Maximum number of connections waiting for accept; the kernel's limit (net.core.somaxconn) may be lower.
const BACKLOG: i32 = 1024;
/// Keepalive detects a lost peer after about four minutes of silence.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(120);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
const KEEPALIVE_PROBES: u32 = 4;

/// A listening socket cannot be opened.
#[derive(Debug, Error)]
pub enum ListenError {
    /// No address with a port.
    #[error(
        "`{text}' is not a valid listening address; write 192.0.2.1:119, [2001:db8::1]:119 or, for all addresses, *:119"
    )]
    InvalidAddress {
        /// The setting's text.
        text: String,
    },
    /// The port is in use.
    #[error("{address}: address already in use, perhaps by another news server; \
    `ss -ltnp sport = :{}' shows it: stop it, or listen elsewhere", address.port())]
    InUse {
        /// The address.
        address: SocketAddr,
    },
    /// A port below 1024.
    #[error(
        "{address}: permission denied: only root may listen on ports below 1024; enable the units broadsheet-nntp.socket and \
             broadsheet-nntps.socket, or give the service AmbientCapabilities=CAP_NET_BIND_SERVICE \
             and CapabilityBoundingSet=CAP_NET_BIND_SERVICE, or listen on a higher port"
    )]
    Denied {
        /// The address.
        address: SocketAddr,
    },
    /// The address does not belong to this machine.
    #[error("{address}: this machine does not have that address (yet); see `ip address'")]
    NotLocal {
        /// The address.
        address: SocketAddr,
    },
    /// Another error.
    #[error("{address}: cannot listen: {error}")]
    Failed {
        /// The address.
        address: SocketAddr,
        /// The cause.
        error: io::Error,
    },
    /// An inherited socket is not usable.
    #[error("socket {number} of systemd, named `{name}': {what}")]
    Inherited {
        /// Its number from 1, in the order of the units.
        number: usize,
        /// Its `FileDescriptorName=`.
        name: String,
        /// The problem and its solution.
        what: String,
    },
}

/// A non-blocking listening socket. Accepted sockets have TCP_NODELAY and keepalive, but block unless `accept4` sets SOCK_NONBLOCK.
#[derive(Debug)]
pub struct Listener {
    /// The socket.
    pub socket: TcpListener,
    /// TLS from the first byte (RFC 8143, 2): port 563.
    pub is_tls: bool,
    /// The listening address, with the kernel's choice for port 0.
    pub address: SocketAddr,
}

impl Listener {
    /// Whether connections to `address` arrive at this socket.
    fn covers(&self, address: SocketAddr, is_tls: bool) -> bool {
        let is_both = || self.address.is_ipv6() && !ipv6_v6only(&self.socket).unwrap_or(true);
        let is_same = self.address.ip() == address.ip()
            || self.address.ip().is_unspecified()
                && (self.address.is_ipv4() == address.is_ipv4() || is_both());
        self.is_tls == is_tls && self.address.port() == address.port() && is_same
    }
}

/// Whether two sockets cannot listen on both addresses, because one includes the other.
pub fn collide(one: SocketAddr, other: SocketAddr) -> bool {
    let is_any = one.ip().is_unspecified() || other.ip().is_unspecified();
    let is_same = one.ip() == other.ip() || is_any && one.is_ipv4() == other.is_ipv4();
    // Port 0 is any free port.
    one.port() != 0 && one.port() == other.port() && is_same
}

/// Parses a list of addresses separated by commas: `127.0.0.1:1119`, `[::]:119`, or `*:119` for all of both families.
///
/// # Errors
/// An item is not an address. Host names are not resolved.
pub fn addresses(text: &str) -> Result<Vec<SocketAddr>, ListenError> {
    let mut all = Vec::new();
    for item in items(text) {
        all.extend(parse_item(item)?);
    }
    Ok(all)
}

/// Listens on each address in `text`, except those that a socket in `given`, perhaps inherited from systemd, covers already. An IPv6 socket
/// does not accept IPv4; `*` gives two sockets, or one if the kernel has no IPv6.
///
/// # Errors
/// See `ListenError`. Then no socket listens.
pub fn bind_beside(
    given: &[Listener],
    text: &str,
    is_tls: bool,
) -> Result<Vec<Listener>, ListenError> {
    let mut all = Vec::new();
    for item in items(text) {
        let mut first = None;
        for mut address in parse_item(item)? {
            if given.iter().any(|given| given.covers(address, is_tls)) {
                continue;
            }
            // The second of `*:0` gets the port of the first.
            address.set_port(first.unwrap_or(address.port()));
            match bind_one(address, is_tls) {
                Ok(listener) => {
                    first = Some(listener.address.port());
                    all.push(listener);
                }
                Err(Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL) if first.is_some() => {}
                Err(error) => return Err(listen_error(address, error)),
            }
        }
    }
    Ok(all)
}

fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
}

fn parse_item(item: &str) -> Result<Vec<SocketAddr>, ListenError> {
    let invalid_address = || ListenError::InvalidAddress {
        text: item.escape_debug().to_string(),
    };
    let Some(port) = item.strip_prefix("*:") else {
        return Ok(vec![item.parse().map_err(|_| invalid_address())?]);
    };
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    let port: Option<u16> = port.parse().ok().filter(|_| is_number);
    let port = port.ok_or_else(invalid_address)?;
    Ok(vec![
        SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
        SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
    ])
}

/// The sockets inherited from systemd (sd_listen_fds(3)), named `nntp`, or `nntps` for TLS from the first byte. Works once: it removes
/// the environment variables. Connections accepted before have the socket options of the unit, later ones ours.
///
/// Must be called before other threads start, since it changes the environment.
///
/// # Errors
/// A socket has another type or name.
pub fn inherited() -> Result<Vec<Listener>, ListenError> {
    let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
    let mut given = ListenFd::from_env();
    let mut names = names.split(':');
    let mut found = Vec::new();
    for place in 0..given.len() {
        let name = names.next().unwrap_or_default();
        let fault = |what: String| ListenError::Inherited {
            number: place + 1,
            name: name.escape_debug().to_string(),
            what,
        };
        let is_tls = match name {
            "nntp" => false,
            "nntps" => true,
            _ => {
                return Err(fault(
                    "unknown name; set FileDescriptorName=nntp or nntps in the unit".to_owned(),
                ));
            }
        };
        let taken = given.take_tcp_listener(place);
        let Some(socket) = taken.map_err(|error| fault(error.to_string()))? else {
            continue;
        };
        let address = prepare(&socket).map_err(|error| fault(error.to_string()))?;
        found.push(Listener {
            socket,
            is_tls,
            address,
        });
    }
    Ok(found)
}

/// Sets our options on an inherited socket, and returns its address.
fn prepare(listener: &TcpListener) -> io::Result<SocketAddr> {
    if !socket_acceptconn(listener)? {
        return Err(io::Error::other(
            "it does not listen; set ListenStream= and Accept=no in the unit",
        ));
    }
    listener.set_nonblocking(true)?;
    tune(listener)?;
    listener.local_addr()
}

/// The address that access rules match: an IPv4-mapped IPv6 address, as from a socket of systemd, becomes IPv4.
#[must_use]
pub fn canonical(peer: SocketAddr) -> SocketAddr {
    match peer.ip().to_canonical() {
        IpAddr::V4(ip) => SocketAddr::from((ip, peer.port())),
        IpAddr::V6(_) => peer,
    }
}

fn bind_one(address: SocketAddr, is_tls: bool) -> Result<Listener, Errno> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    if address.is_ipv6() {
        set_ipv6_v6only(&socket, true)?;
    }
    // A restart does not wait for old connections in TIME_WAIT.
    set_socket_reuseaddr(&socket, true)?;
    tune(&socket)?;
    bind(&socket, &address)?;
    listen(&socket, BACKLOG)?;
    let socket = TcpListener::from(socket);
    let address = socket.local_addr().unwrap_or(address);
    Ok(Listener {
        socket,
        is_tls,
        address,
    })
}

/// Sets options that accepted sockets inherit from the listening one (on Linux).
fn tune(socket: impl std::os::fd::AsFd) -> Result<(), Errno> {
    let socket = socket.as_fd();
    set_tcp_nodelay(socket, true)?;
    set_socket_keepalive(socket, true)?;
    set_tcp_keepidle(socket, KEEPALIVE_IDLE)?;
    set_tcp_keepintvl(socket, KEEPALIVE_INTERVAL)?;
    set_tcp_keepcnt(socket, KEEPALIVE_PROBES)
}

fn listen_error(address: SocketAddr, error: Errno) -> ListenError {
    match error {
        Errno::ADDRINUSE => ListenError::InUse { address },
        Errno::ACCESS | Errno::PERM if (1..1024).contains(&address.port()) => {
            ListenError::Denied { address }
        }
        Errno::ADDRNOTAVAIL => ListenError::NotLocal { address },
        error => ListenError::Failed {
            address,
            error: error.into(),
        },
    }
}
