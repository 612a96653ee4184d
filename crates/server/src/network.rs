//! A network thread: one epoll loop over its sockets, its mailbox and its timers.

macro_rules! context {
    ($network:expr, $ticks:expr, $until:expr) => {
        IoContext {
            store: &mut $network.store,
            input: &mut $network.input,
            raw: &mut $network.raw,
            spare: &mut $network.spare,
            batch_builder: &mut $network.batch_builder,
            shared: &$network.shared,
            mailbox: &$network.mailbox,
            now: seconds(),
            ticks: $ticks,
            until: $until,
        }
    };
}

mod accept;
mod messages;
mod time_limits;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::event::epoll;
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::article_batch::BatchBuilder;
use crate::connection::{Closed, Connection, Interest, IoContext};
use crate::event::Event;
use crate::mailbox::Mailbox;
use crate::shared::Shared;
use crate::socket::Listener;
use crate::thread_store::ThreadStore;
use crate::timers::Timers;
use crate::token::Token;

/// Events of one epoll_wait.
const EVENTS: usize = 256;
/// Spare buffers kept by a thread, of each kind.
const SPARE_BUFFERS_MAX: usize = 8;
/// Time slice of a connection, ms; a long reply continues in the next one.
pub const TIME_SLICE_MILLISECONDS_MAX: u64 = 2;
/// Length of a round over all connections, ms. After it, short commands of ready connections are served, and one long reply continues.
pub const ROUND_MILLISECONDS_MAX: u64 = 10;
/// Time limit of a TLS handshake, seconds; `nntp.first_seconds` may be shorter.
pub const HANDSHAKE_SECONDS_MAX: u64 = 20;
/// The epoll data of the mailbox and, from `LISTENERS` on, of the listeners; no connection has such a token.
const MAILBOX: u64 = u64::MAX;
const LISTENERS: u64 = u64::MAX - 1024;
/// Retry interval for peers paused by the limit on articles in flight, and for listeners without a free descriptor, ms.
const RETRY_MILLISECONDS: u64 = 50;
/// Idle time after which a connection's compressor is released, ms. Until then its history makes later output smaller.
const DEFLATE_IDLE_MILLISECONDS: u64 = 10_000;

/// The shared state, mailbox and listeners of a network thread.
pub(crate) type ThreadParts = (Arc<Shared>, Arc<Mailbox>, Arc<Vec<Listener>>);

/// The state of a network thread.
pub(crate) struct Network {
    number: u16,
    epoll: OwnedFd,
    shared: Arc<Shared>,
    mailbox: Arc<Mailbox>,
    listeners: Arc<Vec<Listener>>,
    store: ThreadStore,
    slots: Vec<ConnectionSlot>,
    free: Vec<u32>,
    timers: Timers,
    /// Timers for the release of compressors.
    deflate_timers: Timers,
    /// Timers for TLS handshakes.
    handshake_timers: Timers,
    /// Peers that are not read, because too many articles are in flight.
    paused: Vec<Token>,
    /// Connections with an unfinished reply whose output is sent, the longest waiting in front.
    unfinished: VecDeque<Token>,
    /// End of this round.
    round_end: Instant,
    /// Retry time of listeners removed for lack of descriptors.
    listeners_paused_until: Option<u64>,
    input: Vec<u8>,
    raw: Vec<u8>,
    spare: Vec<Vec<u8>>,
    /// Spare buffers for replies.
    text_buffers: Vec<Vec<u8>>,
    batch_builder: BatchBuilder,
    is_stopping: bool,
    /// The thread ends with its only connection.
    is_single: bool,
    /// That connection ended within an article.
    has_cut_article: bool,
}

#[derive(Default)]
struct ConnectionSlot {
    generation: u32,
    connection: Option<Box<Connection>>,
}

/// The connection with a token, unless it has ended.
fn at(slots: &[ConnectionSlot], token: Token) -> Option<&Connection> {
    let connection = slots.get(token.slot())?.connection.as_deref()?;
    (connection.client.token == token).then_some(connection)
}

/// As [`at`].
fn at_mut(slots: &mut [ConnectionSlot], token: Token) -> Option<&mut Connection> {
    let connection = slots.get_mut(token.slot())?.connection.as_deref_mut()?;
    (connection.client.token == token).then_some(connection)
}

impl Network {
    pub fn new(
        number: u16,
        store: ThreadStore,
        (shared, mailbox, listeners): ThreadParts,
    ) -> std::io::Result<Network> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let data = epoll::EventData::new_u64(MAILBOX);
        epoll::add(&epoll, mailbox.as_fd(), data, epoll::EventFlags::IN)?;
        let network = Network {
            number,
            epoll,
            shared,
            mailbox,
            listeners,
            store,
            slots: Vec::new(),
            free: Vec::new(),
            timers: Timers::default(),
            deflate_timers: Timers::default(),
            handshake_timers: Timers::default(),
            paused: Vec::new(),
            unfinished: VecDeque::new(),
            round_end: Instant::now(),
            listeners_paused_until: None,
            input: Vec::new(),
            raw: Vec::new(),
            spare: Vec::new(),
            text_buffers: Vec::new(),
            batch_builder: BatchBuilder::default(),
            is_stopping: false,
            is_single: false,
            has_cut_article: false,
        };
        network.register_listeners()?;
        Ok(network)
    }

    fn register_listeners(&self) -> std::io::Result<()> {
        for (place, listener) in (0u64..).zip(self.listeners.iter()) {
            let data = epoll::EventData::new_u64(LISTENERS + place);
            let flags = epoll::EventFlags::IN | epoll::EventFlags::EXCLUSIVE;
            epoll::add(&self.epoll, &listener.socket, data, flags)?;
        }
        Ok(())
    }

    /// Serves one connection to its end. Returns whether that came within an article.
    pub fn serve_one(&mut self, socket: OwnedFd, address: Option<SocketAddr>) -> bool {
        self.is_single = true;
        self.admit(socket, address, false, ticks());
        if self.tokens().next().is_some() {
            self.run();
        }
        self.has_cut_article
    }

    /// Runs until [`Message::Stop`].
    pub fn run(&mut self) {
        let mut events: Vec<epoll::Event> = Vec::with_capacity(EVENTS);
        while !self.is_stopping {
            events.clear();
            let timeout = self.timeout();
            let spare = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, spare, timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                // Impossible with our own descriptor, and not recoverable.
                Err(_) => return,
            }
            self.shared.sink.before_work();
            if let Err(error) = self.store.snapshot.catch_up() {
                let why = &error.to_string();
                self.shared.sink.log(&Event::LookupFailed { why });
            }
            self.round_end = Instant::now() + Duration::from_millis(ROUND_MILLISECONDS_MAX);
            let ticks = ticks();
            for event in &events {
                let flags = event.flags;
                match event.data.u64() {
                    MAILBOX => self.handle_messages(ticks),
                    number if number >= LISTENERS => {
                        self.accept((number - LISTENERS) as usize, ticks)
                    }
                    number => self.serve(Token::of(number), flags, ticks),
                }
                if self.shared.held.has_leaving() {
                    // Before the next connection is read, which may take a MiB more.
                    self.handle_messages(ticks);
                }
            }
            self.continue_long_replies(ticks);
            self.expire_timers(ticks);
        }
        self.end_all();
    }

    /// Continues unfinished replies, one at least, until the end of the round.
    fn continue_long_replies(&mut self, ticks: u64) {
        for _ in 0..self.unfinished.len() {
            let Some(token) = self.unfinished.pop_front() else {
                return;
            };
            let until = Instant::now() + Duration::from_millis(TIME_SLICE_MILLISECONDS_MAX);
            self.resume_until(token, ticks, until);
            if Instant::now() >= self.round_end {
                return;
            }
        }
    }

    /// End of the time slice that begins now; now, if the round is over.
    fn slice_end(&self) -> Instant {
        let now = Instant::now();
        if now < self.round_end {
            now + Duration::from_millis(TIME_SLICE_MILLISECONDS_MAX)
        } else {
            now
        }
    }

    /// Takes a connection out of its slot for a time slice.
    fn take(&mut self, token: Token) -> Option<Box<Connection>> {
        at(&self.slots, token)?;
        let mut connection = self.slots.get_mut(token.slot())?.connection.take()?;
        connection.out().give_buffer(&mut self.text_buffers);
        Some(connection)
    }

    /// Returns it to its slot, or ends it.
    fn put(&mut self, mut connection: Box<Connection>, done: Result<(), Closed>) {
        if done.is_err() {
            return self.end(connection);
        }
        if let Some(text) = connection.out().take_buffer()
            && self.text_buffers.len() < SPARE_BUFFERS_MAX
        {
            self.text_buffers.push(text);
        }
        connection.client.publish_counts(&self.shared.counts);
        let token = connection.client.token;
        if let Some(slot) = self.slots.get_mut(token.slot()) {
            slot.connection = Some(connection);
        }
        self.register(token);
    }

    /// Sets a connection's timers, and updates its events in epoll.
    fn register(&mut self, token: Token) {
        let Some(connection) = at_mut(&mut self.slots, token) else {
            return;
        };
        if connection.has_unfinished_reply() && !connection.is_queued {
            connection.is_queued = true;
            self.unfinished.push_back(token);
        }
        if let Some(at) = connection.client.suspended_until
            && !connection.has_suspension_timer
        {
            connection.has_suspension_timer = true;
            self.timers.add(at, token);
        }
        if let Some(since) = connection.handshake()
            && !connection.has_handshake_timer
        {
            connection.has_handshake_timer = true;
            self.handshake_timers
                .add(since + HANDSHAKE_SECONDS_MAX * 1000, token);
        }
        if connection.has_compressor() && !connection.has_deflate_timer {
            connection.has_deflate_timer = true;
            self.deflate_timers
                .add(connection.active + DEFLATE_IDLE_MILLISECONDS, token);
        }
        let mut wants = connection.interest();
        if wants.read && connection.is_transferring() && self.shared.is_full() {
            wants.read = false;
            if !std::mem::replace(&mut connection.is_paused, true) {
                self.paused.push(token);
            }
        }
        if wants == connection.registered {
            return;
        }
        connection.registered = wants;
        let number = token.number();
        let done = watch(&self.epoll, connection.socket(), number, flags(wants), true);
        if done.is_err()
            && let Some(connection) = self.take(token)
        {
            self.end(connection);
        }
    }

    fn serve(&mut self, token: Token, flags: epoll::EventFlags, ticks: u64) {
        let Some(mut connection) = self.take(token) else {
            return;
        };
        let until = self.slice_end();
        let mut context = context!(self, ticks, until);
        let gone = epoll::EventFlags::ERR | epoll::EventFlags::HUP;
        let mut done = Ok(());
        if flags.contains(epoll::EventFlags::OUT) {
            done = connection.resume(&mut context);
        }
        // While another thread has to discard much, nothing is read: the event comes again.
        let may_read = !self.shared.held.is_over();
        if done.is_ok() && may_read && flags.intersects(epoll::EventFlags::IN | gone) {
            done = connection.read(&mut context);
        }
        if done.is_ok() && flags.intersects(gone) && !connection.interest().read {
            done = Err(Closed);
        }
        self.put(connection, done);
    }

    fn resume(&mut self, token: Token, ticks: u64) {
        self.resume_until(token, ticks, self.slice_end());
    }

    fn resume_until(&mut self, token: Token, ticks: u64, until: Instant) {
        if let Some(mut connection) = self.take(token) {
            connection.is_queued = false;
            let mut context = context!(self, ticks, until);
            let done = connection.resume(&mut context);
            self.put(connection, done);
        }
    }

    fn tokens(&self) -> impl Iterator<Item = Token> + '_ {
        let connections = self
            .slots
            .iter()
            .filter_map(|slot| slot.connection.as_ref());
        connections.map(|connection| connection.client.token)
    }
}

fn flags(wants: Interest) -> epoll::EventFlags {
    let mut flags = epoll::EventFlags::empty();
    flags.set(epoll::EventFlags::IN, wants.read);
    flags.set(epoll::EventFlags::OUT, wants.write);
    flags
}

fn watch(
    epoll: &OwnedFd,
    what: &OwnedFd,
    number: u64,
    flags: epoll::EventFlags,
    is_known: bool,
) -> rustix::io::Result<()> {
    let data = epoll::EventData::new_u64(number);
    if is_known {
        epoll::modify(epoll, what, data, flags)
    } else {
        epoll::add(epoll, what, data, flags)
    }
}

/// Seconds since 1970.
fn seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or(Duration::ZERO).as_secs() as i64
}

/// Time, ms of the monotonic clock.
fn ticks() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}
