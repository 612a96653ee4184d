//! One connection: a socket, its layers (TLS, compression), the session, and the buffers between them.
//!
//! *Invariant:* an idle connection holds no buffers. Input is read into a buffer of the network thread; only unconsumed input stays
//! here.

mod incomplete;
mod receive;
mod send;
mod status;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use nntp::{LoginResult, Next, OUT_BYTES_MAX, OutBuffer, Processed, Session};

use crate::article_batch::{ArticleBatch, BatchBuilder};
use crate::client::Client;
use crate::mailbox::Mailbox;
use crate::shared::Shared;
use crate::thread_store::{SessionContext, ThreadStore};
use layers::deflate::Deflate;
use layers::tls::Tls;

/// Size of a read from a socket, bytes: 1 MiB.
pub const READ_BYTES: usize = 1 << 20;
/// Articles of one read below this total are copied into a batch, bytes: 128 KiB. Above it, the batch takes the input buffer.
const COPIED_BATCH_BYTES: usize = 128 << 10;
/// Articles of a connection that wait for their commit, bytes: 16 MiB. Above it, the connection is not read.
pub const IN_FLIGHT_BYTES_MAX: usize = 16 << 20;
/// Reply to a client without permissions.
pub const NO_ACCESS: &[u8] = b"502 Permission denied\r\n";
/// Level of compression: low, since a server has many readers.
const DEFLATE_LEVEL: u32 = 3;
/// Bytes sent or received that reset the idle time.
const PROGRESS_BYTES: usize = 1024;

/// The socket events that a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interest {
    /// The socket is readable.
    pub read: bool,
    /// The socket is writable.
    pub write: bool,
}

/// The connection has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed;

/// The network thread's resources, lent to a connection for a time slice.
pub struct IoContext<'t> {
    /// The store.
    pub store: &'t mut ThreadStore,
    /// An empty buffer for input.
    pub input: &'t mut Vec<u8>,
    /// An empty buffer for encrypted or compressed input.
    pub raw: &'t mut Vec<u8>,
    /// Input buffers returned by the writer.
    pub spare: &'t mut Vec<Vec<u8>>,
    /// Collects received articles.
    pub batch_builder: &'t mut BatchBuilder,
    /// State shared by all threads.
    pub shared: &'t Shared,
    /// The thread's mailbox.
    pub mailbox: &'t Arc<Mailbox>,
    /// Seconds since 1970.
    pub now: i64,
    /// Time, ms of the monotonic clock.
    pub ticks: u64,
    /// End of the time slice.
    pub until: Instant,
}

fn session_context<'a>(
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
    /// The client.
    pub client: Client,
    out: OutBuffer,
    /// Unconsumed input.
    unconsumed: Vec<u8>,
    /// Its incomplete input is counted in `Shared::held`.
    is_held: bool,
    /// When the incomplete input began, ms.
    held_since: u64,
    /// Start of an incomplete TLS handshake, ms.
    handshake: Option<u64>,
    tls: Option<Box<Tls>>,
    deflate: Option<Box<Deflate>>,
    /// Compressed input, not yet decompressed.
    compressed: Vec<u8>,
    /// The decompressor has more output.
    has_more_compressed: bool,
    /// Encrypted or compressed output; `staged_sent` bytes of it are sent.
    staged: Vec<u8>,
    staged_sent: usize,
    next: Next,
    is_greeted: bool,
    has_spoken: bool,
    /// The client has closed its side.
    is_at_end: bool,
    /// The connection ends after all output is sent.
    is_closing: bool,
    /// Time of the last progress, ms.
    pub active: u64,
    /// Bytes sent or received since then.
    progress: usize,
    /// The events registered with epoll.
    pub registered: Interest,
    /// A timer for the end of its suspension is set.
    pub has_suspension_timer: bool,
    /// A timer for the release of its compressor is set.
    pub has_deflate_timer: bool,
    /// It is in the queue of unfinished replies.
    pub is_queued: bool,
    /// A timer for its TLS handshake is set.
    pub has_handshake_timer: bool,
    /// It is in the list of peers that are not read, because too many articles are in flight.
    pub is_paused: bool,
}

impl Connection {
    /// An accepted connection.
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
            unconsumed: Vec::new(),
            is_held: false,
            held_since: ticks,
            handshake: tls.is_some().then_some(ticks),
            tls,
            deflate: None,
            compressed: Vec::new(),
            has_more_compressed: false,
            is_greeted: false,
            has_spoken: false,
            staged: Vec::new(),
            staged_sent: 0,
            next: Next::More,
            is_at_end: false,
            is_closing: false,
            active: ticks,
            progress: 0,
            registered: Interest {
                read: true,
                write: false,
            },
            has_suspension_timer: false,
            has_deflate_timer: false,
            is_queued: false,
            has_handshake_timer: false,
            is_paused: false,
        }
    }

    /// The socket.
    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Sends the greeting.
    pub fn greet(&mut self) {
        self.is_greeted = true;
        self.session.greet(&mut self.out);
    }

    /// True if a command was received.
    pub fn has_spoken(&self) -> bool {
        self.is_greeted && self.has_spoken
    }

    /// Completes the pending reply to a login.
    pub fn logged_in(&mut self, result: &LoginResult) {
        self.session.logged_in(result, &mut self.out);
    }

    /// Ends the connection after a last line, which is omitted while a reply is pending, and in a long reply, of which it would be a line.
    pub fn close_after(&mut self, line: &[u8]) {
        let is_in_reply = self.session.activity().doing == nntp::Doing::Replying;
        if !self.out.has_pending_reply() && !is_in_reply {
            self.out.push(line);
        }
        self.is_closing = true;
    }

    /// True while it waits for this server and not for the client: a reply waits for the writer or a login, a command is at work and has
    /// nothing to send yet, or it is not read.
    pub fn waits_for_server(&self) -> bool {
        let is_at_work = matches!(self.next, Next::Yield | Next::Fetch) && !self.has_output();
        self.out.has_pending_reply() || self.is_paused || is_at_work
    }

    /// True if the client sends articles as a peer, and not only may.
    pub fn is_transferring(&self) -> bool {
        self.session.permissions().sends && self.session.is_transferring()
    }

    /// The session's output.
    pub fn out(&mut self) -> &mut OutBuffer {
        &mut self.out
    }

    /// True while unsent output could be sent.
    pub fn has_output(&self) -> bool {
        self.staged.len() > self.staged_sent || self.out.is_ready()
    }

    /// Returns `Closed` if the client has closed its side and all replies are sent.
    fn check_end(&self) -> Result<(), Closed> {
        let is_answered =
            self.next == Next::More && !self.has_output() && !self.out.has_pending_reply();
        if self.is_at_end && is_answered {
            Err(Closed)
        } else {
            Ok(())
        }
    }

    /// Start of an incomplete TLS handshake, ms.
    pub fn handshake(&self) -> Option<u64> {
        self.handshake
    }

    /// True if its compressor holds memory.
    pub fn has_compressor(&self) -> bool {
        self.deflate
            .as_ref()
            .is_some_and(|deflate| deflate.has_compressor())
    }

    /// Releases the compressor after `quiet` ms without traffic; returns false if there was some.
    pub fn release_deflate(&mut self, quiet: u64, ticks: u64) -> bool {
        let deflate = self.deflate.as_mut();
        ticks >= self.active + quiet && deflate.is_none_or(|deflate| deflate.release())
    }

    /// Continues after the socket became writable, a reply was completed, or a new time slice began.
    ///
    /// # Errors
    /// The connection is over.
    pub fn resume(&mut self, context: &mut IoContext<'_>) -> Result<(), Closed> {
        self.send(context)?;
        // Replies that are held behind a pending one cannot be sent: then the session goes on, up to `Next::Drain`.
        if matches!(self.next, Next::Drain | Next::Yield)
            && self.has_output()
            && self.out.len() >= OUT_BYTES_MAX / 2
        {
            return Ok(());
        }
        let input = std::mem::take(&mut self.unconsumed);
        self.process_input(context, input)?;
        self.check_end()
    }

    /// Runs the session on the input and sends its output, until one of them has to wait.
    fn process_input(
        &mut self,
        context: &mut IoContext<'_>,
        mut input: Vec<u8>,
    ) -> Result<(), Closed> {
        let mut used = 0;
        loop {
            let taken = match self.is_closing {
                true => Processed {
                    used: input.len().saturating_sub(used),
                    next: Next::Close,
                },
                // The reply is not sent yet; the input after it belongs to TLS or is compressed.
                false if matches!(self.next, Next::StartTls | Next::Compress) => Processed {
                    used: 0,
                    next: self.next,
                },
                false => self.run_session(context, input.get(used..).unwrap_or_default()),
            };
            if !context.batch_builder.is_empty() {
                // Ranges in the batch are relative to the session's input.
                let mut batch = self.make_batch(context, &mut input, used, taken.used);
                if !batch.has_posts_only() {
                    batch.origin = Some(self.client.origin.clone());
                }
                batch.is_followed = !input.is_empty() && !self.has_full_pipeline();
                used = 0;
                self.submit(context, batch);
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
                return Err(Closed);
            }
            match taken.next {
                Next::Drain if self.out.len() < OUT_BYTES_MAX => {}
                Next::StartTls if !self.has_output() => {
                    self.start_tls(context);
                    used = input.len();
                    break;
                }
                Next::Compress if !self.has_output() => {
                    self.compressed = input.get(used..).unwrap_or_default().to_vec();
                    input.clear();
                    used = 0;
                    self.deflate = Some(Box::new(Deflate::new(DEFLATE_LEVEL)));
                    self.unpack(&mut input);
                    self.session.begin_compression();
                    self.next = Next::More;
                }
                // A small compressed input may be large: it waits for articles in flight, too.
                Next::More if self.has_more_compressed && !self.has_full_pipeline() => {
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
                        return Err(Closed);
                    }
                    break;
                }
                _ => break,
            }
        }
        self.put_back(context, input, used);
        Ok(())
    }

    fn run_session(&mut self, context: &mut IoContext<'_>, input: &[u8]) -> Processed {
        self.renew_capabilities(context);
        let mut session_context = session_context(&mut self.client, context, input);
        self.session
            .process(input, &mut session_context, &mut self.out)
    }

    /// Offers what the client's permissions of now allow.
    fn renew_capabilities(&mut self, context: &IoContext<'_>) {
        if std::mem::take(&mut self.client.are_rights_new) {
            let capabilities = context.shared.capabilities_for(&self.client.rights);
            self.session.set_capabilities(capabilities);
        }
    }

    /// Makes a batch of the session's input: `used` bytes at offset `from` of `input`. The rest moves to the front of `input`.
    fn make_batch(
        &mut self,
        context: &mut IoContext<'_>,
        input: &mut Vec<u8>,
        from: usize,
        used: usize,
    ) -> ArticleBatch {
        let end = from + used;
        if context.batch_builder.article_bytes() < COPIED_BATCH_BYTES {
            let batch = {
                let given = input.get(from..).unwrap_or_default();
                context
                    .batch_builder
                    .with_copy(given, context.mailbox.clone())
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
        context.batch_builder.with(bytes, context.mailbox.clone())
    }

    fn submit(&mut self, context: &mut IoContext<'_>, batch: ArticleBatch) {
        let in_flight = &context.shared.in_flight;
        in_flight.fetch_add(batch.transfer_bytes(), Ordering::Relaxed);
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

    /// Counts traffic. On a slow line it is a few hundred bytes at a time.
    fn note_progress(&mut self, count: usize, ticks: u64) {
        self.progress += count;
        if self.progress >= PROGRESS_BYTES {
            self.progress = 0;
            self.active = ticks;
        }
    }

    /// True while its articles in flight have reached their limit.
    fn has_full_pipeline(&self) -> bool {
        self.client.in_flight.1 >= IN_FLIGHT_BYTES_MAX
    }

    /// True while input is wanted.
    fn wants_input(&self) -> bool {
        let rests = self.client.suspended_until.is_some();
        self.next == Next::More
            && !rests
            && !self.is_closing
            && !self.is_at_end
            && !self.has_full_pipeline()
    }

    /// True if a long reply is unfinished and all output so far is sent: it waits for nothing but a time slice.
    pub fn has_unfinished_reply(&self) -> bool {
        self.next == Next::Yield && !self.has_output()
    }

    /// The socket events that it waits for.
    pub fn interest(&self) -> Interest {
        Interest {
            read: self.wants_input(),
            write: self.has_output() && !self.is_output_suspended(),
        }
    }
}
