//! Receives input: plain, or through TLS and compression.

use std::os::fd::OwnedFd;

use rustix::buffer::spare_capacity;
use rustix::io::Errno;

use crate::client::TOO_MANY;
use crate::counts::Counter;

use super::{Closed, Connection, IoContext, NO_ACCESS, READ_BYTES};

/// Size of a read from a client that sends no articles, bytes: 8 KiB. It bounds the memory of pipelined commands.
const READER_READ_BYTES: usize = 8 << 10;
/// Unconsumed input above this stays in its buffer, which the next read extends, bytes: 64 KiB.
const IN_PLACE_BYTES: usize = 64 << 10;

impl Connection {
    /// Reads from the socket and processes the input.
    ///
    /// # Errors
    /// The connection is over.
    pub fn read(&mut self, context: &mut IoContext<'_>) -> Result<(), Closed> {
        if !self.wants_input() {
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
                self.client.tally.add(Counter::ReceivedBytes, count as u64);
                if self.session.is_receiving() {
                    self.note_progress(count, context.ticks);
                }
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => {
                self.put_back(context, input, 0);
                return Err(Closed);
            }
        }
        self.process_input(context, input)?;
        self.check_end()
    }

    /// Size of a read, bytes.
    pub(super) fn read_bytes(&self) -> usize {
        match self.session.permissions().sends || self.session.is_receiving() {
            true => READ_BYTES,
            false => READER_READ_BYTES,
        }
    }

    /// Returns the unconsumed input in a buffer with room for a read.
    pub(super) fn take_input(&mut self, context: &mut IoContext<'_>) -> Vec<u8> {
        if self.unconsumed.len() > IN_PLACE_BYTES {
            let mut input = std::mem::take(&mut self.unconsumed);
            // Grows by half, so that a large article is not copied for each read.
            let more = READ_BYTES.min(input.len() / 2).max(READ_BYTES / 4);
            input.reserve(more);
            return input;
        }
        let mut input = std::mem::take(context.input);
        input.clear();
        input.reserve(READ_BYTES);
        input.extend_from_slice(&self.unconsumed);
        self.unconsumed = Vec::new();
        input
    }

    /// Keeps the unconsumed input, and returns the buffer to the thread.
    pub(super) fn put_back(
        &mut self,
        context: &mut IoContext<'_>,
        mut input: Vec<u8>,
        used: usize,
    ) {
        let left = input.len().saturating_sub(used);
        if left > IN_PLACE_BYTES {
            input.drain(..used);
            self.unconsumed = input;
            self.account_input(context);
            return;
        }
        self.unconsumed = match input.get(used..) {
            Some(rest) if !rest.is_empty() => rest.to_vec(),
            _ => Vec::new(),
        };
        self.account_input(context);
        // A buffer that a large article has grown is freed.
        if context.input.capacity() < input.capacity() && input.capacity() <= 2 * READ_BYTES {
            input.clear();
            *context.input = input;
        }
    }

    /// Reads through TLS and compression.
    pub(super) fn read_through(
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
            None => self.compressed.extend_from_slice(context.raw),
            Some(tls) => {
                let into = if is_packed {
                    &mut self.compressed
                } else {
                    &mut *input
                };
                let was_handshaking = tls.is_handshaking();
                let fed = tls.feed(context.raw, into);
                tls.pending(&mut self.staged);
                match fed {
                    Ok(fed) => self.is_at_end |= fed.is_closed,
                    // The alert goes out first.
                    Err(_) => self.is_closing = true,
                }
                if was_handshaking && !tls.is_handshaking() {
                    self.handshake = None;
                    context.shared.handshakes.let_go(self.client.token);
                    self.client.certificate = tls.certificate();
                    self.finish_handshake(context);
                }
            }
        }
        self.unpack(input);
        Ok(count)
    }

    /// Applies the identity that the TLS handshake proved, and starts the session.
    pub(super) fn finish_handshake(&mut self, context: &mut IoContext<'_>) {
        self.client.is_secure = true;
        let is_room = self.client.enter(context.shared);
        self.session.begin_tls(self.client.permissions());
        if !is_room {
            return self.close_after(format!("400 {TOO_MANY}\r\n").as_bytes());
        }
        if self.is_greeted {
            return;
        }
        match self.client.has_no_access() {
            true => self.close_after(NO_ACCESS),
            false => {
                // The greeting depends on them.
                self.renew_capabilities(context);
                self.greet();
            }
        }
    }

    /// Decompresses input up to the size of a read. Returns whether there was any.
    pub(super) fn unpack(&mut self, input: &mut Vec<u8>) -> bool {
        let most = self.read_bytes();
        let Some(deflate) = self.deflate.as_mut() else {
            return false;
        };
        let before = input.len();
        match deflate.inflate(&self.compressed, input, before + most) {
            Ok(inflated) => {
                self.compressed.drain(..inflated.taken_bytes);
                self.compressed.shrink_to(0);
                self.has_more_compressed = inflated.is_more;
                self.is_at_end |= inflated.is_over;
            }
            Err(_) => self.is_closing = true,
        }
        input.len() > before
    }
}

/// Reads once, up to the capacity of the buffer.
fn receive(socket: &OwnedFd, into: &mut Vec<u8>, most: usize) -> Result<usize, Errno> {
    if most > READER_READ_BYTES {
        return rustix::io::read(socket, spare_capacity(into));
    }
    let mut some = [0; READER_READ_BYTES];
    let count = rustix::io::read(socket, &mut some)?;
    into.extend_from_slice(some.get(..count).unwrap_or_default());
    Ok(count)
}
