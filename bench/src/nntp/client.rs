//! One connection of a reader, a question at a time, as ordinary clients are.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::net::{AddressFamily, SocketAddrV4, SocketType, sockopt};

/// Where peers come from. Readers come from 127.0.0.1, so that a server can tell them apart.
pub const PEER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 3);

/// A reply that takes longer is a failure.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How much is read at once.
const READ_BYTES: usize = 256 << 10;

/// A connection whose replies are waited for.
pub struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// What of `buffer` has come and is not yet used.
    held: std::ops::Range<usize>,
    /// Ask the kernel to acknowledge at once, before each read.
    quick_ack: bool,
}

/// A connection of a peer, from the peers' address.
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
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_read_timeout(Some(PATIENCE))?;
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
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Client::greeted(stream, READ_BYTES)
    }

    /// As [`Client::reader`], with little memory and few system calls: for those that only come and go, or wait.
    ///
    /// # Errors
    /// As [`Client::reader`].
    pub fn small_reader(to: SocketAddr) -> Result<Client> {
        let stream = TcpStream::connect(to).context("connecting as a reader")?;
        stream.set_read_timeout(Some(PATIENCE))?;
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

    /// The stream, where replies are read by another: nothing may be held here.
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }

    /// Acknowledge at once (`true`), or late, as the kernel does for whoever asks and answers.
    ///
    /// # Errors
    /// Those of the system.
    pub fn acknowledge_at_once(&mut self, yes: bool) -> Result<()> {
        self.quick_ack = yes;
        Ok(sockopt::set_tcp_quickack(&self.stream, yes)?)
    }

    /// Sends bytes as they are.
    ///
    /// # Errors
    /// Those of the system.
    pub fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.stream.write_all(bytes).context("sending")
    }

    /// Sends a command and reads its first line, which has to begin with `code`.
    ///
    /// # Errors
    /// Another reply, which is in the message.
    pub fn ask(&mut self, command: &str, code: &str) -> Result<String> {
        self.send(format!("{command}\r\n").as_bytes())?;
        self.expect(code).with_context(|| command.to_owned())
    }

    /// Reads a line that has to begin with `code`.
    ///
    /// # Errors
    /// Another line, which is in the message.
    pub fn expect(&mut self, code: &str) -> Result<String> {
        let line = self.line()?;
        if !line.starts_with(code) {
            bail!("{code} was expected and this came: {line}");
        }
        Ok(line)
    }

    fn line(&mut self) -> Result<String> {
        loop {
            let held = self.held();
            if let Some(end) = memchr::memchr(b'\n', held) {
                let line = held.get(..end).unwrap_or_default();
                let line = String::from_utf8_lossy(line).trim_end().to_owned();
                self.use_up(end + 1);
                return Ok(line);
            }
            self.more()?;
        }
    }

    /// What has come and is not used.
    pub fn held(&self) -> &[u8] {
        self.buffer.get(self.held.clone()).unwrap_or_default()
    }

    /// The first `count` bytes held are dealt with.
    pub fn use_up(&mut self, count: usize) {
        self.held.start = (self.held.start + count).min(self.held.end);
    }

    /// Reads what there is; the buffer grows where it is full.
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
        let room = self.buffer.get_mut(self.held.end..).unwrap_or_default();
        let count = self.stream.read(room).context("waiting for a reply")?;
        if count == 0 {
            bail!("the server has closed the connection");
        }
        self.held.end += count;
        Ok(())
    }

    /// Reads the whole rest of a reply of many lines, terminator included, and
    /// leaves it held. Nothing else may be under way.
    ///
    /// # Errors
    /// Those of the system.
    pub fn block(&mut self) -> Result<&[u8]> {
        while self.held() != b".\r\n" && !self.held().ends_with(b"\r\n.\r\n") {
            self.more()?;
        }
        Ok(self.held())
    }

    /// Waits until the other side has closed.
    ///
    /// # Errors
    /// Those of the system; bytes where none should be.
    pub fn until_closed(mut self) -> Result<()> {
        let count = self.stream.read(&mut [0; 16])?;
        if count > 0 || !self.held().is_empty() {
            bail!("bytes after the last reply");
        }
        Ok(())
    }
}
