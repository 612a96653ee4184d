//! One connection: a socket, what lies between it and the session (TLS, compression), the session, and what waits in between.
//!
//! *Invariant:* an idle connection holds no buffers. Input is read into a buffer of the network thread; only what could not be used up yet
//! stays here.

use std::io::IoSlice;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use nntp::{LoginResult, Next, OUT_BYTES_MAX, OutBuffer, Processed, Session};
use rustix::buffer::spare_capacity;
use rustix::io::Errno;

use crate::article_batch::{ArticleBatch, BatchBuilder};
use crate::client::{Client, TOO_MANY};
use crate::counts::What;
use crate::event::Event;
use crate::layers::deflate::Deflate;
use crate::layers::tls::Tls;
use crate::mailbox::Mailbox;
use crate::shared::Shared;
use crate::thread_store::{SessionContext, ThreadStore};

/// Read from a socket in one go: 1 MiB.
pub const READ_BYTES: usize = 1 << 20;
/// Read in one go from who sends no articles: else a thousand pipelines that nobody reads the answers of take up a GiB.
const READER_READ_BYTES: usize = 8 << 10;
/// A connection that holds less of what is not whole is not counted: 4 KiB.
const UNCOUNTED_BYTES: usize = 4 << 10;
/// What a TLS handshake takes besides the records that are not used up, about: 4 KiB.
const HANDSHAKE_BYTES: usize = 4 << 10;
/// A leftover longer than this is read on to where it lies, instead of in the thread's buffer.
const REST_BYTES: usize = 64 << 10;
/// Articles of one read that are shorter in sum travel in a copy; longer ones in the buffer they were read into.
const COPIED_PARCEL_BYTES: usize = 128 << 10;
/// Bytes a connection may have on their way to the disk; then nothing more is read from it: 16 MiB.
pub const ON_THE_WAY_BYTES_MAX: usize = 16 << 20;
/// Bytes that wait to be sent in their last form (TLS, compressed), at most about: 64 KiB.
const STAGED_BYTES: usize = 64 << 10;
/// Who can do nothing here hears this.
pub const NOBODY: &[u8] = b"502 You have no permission to talk here. Goodbye\r\n";
/// How hard it is tried to make replies small: little, since a server has many readers.
const DEFLATE_LEVEL: u32 = 3;
/// So many bytes sent or received show that the other side is alive.
const PROGRESS_BYTES: usize = 1024;
/// Pieces sent by one call.
const SLICES: usize = 64;

/// What a connection wants of its network thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wants {
    /// To be told when there is something to read.
    pub read: bool,
    /// To be told when something can be sent.
    pub write: bool,
}

/// The connection is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Over;

/// What the network thread lends to a connection whose turn it is.
pub struct IoContext<'t> {
    /// The store.
    pub store: &'t mut ThreadStore,
    /// A buffer for input, empty.
    pub input: &'t mut Vec<u8>,
    /// A buffer for what came from the socket where that is not the input yet, empty.
    pub raw: &'t mut Vec<u8>,
    /// Buffers that came back from the writer.
    pub spare: &'t mut Vec<Vec<u8>>,
    /// For articles.
    pub batch_builder: &'t mut BatchBuilder,
    /// What all threads share.
    pub shared: &'t Shared,
    /// The thread's letters.
    pub mailbox: &'t Arc<Mailbox>,
    /// Seconds since 1970.
    pub now: i64,
    /// Milliseconds of the monotonic clock.
    pub ticks: u64,
    /// Then long answers wait for the next turn.
    pub until: Instant,
}

fn desk<'a>(
    client: &'a mut Client,
    context: &'a mut IoContext<'_>,
    input: &'a [u8],
) -> SessionContext<'a> {
    SessionContext {
        store: context.store,
        client,
        batch_builder: context.batch_builder,
        input,
        shared: context.shared,
        mailbox: context.mailbox,
        now: context.now,
        ticks: context.ticks,
        until: context.until,
    }
}

/// A connection.
pub struct Connection {
    socket: OwnedFd,
    /// The session.
    pub session: Session,
    /// Who it is.
    pub client: Client,
    out: OutBuffer,
    /// Input that is not used up.
    rest: Vec<u8>,
    /// It is counted among those which hold something.
    is_held: bool,
    /// When what it holds began, in milliseconds.
    held_since: u64,
    /// Since when the TLS handshake lasts, in milliseconds.
    handshake: Option<u64>,
    tls: Option<Box<Tls>>,
    deflate: Option<Box<Deflate>>,
    /// Compressed input that is not looked at yet.
    packed: Vec<u8>,
    /// There is more to be had of it.
    is_packed_more: bool,
    /// Ready for the socket, in its last form; `staged_sent` of it is out.
    staged: Vec<u8>,
    staged_sent: usize,
    next: Next,
    is_greeted: bool,
    has_spoken: bool,
    /// The client sends no more.
    is_at_end: bool,
    /// It is to end when everything is sent.
    is_closing: bool,
    /// When it last got on, in milliseconds.
    pub active: u64,
    /// Bytes that went through since then.
    progress: usize,
    /// What is registered with the kernel.
    pub wanted: Wants,
    /// Its rest has an entry among the timers.
    pub is_rest_noted: bool,
    /// It has an entry among those that may let their compression rest.
    pub is_rest_of_deflate_noted: bool,
    /// It is among those whose turn comes again at once.
    pub is_eager: bool,
    /// Its TLS handshake has an entry among the timers.
    pub is_handshake_noted: bool,
}

impl Connection {
    /// A connection that was accepted.
    pub fn new(
        socket: OwnedFd,
        session: Session,
        client: Client,
        tls: Option<Box<Tls>>,
        ticks: u64,
    ) -> Connection {
        Connection {
            socket,
            session,
            client,
            out: OutBuffer::default(),
            rest: Vec::new(),
            is_held: false,
            held_since: ticks,
            handshake: tls.is_some().then_some(ticks),
            tls,
            deflate: None,
            packed: Vec::new(),
            is_packed_more: false,
            is_greeted: false,
            has_spoken: false,
            staged: Vec::new(),
            staged_sent: 0,
            next: Next::More,
            is_at_end: false,
            is_closing: false,
            active: ticks,
            progress: 0,
            wanted: Wants {
                read: true,
                write: false,
            },
            is_rest_noted: false,
            is_rest_of_deflate_noted: false,
            is_eager: false,
            is_handshake_noted: false,
        }
    }

    /// The socket.
    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Greets.
    pub fn greet(&mut self) {
        self.is_greeted = true;
        self.session.greet(&mut self.out);
    }

    /// True when anything came that made sense.
    pub fn has_spoken(&self) -> bool {
        self.is_greeted && self.has_spoken
    }

    /// What was promised about a login is kept.
    pub fn logged_in(&mut self, told: &LoginResult) {
        self.session.logged_in(told, &mut self.out);
    }

    /// Says a last line, and ends when it is sent.
    pub fn dismiss(&mut self, line: &[u8]) {
        if !self.out.has_pending_reply() {
            self.out.push(line);
        }
        self.is_closing = true;
    }

    /// True while an answer waits for others than the client.
    pub fn has_pending_reply(&self) -> bool {
        self.out.has_pending_reply()
    }

    /// What is to be sent.
    pub fn out(&mut self) -> &mut OutBuffer {
        &mut self.out
    }

    /// True while something is not sent that could be.
    pub fn has_output(&self) -> bool {
        self.staged.len() > self.staged_sent || self.out.is_ready()
    }

    /// There is something to read.
    ///
    /// # Errors
    /// The connection is over.
    pub fn read(&mut self, context: &mut IoContext<'_>) -> Result<(), Over> {
        if !self.reads() {
            return Ok(());
        }
        let mut input = self.take_input(context);
        let read = match self.tls.is_some() || self.deflate.is_some() {
            false => receive(&self.socket, &mut input, self.read_bytes()),
            true => self.read_through(context, &mut input),
        };
        match read {
            Ok(0) => self.is_at_end = true,
            Ok(count) => {
                self.client.tally.add(What::ReceivedBytes, count as u64);
                if self.session.is_receiving() {
                    self.got_on(count, context.ticks);
                }
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => {
                self.put_back(context, input, 0);
                return Err(Over);
            }
        }
        self.work(context, input)?;
        self.look_for_end()
    }

    /// The client sends no more, and everything that it asked for is sent: that is the end.
    fn look_for_end(&self) -> Result<(), Over> {
        let is_answered =
            self.next == Next::More && !self.has_output() && !self.out.has_pending_reply();
        match self.is_at_end && is_answered {
            true => Err(Over),
            false => Ok(()),
        }
    }

    /// How much input is taken at once.
    fn read_bytes(&self) -> usize {
        match self.session.permissions().sends || self.session.is_receiving() {
            true => READ_BYTES,
            false => READER_READ_BYTES,
        }
    }

    /// The input so far, in a buffer with room for more.
    fn take_input(&mut self, context: &mut IoContext<'_>) -> Vec<u8> {
        if self.rest.len() > REST_BYTES {
            let mut input = std::mem::take(&mut self.rest);
            // Grows by halves, so that a large article is not copied with each piece of it.
            let more = READ_BYTES.min(input.len() / 2).max(READ_BYTES / 4);
            input.reserve(more);
            return input;
        }
        let mut input = std::mem::take(context.input);
        input.clear();
        input.reserve(READ_BYTES);
        input.extend_from_slice(&self.rest);
        self.rest = Vec::new();
        input
    }

    /// Keeps what was not used up, and gives the buffer back.
    fn put_back(&mut self, context: &mut IoContext<'_>, mut input: Vec<u8>, used: usize) {
        let left = input.len().saturating_sub(used);
        if left > REST_BYTES {
            input.drain(..used);
            self.rest = input;
            self.hold(context);
            return;
        }
        self.rest = match input.get(used..) {
            Some(rest) if !rest.is_empty() => rest.to_vec(),
            _ => Vec::new(),
        };
        self.hold(context);
        // One that a large article made larger is given back.
        if context.input.capacity() < input.capacity() && input.capacity() <= 2 * READ_BYTES {
            input.clear();
            *context.input = input;
        }
    }

    /// Counts what it holds that is not whole, among what all hold.
    fn hold(&mut self, context: &IoContext<'_>) {
        let kept = self.tls.as_ref().map_or(0, |tls| tls.kept_bytes());
        let owner = || {
            let address = self.client.address;
            let address = address.map(|address| access::counted(address.ip()));
            let entry = self.client.rights.name().to_owned();
            ((entry, address), context.mailbox.clone())
        };
        let token = self.client.token;
        let bytes = self.rest.capacity() + self.packed.capacity() + kept;
        if let Some(since) = self.handshake {
            let bytes = HANDSHAKE_BYTES + kept;
            let times = (since, context.ticks);
            context.shared.handshakes.hold(token, bytes, times, owner);
        } else if bytes > UNCOUNTED_BYTES {
            let times = (self.held_since, context.ticks);
            context.shared.held.hold(token, bytes, times, owner);
            self.is_held = true;
        } else if std::mem::take(&mut self.is_held) {
            context.shared.held.let_go(token);
        }
    }

    /// It holds nothing any more.
    pub fn let_go(&mut self, shared: &Shared) {
        self.rest = Vec::new();
        let token = self.client.token;
        if std::mem::take(&mut self.is_held) {
            shared.held.let_go(token);
        }
        if self.handshake.take().is_some() {
            shared.handshakes.let_go(token);
        }
    }

    /// Memory is used up, and this has to let go of what it holds. Nothing is done where it holds nothing any more.
    ///
    /// # Errors
    /// The connection is over.
    pub fn make_room(&mut self, context: &mut IoContext<'_>) -> Result<(), Over> {
        let kept = self.tls.as_ref().map_or(0, |tls| tls.kept_bytes());
        let bytes = self.rest.len() + self.packed.len() + kept;
        let told = |what: &'static str, client: &Client| {
            context.shared.sink.tell(&Event::LetGo {
                address: client.address,
                entry: client.rights.name(),
                what,
                bytes,
            });
        };
        if self.handshake.is_some() {
            told("handshake", &self.client);
            return Err(Over);
        }
        if !self.is_held {
            return Ok(());
        }
        if self.session.is_receiving_wanted() {
            told("article", &self.client);
            self.put_off_article(context);
        } else {
            told("command", &self.client);
            self.dismiss(b"400 Too much is being sent at once; come again later\r\n");
        }
        self.go_on(context)
    }

    fn put_off_article(&mut self, context: &mut IoContext<'_>) {
        let mut desk = desk(&mut self.client, context, b"");
        self.session.defer_article(&mut desk);
    }

    /// Since when a TLS handshake lasts, in milliseconds.
    pub fn handshake(&self) -> Option<u64> {
        self.handshake
    }

    /// Reads what TLS and compression make input of.
    fn read_through(
        &mut self,
        context: &mut IoContext<'_>,
        input: &mut Vec<u8>,
    ) -> Result<usize, Errno> {
        context.raw.clear();
        context.raw.reserve(READ_BYTES / 4);
        let count = receive(&self.socket, context.raw, self.read_bytes())?;
        if count == 0 {
            return Ok(0);
        }
        let is_packed = self.deflate.is_some();
        match self.tls.as_mut() {
            None => self.packed.extend_from_slice(context.raw),
            Some(tls) => {
                let into = if is_packed {
                    &mut self.packed
                } else {
                    &mut *input
                };
                let was_handshaking = tls.is_handshaking();
                let fed = tls.feed(context.raw, into);
                tls.pending(&mut self.staged);
                match fed {
                    Ok(fed) => self.is_at_end |= fed.is_closed,
                    // The alert that says why goes out first.
                    Err(_) => self.is_closing = true,
                }
                if was_handshaking && !tls.is_handshaking() {
                    self.handshake = None;
                    context.shared.handshakes.let_go(self.client.token);
                    self.client.certificate = tls.certificate();
                    self.secured(context);
                }
            }
        }
        self.unpack(input);
        Ok(count)
    }

    /// TLS is there: it may tell who this is.
    fn secured(&mut self, context: &mut IoContext<'_>) {
        self.client.is_secure = true;
        let is_room = self.client.enter(context.shared);
        self.session.begin_tls(self.client.permissions());
        if !is_room {
            return self.dismiss(format!("400 {TOO_MANY}\r\n").as_bytes());
        }
        if self.is_greeted {
            return;
        }
        match self.client.is_nobody() {
            true => self.dismiss(NOBODY),
            false => self.greet(),
        }
    }

    /// True when its compression holds memory that it could do without.
    pub fn is_deflate_awake(&self) -> bool {
        self.deflate
            .as_ref()
            .is_some_and(|deflate| deflate.is_awake())
    }

    /// Lets the compression rest, where nothing came or went for so many milliseconds; false where something did.
    pub fn rest_deflate(&mut self, quiet: u64, ticks: u64) -> bool {
        let deflate = self.deflate.as_mut();
        ticks >= self.active + quiet && deflate.is_none_or(|deflate| deflate.rest())
    }

    /// Makes input of what came compressed, as far as there is room. True: of some.
    fn unpack(&mut self, input: &mut Vec<u8>) -> bool {
        let most = self.read_bytes();
        let Some(deflate) = self.deflate.as_mut() else {
            return false;
        };
        let before = input.len();
        match deflate.inflate(&self.packed, input, before + most) {
            Ok(inflated) => {
                self.packed.drain(..inflated.taken_bytes);
                self.packed.shrink_to(0);
                self.is_packed_more = inflated.is_more;
                self.is_at_end |= inflated.is_over;
            }
            Err(_) => self.is_closing = true,
        }
        input.len() > before
    }

    /// Something can be sent, a promise was kept, or its turn has come again: goes on with what waits.
    ///
    /// # Errors
    /// The connection is over.
    pub fn go_on(&mut self, context: &mut IoContext<'_>) -> Result<(), Over> {
        self.send(context)?;
        if matches!(self.next, Next::Drain | Next::Yield) && self.out.len() >= OUT_BYTES_MAX / 2 {
            return Ok(());
        }
        let input = std::mem::take(&mut self.rest);
        self.work(context, input)?;
        self.look_for_end()
    }

    /// Gives the session its input, and sends what it says, until one of them has enough.
    fn work(&mut self, context: &mut IoContext<'_>, mut input: Vec<u8>) -> Result<(), Over> {
        let mut used = 0;
        loop {
            let taken = match self.is_closing {
                true => Processed {
                    used: input.len().saturating_sub(used),
                    next: Next::Close,
                },
                // Said, but not sent: what follows is of TLS, or compressed, and no command.
                false if matches!(self.next, Next::StartTls | Next::Compress) => Processed {
                    used: 0,
                    next: self.next,
                },
                false => self.give(context, input.get(used..).unwrap_or_default()),
            };
            if !context.batch_builder.is_empty() {
                // Places in the batch count from where the session's input began.
                let batch = self.pack(context, &mut input, used, taken.used);
                used = 0;
                self.hand_over(context, batch);
            } else {
                used += taken.used;
            }
            if taken.used > 0 {
                self.active = context.ticks;
                self.held_since = context.ticks;
                self.has_spoken = true;
            }
            self.next = taken.next;
            let sent = self.send(context);
            if sent.is_err() {
                self.put_back(context, input, used);
                return Err(Over);
            }
            match taken.next {
                Next::Drain if self.out.len() < OUT_BYTES_MAX => {}
                Next::StartTls if !self.has_output() => {
                    self.start_tls(context);
                    used = input.len();
                    break;
                }
                Next::Compress if !self.has_output() => {
                    self.packed = input.get(used..).unwrap_or_default().to_vec();
                    input.clear();
                    used = 0;
                    self.deflate = Some(Box::new(Deflate::new(DEFLATE_LEVEL)));
                    self.unpack(&mut input);
                    self.session.begin_compression();
                    self.next = Next::More;
                }
                // What is packed small may be large: it waits, too, for what is on its way.
                Next::More if self.is_packed_more && !self.is_full() => {
                    if Instant::now() >= context.until {
                        self.next = Next::Yield;
                        break;
                    }
                    input.drain(..used);
                    used = 0;
                    if !self.unpack(&mut input) {
                        break;
                    }
                }
                Next::Close => {
                    self.is_closing = true;
                    used = input.len();
                    if !self.has_output() && !self.out.has_pending_reply() {
                        self.put_back(context, input, used);
                        self.end_layers();
                        return Err(Over);
                    }
                    break;
                }
                _ => break,
            }
        }
        self.put_back(context, input, used);
        Ok(())
    }

    fn give(&mut self, context: &mut IoContext<'_>, input: &[u8]) -> Processed {
        if std::mem::take(&mut self.client.are_rights_new) {
            let capabilities = context.shared.capabilities_for(&self.client.rights);
            self.session.set_capabilities(capabilities);
        }
        let mut desk = desk(&mut self.client, context, input);
        self.session.process(input, &mut desk, &mut self.out)
    }

    /// Makes a batch of the input: `from` where the session's input began, of which it used `used`. What is left of the input
    /// stays in it, and begins at its front.
    fn pack(
        &mut self,
        context: &mut IoContext<'_>,
        input: &mut Vec<u8>,
        from: usize,
        used: usize,
    ) -> ArticleBatch {
        let end = from + used;
        if context.batch_builder.article_bytes() < COPIED_PARCEL_BYTES {
            let batch = {
                let given = input.get(from..).unwrap_or_default();
                context.batch_builder.with_copy(given, context.mailbox)
            };
            input.drain(..end);
            return batch;
        }
        let mut fresh = context.spare.pop().unwrap_or_default();
        fresh.clear();
        fresh.reserve(READ_BYTES);
        fresh.extend_from_slice(input.get(end..).unwrap_or_default());
        let mut bytes = std::mem::replace(input, fresh);
        if from > 0 {
            bytes.drain(..from);
        }
        context.batch_builder.with(bytes, context.mailbox)
    }

    fn hand_over(&mut self, context: &mut IoContext<'_>, batch: ArticleBatch) {
        let on_the_way = &context.shared.on_the_way;
        on_the_way.fetch_add(batch.bytes(), Ordering::Relaxed);
        context.shared.sink.file(batch);
    }

    fn start_tls(&mut self, context: &mut IoContext<'_>) {
        match context.shared.tls() {
            Some(config) => {
                self.tls = Tls::new(&config).ok().map(Box::new);
                self.is_closing |= self.tls.is_none();
                self.handshake = self.tls.is_some().then_some(context.ticks);
                self.next = Next::More;
            }
            None => self.is_closing = true,
        }
    }

    /// Sends as much as goes.
    ///
    /// # Errors
    /// The connection is over.
    pub fn send(&mut self, context: &IoContext<'_>) -> Result<(), Over> {
        if self.is_held_up() {
            return Ok(());
        }
        let sent = match self.tls.is_some() || self.deflate.is_some() {
            false => self.send_plain(context),
            true => self.send_through(context),
        };
        if sent.is_err() {
            self.out.clear();
        }
        sent
    }

    fn send_plain(&mut self, context: &IoContext<'_>) -> Result<(), Over> {
        loop {
            let sent = match self.out.first_shared() {
                Some((lent, range)) if lent.file().is_some() => {
                    send_lent(&self.socket, lent, range)?
                }
                _ => {
                    let mut slices = [IoSlice::new(b""); SLICES];
                    let mut count = 0;
                    for (slice, bytes) in slices.iter_mut().zip(self.out.ready_text()) {
                        *slice = IoSlice::new(bytes);
                        count += 1;
                    }
                    let slices = slices.get(..count).unwrap_or_default();
                    if slices.is_empty() {
                        return Ok(());
                    }
                    again(rustix::io::writev(&self.socket, slices))?
                }
            };
            let Some(count) = sent else {
                return Ok(());
            };
            self.out.sent(count);
            self.has_sent(count, context);
            if self.is_held_up() {
                return Ok(());
            }
        }
    }

    /// True while nothing is sent, because it got too much already.
    fn is_held_up(&self) -> bool {
        self.client.rests_until.is_some() && self.client.reading.is_some()
    }

    fn has_sent(&mut self, count: usize, context: &IoContext<'_>) {
        self.client.tally.add(What::SentBytes, count as u64);
        // Who takes a byte now and then keeps its buffers for ever else.
        self.got_on(count, context.ticks);
        if !self.has_output() {
            self.active = context.ticks;
        }
        if let Some(pace) = &mut self.client.reading {
            let wait = pace.take(count as u64, Instant::now());
            self.client.rest(wait, context.ticks);
        }
    }

    /// So many bytes of something long went through. On a slow line they come a few hundred at a time.
    fn got_on(&mut self, count: usize, ticks: u64) {
        self.progress += count;
        if self.progress >= PROGRESS_BYTES {
            self.progress = 0;
            self.active = ticks;
        }
    }

    fn send_through(&mut self, context: &IoContext<'_>) -> Result<(), Over> {
        loop {
            if self.staged_sent >= self.staged.len() {
                self.staged.clear();
                self.staged_sent = 0;
                self.staged.shrink_to(STAGED_BYTES);
                self.stage()?;
                if self.staged.is_empty() {
                    self.staged = Vec::new();
                    return Ok(());
                }
            }
            let bytes = self.staged.get(self.staged_sent..).unwrap_or_default();
            match again(rustix::io::write(&self.socket, bytes))? {
                Some(count) => {
                    self.staged_sent += count;
                    self.has_sent(count, context);
                    if self.is_held_up() {
                        return Ok(());
                    }
                }
                None => return Ok(()),
            }
        }
    }

    /// Makes the last form of some of what waits.
    fn stage(&mut self) -> Result<(), Over> {
        while self.staged.len() < STAGED_BYTES {
            let Some(piece) = self.out.ready().next() else {
                break;
            };
            let piece = piece
                .get(..STAGED_BYTES.min(piece.len()))
                .unwrap_or_default();
            let count = piece.len();
            match (&mut self.deflate, &mut self.tls) {
                (None, None) => self.staged.extend_from_slice(piece),
                (None, Some(tls)) => tls.seal(piece, &mut self.staged).map_err(|_| Over)?,
                (Some(deflate), None) => deflate.deflate(piece, &mut self.staged, false),
                (Some(deflate), Some(tls)) => {
                    let mut packed = Vec::new();
                    deflate.deflate(piece, &mut packed, false);
                    tls.seal(&packed, &mut self.staged).map_err(|_| Over)?;
                }
            }
            // Looked at behind the copy: what was taken away before is not in it. Nothing of it is sent then.
            let is_gone = self
                .out
                .first_shared()
                .is_some_and(|(lent, _)| !lent.is_valid());
            if is_gone {
                return Err(Over);
            }
            self.out.sent(count);
            if !self.out.is_ready() {
                self.flush_deflate()?;
            }
        }
        if let Some(tls) = &mut self.tls {
            tls.pending(&mut self.staged);
        }
        Ok(())
    }

    fn flush_deflate(&mut self) -> Result<(), Over> {
        match (&mut self.deflate, &mut self.tls) {
            (Some(deflate), None) => deflate.deflate(b"", &mut self.staged, true),
            (Some(deflate), Some(tls)) => {
                let mut packed = Vec::new();
                deflate.deflate(b"", &mut packed, true);
                tls.seal(&packed, &mut self.staged).map_err(|_| Over)?;
            }
            (None, _) => {}
        }
        Ok(())
    }

    /// Says the last of TLS, as far as the socket takes it at once.
    pub fn end_layers(&mut self) {
        if let Some(tls) = &mut self.tls {
            let mut last = Vec::new();
            tls.close(&mut last);
            let _ = rustix::io::write(&self.socket, &last);
        }
    }

    /// True while as much of it is on the way to the disk as may be.
    fn is_full(&self) -> bool {
        self.client.on_the_way.1 >= ON_THE_WAY_BYTES_MAX
    }

    /// True while input is wanted.
    fn reads(&self) -> bool {
        let rests = self.client.rests_until.is_some();
        self.next == Next::More && !rests && !self.is_closing && !self.is_at_end && !self.is_full()
    }

    /// True when it has nothing to wait for: a long answer is not written to its end, and all of it so far is sent.
    pub fn wants_turn(&self) -> bool {
        self.next == Next::Yield && !self.has_output()
    }

    /// What it waits for.
    pub fn wants(&self) -> Wants {
        Wants {
            read: self.reads(),
            write: self.has_output() && !self.is_held_up(),
        }
    }
}

/// Reads once, at most to the end of the buffer.
fn receive(socket: &OwnedFd, into: &mut Vec<u8>, most: usize) -> Result<usize, Errno> {
    if most > READER_READ_BYTES {
        return rustix::io::read(socket, spare_capacity(into));
    }
    let mut some = [0; READER_READ_BYTES];
    let count = rustix::io::read(socket, &mut some)?;
    into.extend_from_slice(some.get(..count).unwrap_or_default());
    Ok(count)
}

/// `None`: not now.
fn again(done: Result<usize, Errno>) -> Result<Option<usize>, Over> {
    match done {
        Ok(count) => Ok(Some(count)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(_) => Err(Over),
    }
}

/// The last bytes of what is lent are sent only when it is still there: else what was sent may be wrong, and the client must see that
/// it is not whole.
const LAST_BYTES: usize = 5;

fn send_lent(
    to: &OwnedFd,
    lent: &Arc<dyn nntp::SharedBytes>,
    range: std::ops::Range<usize>,
) -> Result<Option<usize>, Over> {
    let Some((file, offset)) = lent.file() else {
        return Ok(None);
    };
    if range.len() > LAST_BYTES {
        let mut at = offset + range.start as u64;
        let sent = rustix::fs::sendfile(to, file.as_fd(), Some(&mut at), range.len() - LAST_BYTES);
        return match again(sent)? {
            // The file is shorter than it was.
            Some(0) => Err(Over),
            sent => Ok(sent),
        };
    }
    if !lent.is_valid() {
        return Err(Over);
    }
    let last = lent.bytes().get(range).unwrap_or_default();
    again(rustix::io::write(to, last))
}
