//! A network thread: one loop that waits for its sockets, its letters and its timers, and gives the connection its turn.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use access::ClientIdentity;
use nntp::{LoginResult, Session, TransferKind, TransferOutcome};
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::SocketFlags;
use rustix::time::{ClockId, clock_gettime};

use crate::article_batch::{ArticleBatch, BatchBuilder, ENTRY_BYTES};
use crate::client::{Client, NO_LOGIN, TOO_MANY};
use crate::connection::{Connection, IoContext, NOBODY, Over, Wants};
use crate::counts::{Kinds, Tally, What};
use crate::event::Event;
use crate::layers::tls::Tls;
use crate::mailbox::{Mailbox, Message};
use crate::shared::Shared;
use crate::socket::{Listener, canonical};
use crate::thread_store::ThreadStore;
use crate::timers::Timers;
use crate::token::Token;

/// Events taken from the kernel at once.
const EVENTS: usize = 256;
/// Connections accepted at once, before others get their turn.
const ACCEPTS: usize = 64;
/// Buffers kept for articles.
const SPARE_MAX: usize = 8;
/// Time for a connection before long answers wait for its next turn, ms.
pub const TURN_MILLISECONDS_MAX: u64 = 2;
/// Time for all connections before the thread looks for new ones again, ms: then only what is short is done for those that are ready, and
/// one long answer goes on.
pub const ROUND_MILLISECONDS_MAX: u64 = 10;
/// Time for a TLS handshake, seconds; less where `nntp.first_seconds` is less.
pub const HANDSHAKE_SECONDS_MAX: u64 = 20;
/// The letters of the mailbox, and above it the doors: no connection has such a token.
const MAILBOX: u64 = u64::MAX;
const DOORS: u64 = u64::MAX - 1024;
/// How often those are looked at who wait until there is less on the way to the disk, and a door that had no descriptor left.
const LOOK_AGAIN: u64 = 50;
/// A connection that compresses keeps what it has said lately for so many milliseconds: it makes what follows smaller.
const DEFLATE_KEPT: u64 = 10_000;

/// What a network thread is given.
pub(crate) type Ours = (Arc<Shared>, Arc<Mailbox>, Arc<Vec<Listener>>);

/// The thread's own.
pub(crate) struct Network {
    number: u16,
    epoll: OwnedFd,
    shared: Arc<Shared>,
    mailbox: Arc<Mailbox>,
    listeners: Arc<Vec<Listener>>,
    store: ThreadStore,
    places: Vec<ConnectionSlot>,
    free: Vec<u32>,
    timers: Timers,
    /// When connections that compress may have become quiet.
    deflate_timers: Timers,
    /// When TLS handshakes have to be over.
    handshake_timers: Timers,
    /// Those who want to send, but too much is on the way already.
    paused: Vec<Token>,
    /// Those with a long answer of which all is sent that is written, the one that has waited longest in front.
    eager: VecDeque<Token>,
    /// When this round has lasted long enough.
    round_until: Instant,
    /// Doors that could not be opened for lack of descriptors are shut until then.
    shut_until: Option<u64>,
    input: Vec<u8>,
    raw: Vec<u8>,
    spare: Vec<Vec<u8>>,
    /// Buffers for replies.
    texts: Vec<Vec<u8>>,
    batch_builder: BatchBuilder,
    is_stopping: bool,
    /// It ends with its only connection.
    is_single: bool,
}

#[derive(Default)]
struct ConnectionSlot {
    context: u32,
    connection: Option<Box<Connection>>,
}

/// The connection with a token, if it is there still: its place may be another's.
fn at(places: &[ConnectionSlot], token: Token) -> Option<&Connection> {
    let connection = places.get(token.place())?.connection.as_deref()?;
    (connection.client.token == token).then_some(connection)
}

/// As [`at`].
fn at_mut(places: &mut [ConnectionSlot], token: Token) -> Option<&mut Connection> {
    let connection = places.get_mut(token.place())?.connection.as_deref_mut()?;
    (connection.client.token == token).then_some(connection)
}

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

impl Network {
    pub fn new(
        number: u16,
        store: ThreadStore,
        (shared, mailbox, listeners): Ours,
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
            places: Vec::new(),
            free: Vec::new(),
            timers: Timers::default(),
            deflate_timers: Timers::default(),
            handshake_timers: Timers::default(),
            paused: Vec::new(),
            eager: VecDeque::new(),
            round_until: Instant::now(),
            shut_until: None,
            input: Vec::new(),
            raw: Vec::new(),
            spare: Vec::new(),
            texts: Vec::new(),
            batch_builder: BatchBuilder::default(),
            is_stopping: false,
            is_single: false,
        };
        network.open_doors()?;
        Ok(network)
    }

    fn open_doors(&self) -> std::io::Result<()> {
        for (place, door) in (0u64..).zip(self.listeners.iter()) {
            let data = epoll::EventData::new_u64(DOORS + place);
            let flags = epoll::EventFlags::IN | epoll::EventFlags::EXCLUSIVE;
            epoll::add(&self.epoll, &door.listener, data, flags)?;
        }
        Ok(())
    }

    /// Serves one connection to its end.
    pub fn run_for(&mut self, socket: OwnedFd, address: Option<SocketAddr>) {
        self.is_single = true;
        self.welcome(socket, address, false, ticks());
        if self.tokens().next().is_some() {
            self.run();
        }
    }

    /// Works until told to stop.
    pub fn run(&mut self) {
        let mut events: Vec<epoll::Event> = Vec::with_capacity(EVENTS);
        while !self.is_stopping {
            events.clear();
            let timeout = self.timeout();
            let spare = rustix::buffer::spare_capacity(&mut events);
            match epoll::wait(&self.epoll, spare, timeout.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                // Cannot happen with a descriptor of ours; without it nothing can be done.
                Err(_) => return,
            }
            self.shared.sink.before_work();
            if let Err(error) = self.store.live_reader.catch_up() {
                let why = &error.to_string();
                self.shared.sink.tell(&Event::LookupFailed { why });
            }
            self.round_until = Instant::now() + Duration::from_millis(ROUND_MILLISECONDS_MAX);
            let ticks = ticks();
            for event in &events {
                let flags = event.flags;
                match event.data.u64() {
                    MAILBOX => self.open_letters(ticks),
                    number if number >= DOORS => self.accept((number - DOORS) as usize, ticks),
                    number => self.serve(Token::of(number), flags, ticks),
                }
            }
            self.go_on_with_long_answers(ticks);
            self.look_at_times(ticks);
        }
        self.end_all();
    }

    /// Goes on with those answers whose turn it is, with one at least, until the round is over.
    fn go_on_with_long_answers(&mut self, ticks: u64) {
        for _ in 0..self.eager.len() {
            let Some(token) = self.eager.pop_front() else {
                return;
            };
            let until = Instant::now() + Duration::from_millis(TURN_MILLISECONDS_MAX);
            self.go_on_until(token, ticks, until);
            if Instant::now() >= self.round_until {
                return;
            }
        }
    }

    /// Until when a connection whose turn it is may go on with something long: not at all where the round is over.
    fn turn_until(&self) -> Instant {
        let now = Instant::now();
        match now < self.round_until {
            true => now + Duration::from_millis(TURN_MILLISECONDS_MAX),
            false => now,
        }
    }

    fn timeout(&self) -> Option<Timespec> {
        if !self.eager.is_empty() {
            return Some(Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            });
        }
        let soon = !self.paused.is_empty() || self.shut_until.is_some();
        let now = ticks();
        let timers = [&self.timers, &self.deflate_timers, &self.handshake_timers];
        let next = timers.into_iter().filter_map(Timers::next).min();
        let next = next.map(|at| at.saturating_sub(now));
        let wait = match (next, soon) {
            (Some(wait), true) => Some(wait.min(LOOK_AGAIN)),
            (None, true) => Some(LOOK_AGAIN),
            (wait, false) => wait,
        };
        wait.map(|wait| Timespec {
            tv_sec: (wait / 1000) as i64,
            tv_nsec: (wait % 1000 * 1_000_000) as i64,
        })
    }

    fn look_at_times(&mut self, ticks: u64) {
        while let Some(token) = self.timers.due(ticks) {
            let Some(active) = self.active(token) else {
                continue;
            };
            if self.has_rested(token, ticks) {
                continue;
            }
            let since = match self.has_pending_reply(token) {
                // It is we who let it wait.
                true => ticks,
                false => active,
            };
            let at = since + self.patience(token);
            if at > ticks {
                self.timers.add(at, token);
                continue;
            }
            self.time_out(token);
        }
        self.rest_deflates(ticks);
        self.end_long_handshakes(ticks);
        if self.shut_until.is_some_and(|at| at <= ticks) {
            self.shut_until = None;
            // Registered already where only this thread had shut them.
            let _ = self.open_doors();
        }
        if !self.paused.is_empty() && !self.shared.is_full() {
            for token in std::mem::take(&mut self.paused) {
                self.register(token);
            }
        }
    }

    /// Gives back what quiet connections have for compressing.
    fn rest_deflates(&mut self, ticks: u64) {
        while let Some(token) = self.deflate_timers.due(ticks) {
            let Some(connection) = at_mut(&mut self.places, token) else {
                continue;
            };
            match connection.rest_deflate(DEFLATE_KEPT, ticks) {
                true => connection.is_rest_of_deflate_noted = false,
                false => self.deflate_timers.add(ticks + DEFLATE_KEPT, token),
            }
        }
    }

    fn end_long_handshakes(&mut self, ticks: u64) {
        while let Some(token) = self.handshake_timers.due(ticks) {
            let Some(connection) = at_mut(&mut self.places, token) else {
                continue;
            };
            connection.is_handshake_noted = false;
            if connection.handshake().is_some() {
                self.time_out(token);
            }
        }
    }

    /// When a connection was active last.
    fn active(&self, token: Token) -> Option<u64> {
        at(&self.places, token).map(|connection| connection.active)
    }

    /// True for a connection that had to rest, and its look for time limits has another entry.
    fn has_rested(&mut self, token: Token, ticks: u64) -> bool {
        let Some(connection) = at_mut(&mut self.places, token) else {
            return true;
        };
        match connection.client.rests_until {
            None => false,
            // It has to rest longer than it had at first.
            Some(at) if at > ticks => {
                self.timers.add(at, token);
                true
            }
            Some(_) => {
                connection.client.rests_until = None;
                connection.is_rest_noted = false;
                self.go_on(token, ticks);
                true
            }
        }
    }

    fn has_pending_reply(&self, token: Token) -> bool {
        at(&self.places, token).is_some_and(|connection| connection.has_pending_reply())
    }

    fn patience(&self, token: Token) -> u64 {
        let times = self.shared.config().times;
        let is_new = at(&self.places, token).is_some_and(|connection| !connection.has_spoken());
        let most = if is_new { times.first } else { times.idle };
        u64::try_from(most.as_millis()).unwrap_or(u64::MAX / 2)
    }

    fn time_out(&mut self, token: Token) {
        let Some(mut connection) = self.take(token) else {
            return;
        };
        self.shared.counts.timed_out.one();
        // A reader that says nothing is nothing new.
        if connection.client.rights.is_peer() || !connection.has_spoken() {
            self.shared.sink.tell(&Event::TimedOut {
                address: connection.client.address,
                entry: connection.client.rights.name(),
                is_receiving: connection.session.is_receiving(),
            });
        }
        // RFC 3977, 3.1: without a word, which would be taken for the answer to the next command.
        if !connection.has_output() {
            connection.end_layers();
        }
        self.end(connection);
    }

    /// Takes a connection out of its place, for its turn.
    fn take(&mut self, token: Token) -> Option<Box<Connection>> {
        at(&self.places, token)?;
        let mut connection = self.places.get_mut(token.place())?.connection.take()?;
        connection.out().give_buffer(&mut self.texts);
        Some(connection)
    }

    /// Puts it back behind its turn, or ends it.
    fn put(&mut self, mut connection: Box<Connection>, done: Result<(), Over>) {
        if done.is_err() {
            return self.end(connection);
        }
        if let Some(text) = connection.out().take_buffer()
            && self.texts.len() < SPARE_MAX
        {
            self.texts.push(text);
        }
        connection.client.tell(&self.shared.counts);
        let token = connection.client.token;
        if let Some(place) = self.places.get_mut(token.place()) {
            place.connection = Some(connection);
        }
        self.register(token);
    }

    /// Tells the kernel what a connection waits for, where that has changed.
    fn register(&mut self, token: Token) {
        let Some(connection) = at_mut(&mut self.places, token) else {
            return;
        };
        if connection.wants_turn() && !connection.is_eager {
            connection.is_eager = true;
            self.eager.push_back(token);
        }
        if let Some(at) = connection.client.rests_until
            && !connection.is_rest_noted
        {
            connection.is_rest_noted = true;
            self.timers.add(at, token);
        }
        if let Some(since) = connection.handshake()
            && !connection.is_handshake_noted
        {
            connection.is_handshake_noted = true;
            self.handshake_timers
                .add(since + HANDSHAKE_SECONDS_MAX * 1000, token);
        }
        if connection.is_deflate_awake() && !connection.is_rest_of_deflate_noted {
            connection.is_rest_of_deflate_noted = true;
            self.deflate_timers
                .add(connection.active + DEFLATE_KEPT, token);
        }
        let mut wants = connection.wants();
        if wants.read && connection.session.permissions().sends && self.shared.is_full() {
            wants.read = false;
            self.paused.push(token);
        }
        if wants == connection.wanted {
            return;
        }
        connection.wanted = wants;
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
        let until = self.turn_until();
        let mut context = context!(self, ticks, until);
        let gone = epoll::EventFlags::ERR | epoll::EventFlags::HUP;
        let mut done = Ok(());
        if flags.contains(epoll::EventFlags::OUT) {
            done = connection.go_on(&mut context);
        }
        if done.is_ok() && flags.intersects(epoll::EventFlags::IN | gone) {
            done = connection.read(&mut context);
        }
        if done.is_ok() && flags.intersects(gone) && !connection.wants().read {
            done = Err(Over);
        }
        self.put(connection, done);
    }

    fn open_letters(&mut self, ticks: u64) {
        for message in self.mailbox.empty() {
            match message {
                Message::Settled(batch) => self.settle(batch, ticks),
                Message::LoggedIn(token, outcome) => self.logged_in(token, outcome, ticks),
                Message::Reloaded => self.reload(),
                Message::LetGo(token) => self.make_room(token, ticks),
                Message::Stop => self.is_stopping = true,
            }
        }
    }

    /// Tells the connections what became of their articles.
    fn settle(&mut self, batch: ArticleBatch, ticks: u64) {
        let bytes = batch.bytes();
        self.shared.on_the_way.fetch_sub(bytes, Ordering::Relaxed);
        let mut last: Option<Token> = None;
        let mut taken = 0;
        let came = batch.came;
        for (entry, id, length, outcome) in batch.outcomes() {
            if entry.kind != TransferKind::Post {
                self.shared.reservations.forget(id, entry.connection);
            }
            let Some(connection) = at_mut(&mut self.places, entry.connection) else {
                continue;
            };
            let client = &mut connection.client;
            client.on_the_way.0 = client.on_the_way.0.saturating_sub(1);
            client.on_the_way.1 = client.on_the_way.1.saturating_sub(length + ENTRY_BYTES);
            let what = match (outcome, entry.kind) {
                (TransferOutcome::Accepted, kind) => {
                    client.tally.add(What::AcceptedBytes, length as u64);
                    taken += 1;
                    match kind {
                        TransferKind::Post => What::Posted,
                        TransferKind::Ihave | TransferKind::TakeThis => What::Accepted,
                    }
                }
                (TransferOutcome::Duplicate, _) => What::Duplicates,
                (TransferOutcome::Refused(_), _) => entry.ground,
                (TransferOutcome::Deferred(_), _) => What::Deferred,
            };
            client.tally.add(what, 1);
            if Session::complete_transfer(entry.kind, id, outcome, connection.out()) {
                connection.dismiss(b"");
            }
            last = Some(entry.connection);
        }
        let mut buffer = batch.into_buffer();
        if self.spare.len() < SPARE_MAX && buffer.capacity() >= crate::connection::READ_BYTES {
            buffer.clear();
            self.spare.push(buffer);
        }
        // A batch has the articles of one connection.
        if let Some(token) = last {
            if let Some(connection) = at(&self.places, token).filter(|_| taken > 0) {
                connection.client.peer.latency.add(came.elapsed(), taken);
            }
            self.go_on(token, ticks);
        }
    }

    fn go_on(&mut self, token: Token, ticks: u64) {
        self.go_on_until(token, ticks, self.turn_until());
    }

    fn go_on_until(&mut self, token: Token, ticks: u64, until: Instant) {
        if let Some(mut connection) = self.take(token) {
            connection.is_eager = false;
            let mut context = context!(self, ticks, until);
            let done = connection.go_on(&mut context);
            self.put(connection, done);
        }
    }

    fn logged_in(&mut self, token: Token, outcome: access::Outcome, ticks: u64) {
        let Some(mut connection) = self.take(token) else {
            return;
        };
        let client = &mut connection.client;
        let told = match outcome {
            access::Outcome::LoggedIn { user, .. } => {
                match client.log_in(Some(user), &self.shared) {
                    true => LoginResult::Accepted(client.permissions()),
                    false => LoginResult::Failed(TOO_MANY),
                }
            }
            access::Outcome::Failed(why) => {
                client.login_failed(&self.shared, &why);
                LoginResult::Failed(NO_LOGIN)
            }
            access::Outcome::Refused(why) => {
                client.login_failed(&self.shared, &why);
                LoginResult::Refused
            }
            access::Outcome::Malformed(why) => {
                client.login_failed(&self.shared, why);
                LoginResult::Refused
            }
        };
        connection.logged_in(&told);
        let until = self.turn_until();
        let mut context = context!(self, ticks, until);
        let done = connection.go_on(&mut context);
        self.put(connection, done);
    }

    /// A connection holds too much of what is not whole.
    fn make_room(&mut self, token: Token, ticks: u64) {
        if let Some(mut connection) = self.take(token) {
            let until = self.turn_until();
            let mut context = context!(self, ticks, until);
            let done = connection.make_room(&mut context);
            self.put(connection, done);
        }
    }

    fn reload(&mut self) {
        let all: Vec<Token> = self.tokens().collect();
        // The limits of time may be shorter now.
        self.timers = Timers::default();
        for token in all {
            let patience = self.patience(token);
            if let Some(mut connection) = self.take(token) {
                self.timers.add(connection.active + patience, token);
                if let Some(at) = connection.client.rests_until
                    && connection.is_rest_noted
                {
                    self.timers.add(at, token);
                }
                connection.client.ask_again(&self.shared);
                connection
                    .session
                    .set_permissions(connection.client.permissions());
                self.put(connection, Ok(()));
            }
        }
    }

    fn tokens(&self) -> impl Iterator<Item = Token> + '_ {
        let connections = self
            .places
            .iter()
            .filter_map(|place| place.connection.as_ref());
        connections.map(|connection| connection.client.token)
    }

    fn accept(&mut self, door: usize, ticks: u64) {
        for _ in 0..ACCEPTS {
            let Some(door) = self.listeners.get(door) else {
                return;
            };
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            match rustix::net::acceptfrom_with(&door.listener, flags) {
                Ok((socket, address)) => {
                    let address = address.and_then(|address| SocketAddr::try_from(address).ok());
                    let is_tls = door.is_tls;
                    self.welcome(socket, address.map(canonical), is_tls, ticks);
                }
                Err(Errno::AGAIN) => return,
                Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    // Looked at again when some are closed: else this thread would go round and round.
                    for door in self.listeners.iter() {
                        let _ = epoll::delete(&self.epoll, &door.listener);
                    }
                    self.shut_until = Some(ticks + LOOK_AGAIN);
                    return;
                }
                // Of this one connection, which is gone already.
                Err(_) => {}
            }
        }
    }

    fn welcome(&mut self, socket: OwnedFd, address: Option<SocketAddr>, is_tls: bool, ticks: u64) {
        let shared = self.shared.clone();
        shared.counts.connected.one();
        let config = shared.config();
        let identity = ClientIdentity {
            address: address.map(|address| address.ip()),
            user: None,
            certificate: None,
            is_secure: false,
        };
        let rights = config.access.rights(&identity);
        let refuse = |line: &[u8], why: &'static str| {
            shared.counts.rejected.one();
            shared.sink.tell(&Event::Rejected { address, why });
            if !is_tls {
                let _ = rustix::io::write(&socket, line);
            }
        };
        if !is_tls && rights.is_nothing() && !rights.can_log_in() {
            return refuse(NOBODY, "no permission");
        }
        let limits = rights.limits();
        let most = limits.connections_per_address_max;
        let most = most.map_or(config.connections_per_address_max, |most| most as usize);
        let peer = shared.counts.peer(rights.name());
        let tls = match (is_tls, shared.tls()) {
            (false, _) => None,
            (true, Some(config)) => match Tls::new(&config) {
                Ok(tls) => Some(Box::new(tls)),
                Err(_) => return,
            },
            (true, None) => return,
        };
        if address.is_some_and(|address| !shared.enter(address.ip(), most)) {
            let line = b"400 Too many connections from your address\r\n";
            return refuse(line, "too many connections from this address");
        }
        let all = &shared.counts.connections;
        let is_room = all.enter(config.connections_max as u64);
        let most = limits.connections_max.map_or(u64::MAX, u64::from);
        if !is_room || !peer.connections.enter(most) {
            if is_room {
                all.less();
            }
            self.forget_address(address);
            let line = format!("400 {TOO_MANY}\r\n");
            return refuse(line.as_bytes(), "too many connections");
        }
        peer.connected.one();
        // Only programs that check passwords are told.
        let local = match rights.can_log_in() {
            true => rustix::net::getsockname(&socket).ok(),
            false => None,
        };
        let local = local.and_then(|local| SocketAddr::try_from(local).ok());
        let token = self.new_token();
        let mut client = Client {
            token,
            address,
            local: local.map(canonical),
            user: None,
            certificate: None,
            is_secure: false,
            rights,
            are_rights_new: false,
            peer,
            tally: Tally::default(),
            kinds: Kinds::default(),
            since: ticks,
            exchange: None,
            has_announced: false,
            on_the_way: (0, 0),
            sending: None,
            reading: None,
            rests_until: None,
        };
        client.begin_paces();
        let capabilities = shared.capabilities_for(&client.rights);
        let session = Session::new(capabilities, client.permissions(), false);
        let mut connection = Box::new(Connection::new(socket, session, client, tls, ticks));
        let data = flags(connection.wanted);
        if watch(
            &self.epoll,
            connection.socket(),
            token.number(),
            data,
            false,
        )
        .is_err()
        {
            return self.end(connection);
        }
        let until = self.turn_until();
        let context = context!(self, ticks, until);
        let done = match is_tls {
            true => Ok(()),
            false => {
                connection.greet();
                connection.send(&context)
            }
        };
        let first = u64::try_from(config.times.first.as_millis()).unwrap_or(u64::MAX / 2);
        self.timers.add(ticks + first, token);
        self.put(connection, done);
    }

    fn forget_address(&self, address: Option<SocketAddr>) {
        if let Some(address) = address {
            self.shared.leave(address.ip());
        }
    }

    fn new_token(&mut self) -> Token {
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                self.places.push(ConnectionSlot::default());
                (self.places.len() - 1) as u32
            }
        };
        let context = match self.places.get_mut(place as usize) {
            Some(held) => {
                held.context = held.context.wrapping_add(1);
                held.context
            }
            None => 0,
        };
        Token::new(self.number, place, context)
    }

    /// The end of a connection. Closing the socket takes it out of the kernel's list.
    fn end(&mut self, mut connection: Box<Connection>) {
        connection.let_go(&self.shared);
        let client = &mut connection.client;
        if client.has_announced {
            self.shared.reservations.forget_all(client.token);
        }
        self.shared.counts.connections.less();
        client.leave(&self.shared.counts);
        // Who may send, and only read, is told of no more than other readers.
        if client.tally.read(What::Offered) > 0 {
            self.shared.sink.tell(&Event::PeerLeft {
                address: client.address,
                entry: client.rights.name(),
                lasted: Duration::from_millis(ticks().saturating_sub(client.since)),
                tally: &client.tally,
            });
        }
        self.forget_address(client.address);
        self.is_stopping |= self.is_single;
        self.free.push(client.token.place() as u32);
    }

    fn end_all(&mut self) {
        let all: Vec<Token> = self.tokens().collect();
        let ticks = ticks();
        for token in all {
            if let Some(mut connection) = self.take(token) {
                connection.dismiss(b"400 The server is going down\r\n");
                let until = self.turn_until();
                let context = context!(self, ticks, until);
                let _ = connection.send(&context);
                self.end(connection);
            }
        }
    }
}

fn flags(wants: Wants) -> epoll::EventFlags {
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
    match is_known {
        true => epoll::modify(epoll, what, data, flags),
        false => epoll::add(epoll, what, data, flags),
    }
}

/// Seconds since 1970.
fn seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or(Duration::ZERO).as_secs() as i64
}

/// Milliseconds of the monotonic clock.
fn ticks() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}
