//! A client of the page of metrics: its request, as far as it has come, and the reply, as far as it has gone.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags};

use super::{REQUEST_BYTES_MAX, Reply, judge, text};

const TOO_LARGE: Reply = Reply::Other("431 Request Header Fields Too Large");

/// The stage of a connection.
enum State {
    /// The request comes in.
    Reading,
    /// The reply goes out; so many bytes of it are gone.
    Writing(usize),
    /// Closing a socket with unread input resets the connection, and the client may lose the reply: the input is read to its end.
    Draining,
}

/// A client.
pub struct Client {
    stream: TcpStream,
    /// It is dropped then.
    pub until: Instant,
    request: Vec<u8>,
    reply: Vec<u8>,
    is_too_large: bool,
    state: State,
}

impl Client {
    /// A client that has just connected.
    ///
    /// # Errors
    /// An I/O error.
    pub fn new(stream: TcpStream, until: Instant) -> io::Result<Client> {
        stream.set_nonblocking(true)?;
        Ok(Client {
            stream,
            until,
            request: Vec::new(),
            reply: Vec::new(),
            is_too_large: false,
            state: State::Reading,
        })
    }

    /// The event that it waits for.
    pub fn polled(&self) -> PollFd<'_> {
        let event = match self.state {
            State::Reading | State::Draining => PollFlags::IN,
            State::Writing(_) => PollFlags::OUT,
        };
        PollFd::new(&self.stream, event)
    }

    /// Reads and writes until it has to wait. Returns false if it is done, or has closed the connection early.
    pub fn advance(&mut self, page: &mut impl FnMut() -> String) -> bool {
        loop {
            match self.step(page) {
                Ok(true) => {}
                Ok(false) => return false,
                Err(error) => {
                    return matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted);
                }
            }
        }
    }

    /// Reads or writes once. Returns false at the end.
    fn step(&mut self, page: &mut impl FnMut() -> String) -> io::Result<bool> {
        let mut piece = [0; 2048];
        match self.state {
            State::Reading => {
                let count = self.stream.read(&mut piece)?;
                self.request
                    .extend_from_slice(piece.get(..count).unwrap_or_default());
                let request = &self.request;
                let is_whole = request.windows(4).any(|end| end == b"\r\n\r\n")
                    || request.windows(2).any(|end| end == b"\n\n");
                let reply = match is_whole || count == 0 {
                    true => judge(request),
                    false if request.len() > REQUEST_BYTES_MAX => TOO_LARGE,
                    false => return Ok(true),
                };
                self.is_too_large = reply == TOO_LARGE;
                self.reply = text(reply, page).into_bytes();
                self.state = State::Writing(0);
            }
            State::Writing(sent) => {
                let rest = self.reply.get(sent..).unwrap_or_default();
                let sent = sent + self.stream.write(rest)?;
                self.state = State::Writing(sent);
                if sent >= self.reply.len() {
                    self.stream.shutdown(Shutdown::Write)?;
                    if !self.is_too_large {
                        return Ok(false);
                    }
                    self.state = State::Draining;
                }
            }
            State::Draining => return Ok(self.stream.read(&mut piece)? > 0),
        }
        Ok(true)
    }
}
