//! One connection to a peer: a socket that never blocks, below `nntp::client`.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::nntp::client::{Event, Offers, Opening, Outcome, PeerError, REPLY_BYTES_MAX, Sends, Step};
use ::nntp::{Line, first_line};
use layers::{ClientLayers, LayersError};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketFlags, connect, recv, send, sockopt};
use store::Position;

use super::headfeed;
use super::lane::Ticket;
use crate::remote::Remote;

/// How long a peer may take and answer nothing while articles are in flight, and how long it may answer later articles only, seconds.
pub const ANSWER_SECONDS_MAX: u64 = 300;
/// The same for an article that goes alone, since connections broke at it: where a peer gets one connection only, the others wait meanwhile.
const ALONE_SECONDS: u64 = 30;
/// The part of the patience that such an article does not get.
const PATIENCE_LESS: Duration = Duration::from_secs(ANSWER_SECONDS_MAX - ALONE_SECONDS);
/// Longest time from the beginning of a connection until articles may be sent, seconds.
pub const OPEN_SECONDS_MAX: u64 = 60;
/// Most articles in flight on a connection.
pub const WINDOW_ARTICLES_MAX: usize = 16_000;
/// Articles in flight on a new connection, whose peer is asked first: a command of some 60 bytes each.
const WINDOW_FIRST: usize = 4_000;
/// Output above which no further article is appended, bytes. Less would wake the receivers more often.
const OUT_BYTES: usize = 256 << 10;
/// Size of a read, bytes.
const READ_BYTES: usize = 16 << 10;
/// Most bytes that are read in one turn, so that other peers get theirs.
const TURN_BYTES: usize = 256 << 10;

/// An article in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flying {
    /// One of the lane.
    Article(Ticket),
    /// One that was deferred before.
    Deferred(Position),
}

/// The output that an offer, or an article, is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Appended {
    /// Bytes of commands and text, before TLS and compression.
    pub bytes: u64,
    /// Size of an article that goes without its body, in native form, bytes.
    pub size: Option<u64>,
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    socket: OwnedFd,
    stage: Stage,
    offers: Offers<Flying>,
    /// Articles that the peer asked for.
    wanted: VecDeque<Flying>,
    /// Received, and not yet a whole line.
    input: Vec<u8>,
    remote: Arc<Remote>,
    /// Articles go without their bodies.
    is_headfeed: bool,
    layers: ClientLayers,
    /// To be sent.
    out: Vec<u8>,
    /// With TLS or compression: `out` as it goes to the socket.
    raw: Vec<u8>,
    /// The part of `raw`, or of `out` without layers, that is sent.
    sent: usize,
    /// The kernel may have input, or room for output.
    is_readable: bool,
    is_writable: bool,
    /// The kernel told that the peer sends no more.
    is_ending: bool,
    /// When the peer has been silent for too long.
    until: Instant,
    /// When it has answered later articles than the oldest one for too long.
    overtaken_until: Option<Instant>,
    /// The kernel had no room for all output.
    is_behind: bool,
    /// Number of articles that the peer has answered.
    pub answered: u64,
    /// It belongs to the backlog, and not to the new articles.
    pub is_backlog: bool,
    /// It gets no more articles until nothing is in flight, since the other stretch of the log needs it.
    pub moves: bool,
    /// The article that was offered last goes alone: no other one follows until the peer answers.
    pub is_alone: bool,
    /// Since when nothing is in flight.
    pub idle_since: Option<Instant>,
}

#[derive(Debug)]
enum Stage {
    Connecting,
    Opening(Box<Opening>),
    Ready,
    /// QUIT is on its way.
    Leaving,
}

/// The reason why a connection ended.
#[derive(Debug)]
pub(super) enum Failure {
    /// The network.
    Io(&'static str, io::Error),
    /// The peer.
    Peer(PeerError),
    /// TLS or compression.
    Layers(LayersError),
    /// The peer took and answered nothing for so many seconds.
    Silent(u64),
    /// The peer answered later articles than the oldest one for so many seconds.
    Overtaken(u64),
    /// The peer closed the connection.
    Closed,
}

impl From<PeerError> for Failure {
    fn from(error: PeerError) -> Failure {
        Failure::Peer(error)
    }
}

impl From<LayersError> for Failure {
    fn from(error: LayersError) -> Failure {
        Failure::Layers(error)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Io(doing, error) => write!(f, "cannot {doing}: {error}"),
            Failure::Peer(error) => error.fmt(f),
            Failure::Layers(error) => error.fmt(f),
            Failure::Silent(seconds) => {
                write!(
                    f,
                    "the peer took and answered nothing for {seconds} seconds"
                )
            }
            Failure::Overtaken(seconds) => {
                write!(
                    f,
                    "the peer has not answered an article for {seconds} seconds, but later ones"
                )
            }
            Failure::Closed => f.write_str("the peer closed the connection"),
        }
    }
}

fn io_failure(doing: &'static str) -> impl Fn(Errno) -> Failure {
    move |errno| Failure::Io(doing, errno.into())
}

impl Connection {
    /// Begins to connect to an address of a server. `is_headfeed`: articles go without their bodies.
    pub fn begin(
        address: SocketAddr,
        (remote, is_headfeed): (&Arc<Remote>, bool),
        now: Instant,
    ) -> Result<Connection, Failure> {
        let socket = remote
            .socket(address, SocketFlags::NONBLOCK)
            .map_err(|error| Failure::Io("make a socket", error))?;
        match connect(&socket, &address) {
            Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => {}
            Err(errno) => return Err(io_failure("connect")(errno)),
        }
        Ok(Connection {
            socket,
            stage: Stage::Connecting,
            offers: Offers::new(Sends::Ihave, 1),
            wanted: VecDeque::new(),
            input: Vec::new(),
            remote: remote.clone(),
            is_headfeed,
            layers: remote.layers()?,
            out: Vec::new(),
            raw: Vec::new(),
            sent: 0,
            is_readable: false,
            is_writable: false,
            is_ending: false,
            until: now + Duration::from_secs(OPEN_SECONDS_MAX),
            overtaken_until: None,
            is_behind: false,
            answered: 0,
            is_backlog: false,
            moves: false,
            is_alone: false,
            idle_since: None,
        })
    }

    pub fn is_ready(&self) -> bool {
        matches!(self.stage, Stage::Ready)
    }

    pub fn is_leaving(&self) -> bool {
        matches!(self.stage, Stage::Leaving)
    }

    /// Number of articles whose fate the peer has not told.
    pub fn in_flight(&self) -> usize {
        self.offers.in_flight() + self.wanted.len()
    }

    /// Whether it could take no more at the last look: its window is full, or its output.
    pub fn is_full(&self) -> bool {
        self.is_ready() && (!self.offers.has_room() || self.unsent() >= OUT_BYTES)
    }

    /// Bytes that the kernel has not taken.
    fn unsent(&self) -> usize {
        self.out.len() + self.raw.len() - self.sent
    }

    /// Takes an event of the kernel, which tells each change once.
    pub fn take_event(&mut self, flags: EventFlags) {
        let is_ending = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
        self.is_ending |= is_ending;
        self.is_readable |= is_ending || flags.contains(EventFlags::IN);
        self.is_writable |= is_ending || flags.contains(EventFlags::OUT);
    }

    /// Whether there is input that was not read in the last turn.
    pub fn has_more(&self) -> bool {
        self.is_readable
    }

    /// When the peer has been silent for too long, or has answered later articles only. `None`: nothing is expected of it.
    pub fn patience(&self) -> Option<Instant> {
        let expects = !self.is_ready() || self.in_flight() > 0 || self.unsent() > 0;
        let own = if self.is_held() {
            self.until.checked_sub(PATIENCE_LESS).unwrap_or(self.until)
        } else {
            self.until
        };
        let until = self.overtaken_until.map_or(own, |until| until.min(own));
        expects.then_some(until)
    }

    /// The last sign of life of the peer, while it is expected to answer; at first, when the connection began.
    pub fn silent_since(&self) -> Option<Instant> {
        let allowed = match self.stage {
            Stage::Leaving => return None,
            Stage::Ready => ANSWER_SECONDS_MAX,
            Stage::Connecting | Stage::Opening(_) => OPEN_SECONDS_MAX,
        };
        self.patience()?;
        self.until.checked_sub(Duration::from_secs(allowed))
    }

    /// Says what the peer did until the [end of the patience](Connection::patience).
    pub fn silence(&self) -> Failure {
        let is_overtaken = self.overtaken_until.is_some_and(|until| until < self.until);
        match self.stage {
            Stage::Ready if is_overtaken => Failure::Overtaken(ANSWER_SECONDS_MAX),
            Stage::Connecting => Failure::Io("connect", io::Error::from(io::ErrorKind::TimedOut)),
            Stage::Opening(_) => Failure::Silent(OPEN_SECONDS_MAX),
            Stage::Ready if self.is_held() => Failure::Silent(ALONE_SECONDS),
            Stage::Ready | Stage::Leaving => Failure::Silent(ANSWER_SECONDS_MAX),
        }
    }

    /// Reads what there is. `answer` gets the articles that are settled, and without an outcome those that the peer asks for.
    pub fn receive(
        &mut self,
        now: Instant,
        answer: &mut dyn FnMut(Flying, Option<Outcome>),
    ) -> Result<(), Failure> {
        if matches!(self.stage, Stage::Connecting) {
            if !self.is_writable {
                return Ok(());
            }
            let error = sockopt::socket_error(&self.socket).map_err(io_failure("connect"))?;
            error.map_err(io_failure("connect"))?;
            let opening = if self.is_headfeed {
                self.remote.opening().with_headfeed()
            } else {
                self.remote.opening()
            };
            self.stage = Stage::Opening(Box::new(opening));
        }
        let mut read = 0;
        while self.is_readable && read < TURN_BYTES {
            let before = self.input.len();
            self.input.resize(before + READ_BYTES, 0);
            let room = self.input.get_mut(before..).unwrap_or_default();
            let got = recv(&self.socket, room, RecvFlags::empty());
            let count = got.as_ref().map_or(0, |(_, count)| *count);
            self.input.truncate(before + count);
            match got {
                Ok((_, 0)) => return Err(Failure::Closed),
                Ok((_, count)) => {
                    read += count;
                    self.is_readable = self.is_ending || count == READ_BYTES;
                    let is_over = if self.layers.is_plain() {
                        false
                    } else {
                        let mut raw = self.input.split_off(before);
                        self.unwrap_layers(&mut raw, now, answer)?
                    };
                    self.take_lines(now, answer)?;
                    if is_over {
                        return Err(Failure::Closed);
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.is_readable = false,
                Err(Errno::CONNRESET | Errno::PIPE) => return Err(Failure::Closed),
                Err(errno) => return Err(io_failure("receive from the peer")(errno)),
            }
        }
        Ok(())
    }

    /// Decrypts and decompresses what was received, and processes its lines. Returns whether the peer ended its side.
    fn unwrap_layers(
        &mut self,
        raw: &mut [u8],
        now: Instant,
        answer: &mut dyn FnMut(Flying, Option<Outcome>),
    ) -> Result<bool, Failure> {
        let mut received = self.layers.receive(raw, &mut self.input)?;
        while received.is_more {
            self.take_lines(now, answer)?;
            received = self.layers.receive(&mut [], &mut self.input)?;
        }
        Ok(received.is_over)
    }

    fn go_on_waiting(&mut self, now: Instant) {
        if self.is_ready() {
            self.until = now + Duration::from_secs(ANSWER_SECONDS_MAX);
        }
    }

    /// Processes the whole lines of the input.
    fn take_lines(
        &mut self,
        now: Instant,
        answer: &mut dyn FnMut(Flying, Option<Outcome>),
    ) -> Result<(), Failure> {
        let mut input = std::mem::take(&mut self.input);
        let mut used = 0;
        loop {
            let rest = input.get(used..).unwrap_or_default();
            let step = match first_line(rest, REPLY_BYTES_MAX) {
                Line::Whole(line, length) => {
                    used += length;
                    self.take_line(line, now, answer)?
                }
                Line::Partial => break,
                Line::TooLong(_) | Line::TooLongSoFar => return Err(PeerError::TooLong.into()),
            };
            match step {
                Step::GoOn => {}
                Step::Ready(ready) => self.is_open(ready.sends, now),
                Step::BeginTls => {
                    let rest = input.get(used..).unwrap_or_default();
                    self.remote.begin_tls(&mut self.layers, rest)?;
                    if let Stage::Opening(opening) = &mut self.stage {
                        opening.tls_began(&mut self.out);
                    }
                }
                Step::BeginDeflate => {
                    input.drain(..used);
                    used = 0;
                    self.layers.begin_deflate(&mut input);
                    self.layers.receive(&mut [], &mut input)?;
                    if let Stage::Opening(opening) = &mut self.stage
                        && let Step::Ready(ready) = opening.deflate_began(&mut self.out)?
                    {
                        self.is_open(ready.sends, now);
                    }
                }
            }
        }
        input.drain(..used);
        self.input = input;
        Ok(())
    }

    /// Articles may be sent.
    fn is_open(&mut self, sends: Sends, now: Instant) {
        self.offers = Offers::new(sends, WINDOW_FIRST);
        self.stage = Stage::Ready;
        self.go_on_waiting(now);
    }

    fn take_line(
        &mut self,
        line: &[u8],
        now: Instant,
        answer: &mut dyn FnMut(Flying, Option<Outcome>),
    ) -> Result<Step, Failure> {
        match &mut self.stage {
            Stage::Connecting | Stage::Leaving => Ok(Step::GoOn),
            Stage::Opening(opening) => Ok(opening.receive(line, &mut self.out)?),
            Stage::Ready => {
                // As long as the window is what limits, it grows.
                if self.in_flight() * 2 >= self.offers.window() {
                    self.offers.widen(WINDOW_ARTICLES_MAX);
                }
                let event = self.offers.receive(line)?;
                self.go_on_waiting(now);
                let overtaken_until = self.overtaken_until.unwrap_or(self.until);
                self.overtaken_until = self.offers.is_overtaken().then_some(overtaken_until);
                match event {
                    Event::Wanted(flying) => {
                        self.wanted.push_back(flying);
                        answer(flying, None);
                    }
                    Event::Settled(flying, outcome) => {
                        self.answered += 1;
                        answer(flying, Some(outcome));
                    }
                }
                Ok(Step::GoOn)
            }
        }
    }

    /// The next article that the peer asked for and that has not been sent.
    pub fn next_wanted(&mut self) -> Option<Flying> {
        if self.has_space() {
            self.wanted.pop_front()
        } else {
            None
        }
    }

    /// Whether another article may be offered.
    pub fn has_room(&self) -> bool {
        let may_take = self.is_ready() && !self.moves && !self.is_held();
        may_take && self.offers.has_room() && self.has_space()
    }

    /// Whether an article that goes alone is in flight.
    pub fn is_held(&self) -> bool {
        self.is_alone && self.in_flight() > 0
    }

    fn has_space(&self) -> bool {
        self.is_ready() && self.unsent() < OUT_BYTES
    }

    /// Whether the text of the next offered article goes with the offer.
    pub fn is_trusted(&self) -> bool {
        self.offers.is_trusted()
    }

    /// Offers an article, with its text where the [peer is not asked first](Connection::is_trusted).
    pub fn offer(&mut self, id: &[u8], flying: Flying, wire: &[u8]) -> Appended {
        let before = self.out.len();
        let mut size = None;
        if self.offers.offer(id, flying, &mut self.out) {
            size = self.push(wire);
        }
        let bytes = (self.out.len() - before) as u64;
        Appended { bytes, size }
    }

    /// Appends the text of an article; returns its size in native form, if it goes without its body.
    fn push(&mut self, wire: &[u8]) -> Option<u64> {
        if !self.is_headfeed {
            self.out.extend_from_slice(wire);
            return None;
        }
        let before = self.out.len();
        headfeed::push(wire, &mut self.out);
        let text = self.out.get(before..).unwrap_or_default();
        let line_ends = memchr::memchr_iter(b'\n', text).count();
        // Without a CR for each line, and without the line of one dot.
        Some(text.len().saturating_sub(line_ends + 2) as u64)
    }

    /// Sends an article that the peer asked for. `None`: it is gone. Then nothing follows a CHECK, and IHAVE gets an empty article,
    /// which no server takes. `None` is returned if the peer will not answer.
    pub fn send(&mut self, flying: Flying, article: Option<(&[u8], &[u8])>) -> Option<Appended> {
        let before = self.out.len();
        let size = match (article, self.offers.sends()) {
            (Some((id, wire)), _) => {
                self.offers.send(id, flying, &mut self.out);
                self.push(wire)
            }
            (None, Sends::Streaming) => return None,
            (None, Sends::Ihave) => {
                self.offers.send(b"", flying, &mut self.out);
                self.out.extend_from_slice(b".\r\n");
                None
            }
        };
        let bytes = (self.out.len() - before) as u64;
        Some(Appended { bytes, size })
    }

    /// Takes the buffer of the loop for its output, if it has none, or gives it back, if it is empty: the connections of a loop have one
    /// buffer in turn, which stays in the processor's cache.
    pub fn exchange_buffer(&mut self, buffer: &mut Vec<u8>) {
        if self.out.is_empty() {
            std::mem::swap(&mut self.out, buffer);
        }
    }

    /// Writes as much as the kernel takes; returns the number of bytes.
    pub fn flush(&mut self, now: Instant) -> Result<u64, Failure> {
        let is_plain = self.layers.is_plain();
        if !is_plain {
            self.layers.pending(&mut self.raw);
            if !self.out.is_empty() && !self.layers.is_handshaking() {
                self.layers.send(&self.out, &mut self.raw, true)?;
                self.out.clear();
            }
        }
        let out = if is_plain {
            &mut self.out
        } else {
            &mut self.raw
        };
        let mut written = 0;
        while self.is_writable {
            let rest = out.get(self.sent..).unwrap_or_default();
            if rest.is_empty() {
                break;
            }
            match send(&self.socket, rest, SendFlags::NOSIGNAL) {
                Ok(count) => {
                    self.is_writable = count == rest.len();
                    self.sent += count;
                    written += count as u64;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => self.is_writable = false,
                Err(Errno::CONNRESET | Errno::PIPE) => return Err(Failure::Closed),
                Err(errno) => return Err(io_failure("send to the peer")(errno)),
            }
        }
        if self.sent == out.len() {
            out.clear();
            self.sent = 0;
            // A large article does not keep its memory.
            out.shrink_to(2 * OUT_BYTES);
        } else if self.sent >= OUT_BYTES {
            out.drain(..self.sent);
            self.sent = 0;
        }
        // What a peer takes shows that it reads only if it did not read before. Otherwise each new article would give it more time for the old ones.
        if written > 0 && (self.is_behind || self.idle_since.is_some()) {
            self.go_on_waiting(now);
        }
        self.is_behind = !self.is_flushed();
        Ok(written)
    }

    /// Whether the kernel has all output.
    pub fn is_flushed(&self) -> bool {
        self.out.is_empty() && self.raw.is_empty()
    }

    /// Takes leave: the peer closes the connection after its reply.
    pub fn leave(&mut self, now: Instant) {
        if self.is_ready() {
            self.out.extend_from_slice(b"QUIT\r\n");
            self.stage = Stage::Leaving;
            self.until = now + Duration::from_secs(5);
        }
    }

    /// Articles in flight, oldest first.
    pub fn into_in_flight(self) -> impl Iterator<Item = Flying> {
        self.offers.into_in_flight().chain(self.wanted)
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests;
