//! Listening sockets: bound here, or handed over by systemd.

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

/// Connections that may wait to be accepted; the kernel's own limit (net.core.somaxconn) may be less.
const BACKLOG: i32 = 1024;
/// A peer that is gone without a word is noticed after about four minutes of silence.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(120);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
const KEEPALIVE_PROBES: u32 = 4;

/// Why nothing listens there.
#[derive(Debug, Error)]
pub enum Fault {
    /// No address with a port.
    #[error(
        "`{text}' is no address to listen at; write 192.0.2.1:119, [2001:db8::1]:119 or, for all addresses, *:119"
    )]
    NoAddress {
        /// What was given.
        text: String,
    },
    /// The port is taken.
    #[error("{address}: something listens there already, perhaps another news server; \
             `ss -ltnp sport = :{}' shows which: stop it, or listen elsewhere", address.port())]
    InUse {
        /// Where.
        address: SocketAddr,
    },
    /// A port below 1024.
    #[error(
        "{address}: only root may listen at ports below 1024; enable the units broadsheet-nntp.socket and \
             broadsheet-nntps.socket, or give the service AmbientCapabilities=CAP_NET_BIND_SERVICE \
             and CapabilityBoundingSet=CAP_NET_BIND_SERVICE, or listen at a higher port"
    )]
    Denied {
        /// Where.
        address: SocketAddr,
    },
    /// Not an address of this machine.
    #[error("{address}: this machine does not have that address (yet); see `ip address'")]
    NotOurs {
        /// Where.
        address: SocketAddr,
    },
    /// Anything else.
    #[error("{address}: cannot listen: {error}")]
    Failed {
        /// Where.
        address: SocketAddr,
        /// Why.
        error: io::Error,
    },
    /// systemd handed over a socket that we have no use for.
    #[error("socket {number} of systemd, named `{name}': {what}")]
    Inherited {
        /// Counted from 1, in the order of the units.
        number: usize,
        /// From `FileDescriptorName=`.
        name: String,
        /// What is wrong, and what to do.
        what: String,
    },
}

/// A socket that listens. It does not block; what it accepts has TCP_NODELAY and keepalive set, but is blocking until
/// `accept4` is told otherwise.
#[derive(Debug)]
pub struct Listener {
    /// The socket.
    pub listener: TcpListener,
    /// TLS from the first byte (RFC 8143, 2): port 563.
    pub is_tls: bool,
    /// Where it listens, with the port that the kernel chose if that was 0.
    pub address: SocketAddr,
}

impl Listener {
    /// Whether who connects to `address` comes here anyway.
    fn covers(&self, address: SocketAddr, is_tls: bool) -> bool {
        let is_both = || self.address.is_ipv6() && !ipv6_v6only(&self.listener).unwrap_or(true);
        let is_same = self.address.ip() == address.ip()
            || self.address.ip().is_unspecified()
                && (self.address.is_ipv4() == address.is_ipv4() || is_both());
        self.is_tls == is_tls && self.address.port() == address.port() && is_same
    }
}

/// Whether no two sockets can listen at these two addresses: one takes in the other.
pub fn collide(one: SocketAddr, other: SocketAddr) -> bool {
    let is_any = one.ip().is_unspecified() || other.ip().is_unspecified();
    let is_same = one.ip() == other.ip() || is_any && one.is_ipv4() == other.is_ipv4();
    // Port 0 is any free one.
    one.port() != 0 && one.port() == other.port() && is_same
}

/// The addresses that `text` means: `127.0.0.1:1119`, `[::]:119`, or `*:119` for all of both families; several with
/// commas between them. None when it is empty.
///
/// # Errors
/// One is none of these. Names of hosts are not looked up.
pub fn addresses(text: &str) -> Result<Vec<SocketAddr>, Fault> {
    let mut all = Vec::new();
    for item in items(text) {
        all.extend(meant(item)?);
    }
    Ok(all)
}

/// Listens at each address that `text` means. A socket of IPv6 takes no IPv4; for `*` there are two, or one where the
/// kernel has no IPv6.
///
/// # Errors
/// See `Fault`: each says what to do. Then nothing listens.
pub fn bind_all(text: &str, is_tls: bool) -> Result<Vec<Listener>, Fault> {
    bind_beside(&[], text, is_tls)
}

/// As [`bind_all`], but where one of the given sockets listens already, in the same way, that will do: systemd may have opened it.
///
/// # Errors
/// As [`bind_all`].
pub fn bind_beside(given: &[Listener], text: &str, is_tls: bool) -> Result<Vec<Listener>, Fault> {
    let mut all = Vec::new();
    for item in items(text) {
        let mut first = None;
        for mut address in meant(item)? {
            if given.iter().any(|given| given.covers(address, is_tls)) {
                continue;
            }
            // The second of `*:0` gets the port of the first.
            address.set_port(first.unwrap_or(address.port()));
            match bind_one(address, is_tls) {
                Ok(listening) => {
                    first = Some(listening.address.port());
                    all.push(listening);
                }
                Err(Errno::AFNOSUPPORT | Errno::ADDRNOTAVAIL) if first.is_some() => {}
                Err(error) => return Err(fault(address, error)),
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

fn meant(item: &str) -> Result<Vec<SocketAddr>, Fault> {
    let no_address = || Fault::NoAddress {
        text: item.escape_debug().to_string(),
    };
    let Some(port) = item.strip_prefix("*:") else {
        return Ok(vec![item.parse().map_err(|_| no_address())?]);
    };
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    let port: Option<u16> = port.parse().ok().filter(|_| is_number);
    let port = port.ok_or_else(no_address)?;
    Ok(vec![
        SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)),
        SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)),
    ])
}

/// The sockets that systemd opened for us, by their names: `nntp`, or `nntps` for TLS from the first byte. None when it
/// did not start us so. The environment tells it only once. Connections that wait there already have the options of
/// the unit, later ones ours.
///
/// To be called before there are other threads, since it changes the environment.
///
/// # Errors
/// A socket is of another kind or has another name.
pub fn inherited() -> Result<Vec<Listener>, Fault> {
    let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
    let mut given = ListenFd::from_env();
    let mut names = names.split(':');
    let mut found = Vec::new();
    for place in 0..given.len() {
        let name = names.next().unwrap_or_default();
        let fault = |what: String| Fault::Inherited {
            number: place + 1,
            name: name.escape_debug().to_string(),
            what,
        };
        let is_tls = match name {
            "nntp" => false,
            "nntps" => true,
            _ => {
                return Err(fault(
                    "not known; give the unit FileDescriptorName=nntp or nntps".to_owned(),
                ));
            }
        };
        let taken = given.take_tcp_listener(place);
        let Some(listener) = taken.map_err(|error| fault(error.to_string()))? else {
            continue;
        };
        let address = ready(&listener).map_err(|error| fault(error.to_string()))?;
        found.push(Listener {
            listener,
            is_tls,
            address,
        });
    }
    Ok(found)
}

/// Makes a socket that somebody else opened like our own; says where it listens.
fn ready(listener: &TcpListener) -> io::Result<SocketAddr> {
    if !socket_acceptconn(listener)? {
        return Err(io::Error::other(
            "it does not listen; give the unit ListenStream= and Accept=no",
        ));
    }
    listener.set_nonblocking(true)?;
    tune(listener)?;
    listener.local_addr()
}

/// The address of a peer as access rules know it: IPv4 that came through an IPv6 socket (systemd's) is IPv4.
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
    // A restart does not wait for old connections to be forgotten.
    set_socket_reuseaddr(&socket, true)?;
    tune(&socket)?;
    bind(&socket, &address)?;
    listen(&socket, BACKLOG)?;
    let listener = TcpListener::from(socket);
    let address = listener.local_addr().unwrap_or(address);
    Ok(Listener {
        listener,
        is_tls,
        address,
    })
}

/// Linux gives what is set on the listening socket to all that it accepts.
fn tune(socket: impl std::os::fd::AsFd) -> Result<(), Errno> {
    let socket = socket.as_fd();
    set_tcp_nodelay(socket, true)?;
    set_socket_keepalive(socket, true)?;
    set_tcp_keepidle(socket, KEEPALIVE_IDLE)?;
    set_tcp_keepintvl(socket, KEEPALIVE_INTERVAL)?;
    set_tcp_keepcnt(socket, KEEPALIVE_PROBES)
}

fn fault(address: SocketAddr, error: Errno) -> Fault {
    match error {
        Errno::ADDRINUSE => Fault::InUse { address },
        Errno::ACCESS | Errno::PERM if (1..1024).contains(&address.port()) => {
            Fault::Denied { address }
        }
        Errno::ADDRNOTAVAIL => Fault::NotOurs { address },
        error => Fault::Failed {
            address,
            error: error.into(),
        },
    }
}
