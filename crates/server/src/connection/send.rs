//! Sends output: plain, or through compression and TLS.

use std::io::IoSlice;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

use rustix::io::Errno;

use crate::counts::Counter;

use super::{Closed, Connection, IoContext};

/// Approximate size of staged output (encrypted, compressed), bytes: 64 KiB.
const STAGED_BYTES: usize = 64 << 10;
/// Buffers sent by one call of writev.
const SLICES: usize = 64;
/// The last bytes of a shared range, sent only if the range is still valid: otherwise the client must see a truncated reply.
const LAST_BYTES: usize = 5;

impl Connection {
    /// Sends as much output as the socket takes.
    ///
    /// # Errors
    /// The connection is over.
    pub fn send(&mut self, context: &IoContext<'_>) -> Result<(), Closed> {
        if self.is_output_suspended() {
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

    pub(super) fn send_plain(&mut self, context: &IoContext<'_>) -> Result<(), Closed> {
        loop {
            let sent = match self.out.first_shared() {
                Some((shared, range)) if shared.file().is_some() => {
                    send_shared(&self.socket, shared, range)?
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
            if self.is_output_suspended() {
                return Ok(());
            }
        }
    }

    /// True while the rate limit on sent bytes suspends output.
    pub(super) fn is_output_suspended(&self) -> bool {
        self.client.suspended_until.is_some() && self.client.reading.is_some()
    }

    pub(super) fn has_sent(&mut self, count: usize, context: &IoContext<'_>) {
        self.client.tally.add(Counter::SentBytes, count as u64);
        // Otherwise a client that reads single bytes would keep its buffers for ever.
        self.note_progress(count, context.ticks);
        if !self.has_output() {
            self.active = context.ticks;
        }
        if let Some(pace) = &mut self.client.reading {
            let wait = pace.take(count as u64, Instant::now());
            self.client.suspend(wait, context.ticks);
        }
    }

    pub(super) fn send_through(&mut self, context: &IoContext<'_>) -> Result<(), Closed> {
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
                    if self.is_output_suspended() {
                        return Ok(());
                    }
                }
                None => return Ok(()),
            }
        }
    }

    /// Compresses and encrypts a part of the output.
    pub(super) fn stage(&mut self) -> Result<(), Closed> {
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
                (None, Some(tls)) => tls.seal(piece, &mut self.staged).map_err(|_| Closed)?,
                (Some(deflate), None) => deflate.deflate(piece, &mut self.staged, false),
                (Some(deflate), Some(tls)) => {
                    let mut packed = Vec::new();
                    deflate.deflate(piece, &mut packed, false);
                    tls.seal(&packed, &mut self.staged).map_err(|_| Closed)?;
                }
            }
            // Checked after the copy: if the bytes were removed before, nothing of the copy is sent.
            let is_invalid = self
                .out
                .first_shared()
                .is_some_and(|(shared, _)| !shared.is_valid());
            if is_invalid {
                return Err(Closed);
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

    pub(super) fn flush_deflate(&mut self) -> Result<(), Closed> {
        match (&mut self.deflate, &mut self.tls) {
            (Some(deflate), None) => deflate.deflate(b"", &mut self.staged, true),
            (Some(deflate), Some(tls)) => {
                let mut packed = Vec::new();
                deflate.deflate(b"", &mut packed, true);
                tls.seal(&packed, &mut self.staged).map_err(|_| Closed)?;
            }
            (None, _) => {}
        }
        Ok(())
    }

    /// Sends close_notify, if the socket takes it at once.
    pub fn end_layers(&mut self) {
        if let Some(tls) = &mut self.tls {
            let mut last = Vec::new();
            tls.close(&mut last);
            let _ = rustix::io::write(&self.socket, &last);
        }
    }
}

/// Maps EAGAIN and EINTR to `None`.
fn again(done: Result<usize, Errno>) -> Result<Option<usize>, Closed> {
    match done {
        Ok(count) => Ok(Some(count)),
        Err(Errno::AGAIN | Errno::INTR) => Ok(None),
        Err(_) => Err(Closed),
    }
}

fn send_shared(
    to: &OwnedFd,
    shared: &Arc<dyn nntp::SharedBytes>,
    range: std::ops::Range<usize>,
) -> Result<Option<usize>, Closed> {
    let Some((file, offset)) = shared.file() else {
        return Ok(None);
    };
    if range.len() > LAST_BYTES {
        let mut at = offset + range.start as u64;
        let sent = rustix::fs::sendfile(to, file.as_fd(), Some(&mut at), range.len() - LAST_BYTES);
        return match again(sent)? {
            // The file was truncated.
            Some(0) => Err(Closed),
            sent => Ok(sent),
        };
    }
    if !shared.is_valid() {
        return Err(Closed);
    }
    let last = shared.bytes().get(range).unwrap_or_default();
    again(rustix::io::write(to, last))
}
