//! A reader whose first bytes can be inspected.

use std::io::{self, Read};

/// Number of bytes that can be inspected: the longest wrapper line with some room, and a magic.
const HEAD_BYTES: usize = 96;

/// Reads as `inner` does; [`PeekReader::head`] returns the next bytes without consuming them.
#[derive(Debug)]
pub(super) struct PeekReader<R> {
    inner: R,
    head: [u8; HEAD_BYTES],
    start: usize,
    end: usize,
    at_end: bool,
    error: Option<io::Error>,
}

impl<R> PeekReader<R> {
    pub(super) fn new(inner: R) -> PeekReader<R> {
        PeekReader {
            inner,
            head: [0; HEAD_BYTES],
            start: 0,
            end: 0,
            at_end: false,
            error: None,
        }
    }

    /// Skips `bytes` of the head.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.start = self.start.saturating_add(bytes).min(self.end);
    }

    /// Whether an error has occurred that a later read will return.
    pub(super) fn will_fail(&self) -> bool {
        self.error.is_some()
    }

    pub(super) fn inner(&self) -> &R {
        &self.inner
    }
}

impl<R: Read> PeekReader<R> {
    /// The next bytes; fewer than [`HEAD_BYTES`] only where the input ends or fails.
    pub(super) fn head(&mut self) -> &[u8] {
        self.head.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        while !self.at_end {
            let free = self.head.get_mut(self.end..).unwrap_or_default();
            if free.is_empty() {
                break;
            }
            match self.inner.read(free) {
                Ok(0) => self.at_end = true,
                Ok(read) => self.end = self.end.saturating_add(read).min(HEAD_BYTES),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.error = Some(error);
                    self.at_end = true;
                }
            }
        }
        self.head.get(..self.end).unwrap_or_default()
    }
}

impl<R: Read> Read for PeekReader<R> {
    #[inline]
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.start < self.end {
            let read = self
                .head
                .get(self.start..self.end)
                .unwrap_or_default()
                .read(out)?;
            self.start = self.start.saturating_add(read);
            return Ok(read);
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        self.inner.read(out)
    }
}
