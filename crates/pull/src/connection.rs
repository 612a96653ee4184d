//! A blocking connection to a server: the socket, its layers, and a rate.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use article::article_end::{ArticleEnd, Ending};
use feed::Remote;
use layers::ClientLayers;
use nntp::client::{PeerError, REPLY_BYTES_MAX, Ready, Reply, Step};
use nntp::{Line, first_line};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with};

use crate::error::Error;
use crate::source::Source;

/// Longest wait for a connection, seconds.
pub const CONNECT_SECONDS_MAX: u64 = 60;
/// Longest line of an overview, bytes: it has several header fields.
pub const ROW_BYTES_MAX: usize = 128 << 10;
/// Size of a read, bytes.
const READ_BYTES: usize = 64 << 10;

/// A connection on which the server waits for commands.
pub struct Connection {
    socket: TcpStream,
    layers: ClientLayers,
    /// Received; the first `used` bytes are processed.
    input: Vec<u8>,
    used: usize,
    has_more: bool,
    raw: Vec<u8>,
    rate: Rate,
    /// How long the server may send and take nothing, seconds.
    timeout_seconds: u64,
    /// Received from the socket, bytes.
    pub received_bytes: u64,
}

/// The end of an article's text.
pub enum Text<'a> {
    /// The article in wire form, with its terminator.
    Whole(&'a [u8]),
    /// It was larger than allowed, and is passed over.
    TooLarge,
}

impl Connection {
    /// Connects, and goes on until the server waits for commands of a reader.
    pub fn open(remote: &Remote, source: &Source) -> Result<(Connection, Ready), Error> {
        let server = remote.server();
        let addresses = (server.host.as_str(), server.port).to_socket_addrs();
        let addresses = addresses.map_err(|error| Error::Io("find the address", error))?;
        let mut failed = io::Error::from(ErrorKind::AddrNotAvailable);
        for address in addresses {
            match dial(address, server.bind, source.timeout_seconds) {
                Ok(socket) => {
                    let mut connection = Connection {
                        socket,
                        layers: remote.layers()?,
                        input: Vec::new(),
                        used: 0,
                        has_more: false,
                        raw: Vec::new(),
                        rate: Rate::new(source.rate),
                        timeout_seconds: source.timeout_seconds,
                        received_bytes: 0,
                    };
                    let ready = connection.begin(remote)?;
                    return Ok((connection, ready));
                }
                Err(error) => failed = error,
            }
        }
        Err(Error::Io("connect", failed))
    }

    fn begin(&mut self, remote: &Remote) -> Result<Ready, Error> {
        let mut opening = remote.opening().for_reading();
        self.shake()?;
        loop {
            let line = self.line(REPLY_BYTES_MAX)?.to_vec();
            let mut out = Vec::new();
            match opening.receive(&line, &mut out)? {
                Step::GoOn => {}
                Step::Ready(ready) => return Ok(ready),
                Step::BeginTls => {
                    let unread = self.input.get(self.used..).unwrap_or_default();
                    remote.begin_tls(&mut self.layers, unread)?;
                    self.shake()?;
                    opening.tls_began(&mut out);
                }
                Step::BeginDeflate => {
                    let mut unread = self.input.split_off(self.used);
                    self.layers.begin_deflate(&mut unread);
                    self.has_more = true;
                    if let Step::Ready(ready) = opening.deflate_began(&mut out)? {
                        return Ok(ready);
                    }
                }
            }
            self.send(&out)?;
        }
    }

    /// Completes the handshake of TLS, if there is one.
    fn shake(&mut self) -> Result<(), Error> {
        self.send_pending()?;
        while self.layers.is_handshaking() {
            self.fill()?;
        }
        Ok(())
    }

    /// Sends commands.
    pub fn send(&mut self, commands: &[u8]) -> Result<(), Error> {
        if commands.is_empty() {
            return Ok(());
        }
        let mut raw = Vec::new();
        self.layers.send(commands, &mut raw, true)?;
        self.write(&raw)
    }

    fn send_pending(&mut self) -> Result<(), Error> {
        let mut raw = Vec::new();
        self.layers.pending(&mut raw);
        self.write(&raw)
    }

    fn write(&mut self, raw: &[u8]) -> Result<(), Error> {
        self.socket
            .write_all(raw)
            .map_err(|error| match error.kind() {
                ErrorKind::WouldBlock | ErrorKind::TimedOut => Error::Silent(self.timeout_seconds),
                _ => Error::Io("send to the server", error),
            })
    }

    /// The next reply. `line` holds it.
    pub fn reply<'l>(&mut self, line: &'l mut Vec<u8>) -> Result<Reply<'l>, Error> {
        line.clear();
        line.extend_from_slice(self.line(REPLY_BYTES_MAX)?);
        Ok(Reply::parse(line)?)
    }

    /// The next line, without its CRLF.
    pub fn line(&mut self, bytes_max: usize) -> Result<&[u8], Error> {
        let (bytes, whole) = loop {
            let rest = self.input.get(self.used..).unwrap_or_default();
            match first_line(rest, bytes_max) {
                Line::Whole(line, whole) => break (line.len(), whole),
                Line::Partial => {}
                Line::TooLong(_) | Line::TooLongSoFar => return Err(PeerError::TooLong.into()),
            }
            self.fill()?;
        };
        let start = self.used;
        self.used += whole;
        Ok(self.input.get(start..start + bytes).unwrap_or_default())
    }

    /// The text of an article behind its reply. A text of more than `bytes_max` is read to its end and not kept.
    pub fn text(&mut self, bytes_max: u64) -> Result<Text<'_>, Error> {
        let mut end = ArticleEnd::default();
        let mut is_too_large = false;
        let bytes = loop {
            let rest = self.input.get(self.used..).unwrap_or_default();
            let passed = match end.search(rest) {
                Ending::At(bytes) => break bytes,
                Ending::NotYet(passed) => passed,
            };
            is_too_large |= rest.len() as u64 > bytes_max;
            if is_too_large {
                self.used += passed;
                end.discard_front(passed);
            }
            self.fill()?;
        };
        let start = self.used;
        self.used += bytes;
        let text = self.input.get(start..start + bytes).unwrap_or_default();
        Ok(match is_too_large || text.len() as u64 > bytes_max {
            true => Text::TooLarge,
            false => Text::Whole(text),
        })
    }

    /// Posts an article in wire form, without its terminator. Returns the server's words if it refuses.
    pub fn post(&mut self, text: &[u8]) -> Result<Option<String>, Error> {
        self.send(b"POST\r\n")?;
        let mut line = Vec::new();
        let reply = self.reply(&mut line)?;
        if reply.code != 340 {
            return Err(reply.to_error().into());
        }
        self.send(&[text, b".\r\n"].concat())?;
        let reply = self.reply(&mut line)?;
        match reply.code {
            240 => Ok(None),
            // After a kill between the reply and the mark.
            441 if is_duplicate(reply.text) => Ok(None),
            441 => Ok(Some(format!("441 {}", reply.text.escape_ascii()))),
            _ => Err(reply.to_error().into()),
        }
    }

    /// Receives some more.
    fn fill(&mut self) -> Result<(), Error> {
        self.input.drain(..self.used);
        self.used = 0;
        if self.has_more {
            let received = self.layers.receive(&mut [], &mut self.input)?;
            self.has_more = received.is_more;
            return Ok(());
        }
        self.raw.resize(self.rate.read_bytes(), 0);
        let count = loop {
            match self.socket.read(&mut self.raw) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    return Err(Error::Silent(self.timeout_seconds));
                }
                read => break read.map_err(|error| Error::Io("receive from the server", error))?,
            }
        };
        if count == 0 {
            return Err(Error::Closed);
        }
        self.received_bytes += count as u64;
        self.rate.spend(count);
        let raw = self.raw.get_mut(..count).unwrap_or_default();
        let received = self.layers.receive(raw, &mut self.input);
        // An alert goes out before the end.
        let sent = self.send_pending();
        let received = received?;
        self.has_more = received.is_more;
        sent
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let _ = self.send(b"QUIT\r\n");
        let mut raw = Vec::new();
        self.layers.close(&mut raw);
        let _ = self.write(&raw);
    }
}

/// Whether a server says that it has the article already; there is no code for that (INN: `441 435 Duplicate`).
fn is_duplicate(text: &[u8]) -> bool {
    text.starts_with(b"435")
        || text
            .to_ascii_lowercase()
            .windows(9)
            .any(|part| part == b"duplicate")
}

fn dial(address: SocketAddr, local: Option<IpAddr>, timeout_seconds: u64) -> io::Result<TcpStream> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    if let Some(local) = local {
        bind(&socket, &SocketAddr::new(local, 0))?;
    }
    // It bounds connect, too.
    let within = Duration::from_secs(CONNECT_SECONDS_MAX);
    set_socket_timeout(&socket, Timeout::Send, Some(within))?;
    connect(&socket, &address).map_err(|errno| match errno {
        rustix::io::Errno::INPROGRESS => io::Error::from(ErrorKind::TimedOut),
        errno => errno.into(),
    })?;
    let socket = TcpStream::from(socket);
    let patience = Some(Duration::from_secs(timeout_seconds));
    socket.set_write_timeout(patience)?;
    socket.set_read_timeout(patience)?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

/// Spreads the bytes over the time.
struct Rate {
    per_second: Option<u64>,
    /// When the bytes of before are paid.
    paid: Instant,
}

impl Rate {
    fn new(per_second: Option<u64>) -> Rate {
        Rate {
            per_second,
            paid: Instant::now(),
        }
    }

    /// Size of a read: of a quarter of a second.
    fn read_bytes(&self) -> usize {
        let quarter = self.per_second.unwrap_or(u64::MAX) / 4;
        usize::try_from(quarter)
            .unwrap_or(READ_BYTES)
            .clamp(1, READ_BYTES)
    }

    fn spend(&mut self, bytes: usize) {
        let Some(per_second) = self.per_second else {
            return;
        };
        let now = Instant::now();
        let cost = Duration::from_secs_f64(bytes as f64 / per_second as f64);
        self.paid = self.paid.max(now) + cost;
        std::thread::sleep(self.paid - now);
    }
}
