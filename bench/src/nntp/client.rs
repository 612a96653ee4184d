//! The connection of an ordinary reader, which sends one command at a time.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::net::{AddressFamily, SocketAddrV4, SocketType, sockopt};

/// The address of peers. Readers use 127.0.0.1, so that a server can distinguish them.
pub const PEER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);

/// Time limit of a reply.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// Bytes per read.
const READ_BYTES: usize = 256 << 10;

/// A connection that waits for each reply.
pub struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// The range of `buffer` with unread bytes.
    held: std::ops::Range<usize>,
    /// Whether to make the kernel acknowledge at once, before each read.
    quick_ack: bool,
}

/// Opens a connection from the peers' address.
///
/// # Errors
/// Those of the system.
pub fn peer_stream(to: SocketAddr) -> Result<TcpStream> {
    let SocketAddr::V4(to) = to else {
        bail!("not an IPv4 address: {to}")
    };
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None)?;
    rustix::net::bind(&socket, &SocketAddrV4::new(PEER, 0))?;
    rustix::net::connect(&socket, &to).context("connecting as a peer")?;
    let stream = TcpStream::from(socket);
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    Ok(stream)
}

impl Client {
    /// Connects as a reader and reads the greeting.
    ///
    /// # Errors
    /// Those of the system; a greeting other than 200 and 201.
    pub fn reader(to: SocketAddr) -> Result<Client> {
        let stream = TcpStream::connect(to).context("connecting as a reader")?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Client::greeted(stream, READ_BYTES)
    }

    /// As [`Client::reader`], with little memory and few system calls: for clients that only connect and quit, or wait.
    ///
    /// # Errors
    /// As [`Client::reader`].
    pub fn small_reader(to: SocketAddr) -> Result<Client> {
        let stream = TcpStream::connect(to).context("connecting as a reader")?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Client::greeted(stream, 512)
    }

    /// Connects as a peer and reads the greeting.
    ///
    /// # Errors
    /// As [`Client::reader`].
    pub fn peer(to: SocketAddr) -> Result<Client> {
        Client::greeted(peer_stream(to)?, READ_BYTES)
    }

    fn greeted(stream: TcpStream, bytes: usize) -> Result<Client> {
        let mut client = Client {
            stream,
            buffer: vec![0; bytes],
            held: 0..0,
            quick_ack: false,
        };
        let greeting = client.line().context("waiting for the greeting")?;
        if !greeting.starts_with("200 ") && !greeting.starts_with("201 ") {
            bail!("the greeting is: {greeting}");
        }
        Ok(client)
    }

    /// Returns the stream to another reader of replies; the buffer must be empty.
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Makes the kernel acknowledge at once (`true`), or delayed, as it does by default for interactive clients.
    ///
    /// # Errors
    /// Those of the system.
    pub fn acknowledge_at_once(&mut self, yes: bool) -> Result<()> {
        self.quick_ack = yes;
        Ok(sockopt::set_tcp_quickack(&self.stream, yes)?)
    }

    /// Sends bytes unchanged.
    ///
    /// # Errors
    /// Those of the system.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).context("sending")
    }

    /// Sends a command and reads the first line of the reply, which must begin with `code`.
    ///
    /// # Errors
    /// Another reply, which the message contains.
    pub fn ask(&mut self, command: &str, code: &str) -> Result<String> {
        self.send(format!("{command}\r\n").as_bytes())?;
        self.expect(code).with_context(|| command.to_owned())
    }

    /// Reads a line that must begin with `code`.
    ///
    /// # Errors
    /// Another line, which the message contains.
    pub fn expect(&mut self, code: &str) -> Result<String> {
        let line = self.line()?;
        if !line.starts_with(code) {
            bail!("expected {code}, not: {line}");
        }
        Ok(line)
    }

    fn line(&mut self) -> Result<String> {
        loop {
            let held = self.unread();
            if let Some(end) = memchr::memchr(b'\n', held) {
                let line = held.get(..end).unwrap_or_default();
                let line = String::from_utf8_lossy(line).trim_end().to_owned();
                self.consume(end + 1);
                return Ok(line);
            }
            self.more()?;
        }
    }

    /// The received bytes not consumed yet.
    pub fn unread(&self) -> &[u8] {
        self.buffer.get(self.held.clone()).unwrap_or_default()
    }

    /// Consumes `count` bytes.
    pub fn consume(&mut self, count: usize) {
        self.held.start = (self.held.start + count).min(self.held.end);
    }

    /// Reads available bytes; the buffer grows when it is full.
    ///
    /// # Errors
    /// Those of the system; the end of the connection.
    pub fn more(&mut self) -> Result<()> {
        if self.quick_ack {
            sockopt::set_tcp_quickack(&self.stream, true)?;
        }
        if self.held.is_empty() {
            self.held = 0..0;
        } else if self.held.end == self.buffer.len() {
            if self.held.start > 0 {
                self.buffer.copy_within(self.held.clone(), 0);
                self.held = 0..self.held.len();
            } else {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
        }
        let space = self.buffer.get_mut(self.held.end..).unwrap_or_default();
        let count = self.stream.read(space).context("waiting for a reply")?;
        if count == 0 {
            bail!("the server has closed the connection");
        }
        self.held.end += count;
        Ok(())
    }

    /// Reads the whole rest of a multi-line reply, including the terminator,
    /// without consuming it. No other reply may be outstanding.
    ///
    /// # Errors
    /// Those of the system.
    pub fn block(&mut self) -> Result<&[u8]> {
        while self.unread() != b".\r\n" && !self.unread().ends_with(b"\r\n.\r\n") {
            self.more()?;
        }
        Ok(self.unread())
    }

    /// Waits until the server closes the connection.
    ///
    /// # Errors
    /// The system fails, or the server sends more bytes.
    pub fn until_closed(mut self) -> Result<()> {
        let count = self.stream.read(&mut [0; 16])?;
        if count > 0 || !self.unread().is_empty() {
            bail!("bytes after the last reply");
        }
        Ok(())
    }
}
