//! One connection to a peer, a command at a time: the socket below `nntp::client`.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use feed::Remote;
use layers::ClientLayers;
use nntp::client::REPLY_BYTES_MAX;
use nntp::{Line, first_line};
use rustix::net::{AddressFamily, SocketType, bind, connect, socket, sockopt};

/// Most seconds for a connection, and for each answer.
pub const ANSWER_SECONDS_MAX: u64 = 30;

/// Size of a read, bytes.
const READ_BYTES: usize = 16 << 10;

/// A connection.
pub struct Call {
    socket: TcpStream,
    layers: ClientLayers,
    /// Received, and not consumed.
    input: Vec<u8>,
}

/// Connects, from this local address.
///
/// # Errors
/// Those of the system.
pub fn connected(to: SocketAddr, from: Option<IpAddr>) -> io::Result<TcpStream> {
    let within = Duration::from_secs(ANSWER_SECONDS_MAX);
    let Some(from) = from else {
        return TcpStream::connect_timeout(&to, within);
    };
    let family = match to {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = socket(family, SocketType::STREAM, None)?;
    // It bounds connect, too.
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(within))?;
    bind(&socket, &SocketAddr::new(from, 0))?;
    connect(&socket, &to)?;
    Ok(TcpStream::from(socket))
}

impl Call {
    /// Begins on a new socket; implicit TLS is complete afterwards.
    ///
    /// # Errors
    /// TLS fails.
    pub fn begin(socket: TcpStream, remote: &Remote) -> anyhow::Result<Call> {
        let within = Some(Duration::from_secs(ANSWER_SECONDS_MAX));
        socket.set_nodelay(true)?;
        socket.set_read_timeout(within)?;
        socket.set_write_timeout(within)?;
        let mut call = Call {
            socket,
            layers: remote.layers()?,
            input: Vec::new(),
        };
        call.handshake()?;
        Ok(call)
    }

    /// Begins TLS, after the answer to STARTTLS.
    ///
    /// # Errors
    /// The certificate is wrong, or TLS fails.
    pub fn begin_tls(&mut self, remote: &Remote) -> anyhow::Result<()> {
        remote.begin_tls(&mut self.layers, &self.input)?;
        self.handshake()
    }

    /// Begins compression, after the answer to COMPRESS.
    ///
    /// # Errors
    /// What followed it is damaged.
    pub fn begin_deflate(&mut self) -> anyhow::Result<()> {
        self.layers.begin_deflate(&mut self.input);
        self.unwrap(&mut [])
    }

    fn handshake(&mut self) -> anyhow::Result<()> {
        self.write_pending()?;
        while self.layers.is_handshaking() {
            self.fill()?;
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
    pub fn say(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let mut raw = Vec::new();
        self.layers.pending(&mut raw);
        self.layers.send(bytes, &mut raw, true)?;
        self.write(&raw)
    }

    /// Sends a command, and reads the line that answers.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn ask(&mut self, command: &str) -> anyhow::Result<String> {
        self.say(format!("{command}\r\n").as_bytes())?;
        let line = self.line()?;
        Ok(String::from_utf8_lossy(&line).into_owned())
    }

    /// The next line, without its end.
    ///
    /// # Errors
    /// Those of the connection; a line that is too long.
    pub fn line(&mut self) -> anyhow::Result<Vec<u8>> {
        loop {
            match first_line(&self.input, REPLY_BYTES_MAX) {
                Line::Whole(line, length) => {
                    let line = line.to_vec();
                    self.input.drain(..length);
                    return Ok(line);
                }
                Line::Partial => self.fill()?,
                Line::TooLong(_) | Line::TooLongSoFar => {
                    bail!("the peer sent a line of more than {REPLY_BYTES_MAX} bytes")
                }
            }
        }
    }

    fn fill(&mut self) -> anyhow::Result<()> {
        let mut raw = vec![0; READ_BYTES];
        let count = match self.socket.read(&mut raw) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                bail!("the peer did not answer for {ANSWER_SECONDS_MAX} seconds")
            }
            read => read.context("cannot read from the peer")?,
        };
        ensure!(count > 0, "the peer closed the connection");
        raw.truncate(count);
        let read = self.unwrap(&mut raw);
        // An alert tells the peer what is wrong.
        let written = self.write_pending();
        read.and(written)
    }

    fn unwrap(&mut self, raw: &mut [u8]) -> anyhow::Result<()> {
        let mut received = self.layers.receive(raw, &mut self.input)?;
        while received.is_more && self.input.len() <= layers::client::PLAIN_BYTES_MAX {
            received = self.layers.receive(&mut [], &mut self.input)?;
        }
        Ok(())
    }

    fn write_pending(&mut self) -> anyhow::Result<()> {
        let mut raw = Vec::new();
        self.layers.pending(&mut raw);
        self.write(&raw)
    }

    fn write(&mut self, raw: &[u8]) -> anyhow::Result<()> {
        self.socket
            .write_all(raw)
            .context("cannot write to the peer")
    }
}
