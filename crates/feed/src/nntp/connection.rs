//! One connection to a peer: the socket below [`nntp::client`].

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use ::nntp::client::{Event, Offers, Opening, PeerError, REPLY_BYTES_MAX, Sends, Step};
use ::nntp::{Line, first_line};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{ANSWER_SECONDS_MAX, Failure, ROUND_ARTICLES_MAX, Round};
use crate::limit::Limit;

/// Longest wait for a connection, and for each reply until articles may be sent, seconds.
const OPEN_SECONDS_MAX: u64 = 60;
/// Output above which no further article is appended, bytes.
const OUT_BYTES: usize = 128 << 10;
/// Size of a read, bytes.
const READ_BYTES: usize = 16 << 10;
/// Interval between two looks whether the daemon ends.
const LOOK: Duration = Duration::from_secs(1);

/// A connection on which articles may be sent.
#[derive(Debug)]
pub struct Connection {
    socket: TcpStream,
    sends: Sends,
    /// Received and not yet a whole line.
    input: Vec<u8>,
    limit: Limit,
    /// How long the peer may take and answer nothing, seconds.
    patience: u64,
}

impl Connection {
    /// Connects, and goes on until the peer takes articles.
    pub fn open((host, port): (&str, u16), limit: &Limit) -> Result<Connection, Failure> {
        let within = Duration::from_secs(OPEN_SECONDS_MAX);
        let addresses = (host, port).to_socket_addrs();
        let addresses = addresses.map_err(|error| Failure::Io("find the address", error))?;
        let mut failed = io::Error::from(ErrorKind::AddrNotAvailable);
        for address in addresses {
            match TcpStream::connect_timeout(&address, within) {
                Ok(socket) => {
                    let set = socket
                        .set_nodelay(true)
                        .and_then(|()| socket.set_nonblocking(true));
                    set.map_err(|error| Failure::Io("use the connection", error))?;
                    let mut connection = Connection {
                        socket,
                        sends: Sends::Ihave,
                        input: Vec::new(),
                        limit: limit.clone(),
                        patience: OPEN_SECONDS_MAX,
                    };
                    connection.begin()?;
                    connection.patience = ANSWER_SECONDS_MAX;
                    return Ok(connection);
                }
                Err(error) => failed = error,
            }
        }
        Err(Failure::Io("connect", failed))
    }

    fn begin(&mut self) -> Result<(), Failure> {
        let mut opening = Opening::new(false, false);
        let mut out = Vec::new();
        loop {
            while let Some((line, length)) = self.line()? {
                let step = opening.receive(&line, &mut out)?;
                self.input.drain(..length);
                if let Step::Ready(ready) = step {
                    self.sends = ready.sends;
                    return Ok(());
                }
            }
            self.wait(&mut out)?;
        }
    }

    /// The first received line, and its length with its end.
    fn line(&self) -> Result<Option<(Vec<u8>, usize)>, PeerError> {
        match first_line(&self.input, REPLY_BYTES_MAX) {
            Line::Whole(line, length) => Ok(Some((line.to_vec(), length))),
            Line::Partial => Ok(None),
            Line::TooLong(_) | Line::TooLongSoFar => Err(PeerError::TooLong),
        }
    }

    /// Sends the articles of a round that are not settled, and waits until all are.
    pub fn send(&mut self, round: &mut Round) -> Result<(), Failure> {
        let mut offers: Offers<usize> = Offers::new(self.sends, ROUND_ARTICLES_MAX);
        let mut wanted = std::collections::VecDeque::new();
        let (mut next, mut out) = (0, Vec::new());
        loop {
            // What the peer waits for comes first.
            while out.len() < OUT_BYTES
                && let Some(at) = wanted.pop_front()
            {
                if let Some((id, text)) = round.article(at) {
                    offers.send(id, at, &mut out);
                    out.extend_from_slice(text);
                }
            }
            while out.len() < OUT_BYTES && offers.has_room() && next < round.len() {
                if let Some((id, text)) = round.article(next)
                    && offers.offer(id, next, &mut out)
                {
                    out.extend_from_slice(text);
                }
                next += 1;
            }
            if out.is_empty() && offers.in_flight() == 0 {
                return Ok(());
            }
            self.wait(&mut out)?;
            let mut used = 0;
            loop {
                let rest = self.input.get(used..).unwrap_or_default();
                match first_line(rest, REPLY_BYTES_MAX) {
                    Line::Whole(line, length) => {
                        match offers.receive(line)? {
                            Event::Wanted(at) => wanted.push_back(at),
                            Event::Settled(at, outcome) => round.settle(at, outcome),
                        }
                        used += length;
                    }
                    Line::Partial => break,
                    Line::TooLong(_) | Line::TooLongSoFar => return Err(PeerError::TooLong.into()),
                }
            }
            self.input.drain(..used);
        }
    }

    /// Writes and reads what is possible, at least something.
    fn wait(&mut self, out: &mut Vec<u8>) -> Result<(), Failure> {
        let until = Instant::now() + Duration::from_secs(self.patience);
        loop {
            let written = self.write(out)?;
            let read = self.read()?;
            if read > 0 || (written > 0 && out.len() < OUT_BYTES) {
                return Ok(());
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Failure::Silent(self.patience));
            }
            let wanted = match out.is_empty() {
                true => PollFlags::IN,
                false => PollFlags::IN | PollFlags::OUT,
            };
            let timeout = Timespec::try_from(left.min(LOOK)).ok();
            let mut ready = [PollFd::new(&self.socket, wanted)];
            match poll(&mut ready, timeout.as_ref()) {
                Ok(0) if self.limit.is_over() => return Err(Failure::Over),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(Failure::Io("wait for the peer", errno.into())),
            }
        }
    }

    /// Writes as much as the socket takes; returns the number of bytes.
    fn write(&mut self, out: &mut Vec<u8>) -> Result<usize, Failure> {
        let mut written = 0;
        while let Some(rest) = out.get(written..).filter(|rest| !rest.is_empty()) {
            match self.socket.write(rest) {
                Ok(count) => written += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(Failure::Io("send to the peer", error)),
            }
        }
        out.drain(..written);
        Ok(written)
    }

    /// Reads what there is; returns the number of bytes.
    fn read(&mut self) -> Result<usize, Failure> {
        let before = self.input.len();
        self.input.resize(before + READ_BYTES, 0);
        let room = self.input.get_mut(before..).unwrap_or_default();
        let read = loop {
            match self.socket.read(room) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                read => break read,
            }
        };
        let count = match &read {
            Ok(count) => *count,
            Err(_) => 0,
        };
        self.input.truncate(before + count);
        match read {
            Ok(0) => {
                let closed = io::Error::from(ErrorKind::ConnectionAborted);
                Err(Failure::Io("go on: the peer closed the connection", closed))
            }
            Ok(count) => Ok(count),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(0),
            Err(error) => Err(Failure::Io("receive from the peer", error)),
        }
    }
}

impl Drop for Connection {
    /// Takes leave, if the socket takes it at once.
    fn drop(&mut self) {
        let _ = self.socket.write(b"QUIT\r\n");
    }
}
