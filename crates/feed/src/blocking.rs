//! A blocking connection to another server, for programs that wait for each reply: the socket below `nntp::client`, and its layers.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use layers::{ClientLayers, LayersError};
use nntp::client::{PeerError, REPLY_BYTES_MAX};
use nntp::{Line, first_line};
use thiserror::Error;

use crate::remote::Remote;

/// Size of a read, bytes.
const READ_BYTES: usize = 64 << 10;

/// The reason why a connection is of no more use.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ConnectionError {
    /// The server's address does not accept connections.
    #[error("cannot connect: {0}")]
    Connect(io::Error),
    /// The network.
    #[error("cannot {0}: {1}")]
    Io(&'static str, io::Error),
    /// TLS or compression.
    #[error("{0}")]
    Layers(#[from] LayersError),
    /// The server violated the protocol.
    #[error("{0}")]
    Peer(#[from] PeerError),
    /// The server closed the connection.
    #[error("the server closed the connection")]
    Closed,
    /// The server sent nothing, or took nothing ("sent", "took"), for a number of seconds.
    #[error("the server {0} nothing for {1} seconds")]
    Silent(&'static str, u64),
}

/// A connection, and what was received on it.
#[derive(Debug)]
pub struct BlockingConnection {
    socket: TcpStream,
    layers: ClientLayers,
    /// Received; the first `used` bytes are processed.
    input: Vec<u8>,
    used: usize,
    /// The layers hold more input.
    has_more: bool,
    raw: Vec<u8>,
    /// Maximum time without progress, seconds.
    timeout_seconds: u64,
}

impl BlockingConnection {
    /// Connects to an address of the server. Implicit TLS is complete afterwards.
    ///
    /// # Errors
    /// [`ConnectionError::Connect`], after which another address may do; those of TLS.
    pub fn open(
        remote: &Remote,
        address: SocketAddr,
        (connect, timeout_seconds): (Duration, u64),
    ) -> Result<BlockingConnection, ConnectionError> {
        let patience = Duration::from_secs(timeout_seconds);
        let socket = dial(remote, address, connect, patience).map_err(ConnectionError::Connect)?;
        let mut connection = BlockingConnection {
            socket,
            layers: remote.layers()?,
            input: Vec::new(),
            used: 0,
            has_more: false,
            raw: Vec::new(),
            timeout_seconds,
        };
        connection.handshake()?;
        Ok(connection)
    }

    /// Begins TLS, after the reply to STARTTLS.
    ///
    /// # Errors
    /// The certificate is not accepted, or TLS fails.
    pub fn begin_tls(&mut self, remote: &Remote) -> Result<(), ConnectionError> {
        let unread = self.input.get(self.used..).unwrap_or_default();
        remote.begin_tls(&mut self.layers, unread)?;
        self.handshake()
    }

    /// Begins compression, after the reply to COMPRESS.
    pub fn begin_deflate(&mut self) {
        let mut unread = self.input.split_off(self.used);
        self.layers.begin_deflate(&mut unread);
        self.has_more = true;
    }

    fn handshake(&mut self) -> Result<(), ConnectionError> {
        self.send_pending()?;
        while self.layers.is_handshaking() {
            self.fill(usize::MAX)?;
        }
        Ok(())
    }

    /// The layers: encryption, compression.
    pub fn layers(&self) -> &ClientLayers {
        &self.layers
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn send(&mut self, bytes: &[u8]) -> Result<(), ConnectionError> {
        if bytes.is_empty() {
            return Ok(());
        }
        let mut raw = Vec::new();
        self.layers.send(bytes, &mut raw, true)?;
        self.write(&raw)
    }

    /// Says to the server that nothing follows.
    pub fn close(&mut self) {
        let mut raw = Vec::new();
        self.layers.close(&mut raw);
        let _ = self.write(&raw);
    }

    fn send_pending(&mut self) -> Result<(), ConnectionError> {
        let mut raw = Vec::new();
        self.layers.pending(&mut raw);
        self.write(&raw)
    }

    fn write(&mut self, raw: &[u8]) -> Result<(), ConnectionError> {
        let written = self.socket.write_all(raw);
        written.map_err(|error| self.io_error(("took", "send to the server"), error))
    }

    fn io_error(
        &self,
        (did, doing): (&'static str, &'static str),
        error: io::Error,
    ) -> ConnectionError {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                ConnectionError::Silent(did, self.timeout_seconds)
            }
            _ => ConnectionError::Io(doing, error),
        }
    }

    /// Returns the next line of a reply, without its CRLF.
    ///
    /// # Errors
    /// Those of the connection; a line of more than [`REPLY_BYTES_MAX`] bytes.
    pub fn reply_line(&mut self) -> Result<&[u8], ConnectionError> {
        loop {
            match first_line(self.unread(), REPLY_BYTES_MAX) {
                Line::Whole(line, whole) => {
                    let bytes = line.len();
                    return Ok(self.take(whole).get(..bytes).unwrap_or_default());
                }
                Line::Partial => {}
                Line::TooLong(_) | Line::TooLongSoFar => return Err(PeerError::TooLong.into()),
            }
            self.fill(usize::MAX)?;
        }
    }

    /// Received bytes that are not taken.
    pub fn unread(&self) -> &[u8] {
        self.input.get(self.used..).unwrap_or_default()
    }

    /// Takes this number of bytes of what was received.
    pub fn take(&mut self, bytes: usize) -> &[u8] {
        let start = self.used;
        self.used = (start + bytes).min(self.input.len());
        self.input.get(start..self.used).unwrap_or_default()
    }

    /// Waits for more input. Reads at most `bytes_max` bytes from the socket; returns their number, which is 0 where the layers still had some.
    ///
    /// # Errors
    /// Those of the connection, which is closed if nothing follows.
    pub fn fill(&mut self, bytes_max: usize) -> Result<usize, ConnectionError> {
        self.input.drain(..self.used);
        self.used = 0;
        if self.has_more {
            let received = self.layers.receive(&mut [], &mut self.input)?;
            self.has_more = received.is_more;
            return Ok(0);
        }
        self.raw.resize(bytes_max.clamp(1, READ_BYTES), 0);
        let count = loop {
            match self.socket.read(&mut self.raw) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => {
                    break read.map_err(|error| {
                        self.io_error(("sent", "receive from the server"), error)
                    })?;
                }
            }
        };
        if count == 0 {
            return Err(ConnectionError::Closed);
        }
        let raw = self.raw.get_mut(..count).unwrap_or_default();
        let received = self.layers.receive(raw, &mut self.input);
        // An alert goes out before the end.
        let sent = self.send_pending();
        let received = received?;
        self.has_more = received.is_more;
        sent.map(|()| count)
    }
}

/// Connects within a time; later reads and writes fail after `patience` without progress.
fn dial(
    remote: &Remote,
    address: SocketAddr,
    within: Duration,
    patience: Duration,
) -> io::Result<TcpStream> {
    use rustix::io::Errno;
    use rustix::net::{SocketFlags, connect};

    let socket = TcpStream::from(remote.socket(address, SocketFlags::empty())?);
    // It bounds connect, too.
    socket.set_write_timeout(Some(within))?;
    connect(&socket, &address).map_err(|errno| match errno {
        Errno::INPROGRESS => io::Error::from(ErrorKind::TimedOut),
        errno => errno.into(),
    })?;
    socket.set_write_timeout(Some(patience))?;
    socket.set_read_timeout(Some(patience))?;
    Ok(socket)
}
