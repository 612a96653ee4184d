//! Drives a decoder: feeds it, counts both sides, holds it to the limits.

use std::fmt;
use std::io::{self, Read};

use super::codec::{Codec, Outcome, Step};
use super::{Kind, RATIO_FREE_BYTES, WrapError, WrapLimits, decoder, magic};

/// Compressed bytes read at a time.
const INPUT_BYTES: usize = 64 << 10;
/// Enough to recognise the next member by its magic.
const MAGIC_BYTES: usize = 10;

/// Reads the expansion of `reader`'s bytes.
///
/// Whatever a decoder gave before it met damage is delivered first, then the error, then the error
/// again for ever.
pub(super) struct Expander<R> {
    reader: R,
    kind: Kind,
    codec: Box<dyn Codec + Send>,
    limits: WrapLimits,
    input: Vec<u8>,
    start: usize,
    end: usize,
    at_end: bool,
    /// How the reader failed, to be told once all before it is delivered.
    read_error: Option<io::Error>,
    taken: u64,
    given: u64,
    state: State,
}

#[derive(Debug, Clone)]
enum State {
    /// Inside compressed data.
    Within,
    /// Past the end of a member; another may follow.
    Between,
    Over,
    Failed(WrapError),
}

impl<R: Read> Expander<R> {
    pub(super) fn new(kind: Kind, reader: R, limits: WrapLimits) -> Result<Expander<R>, WrapError> {
        Ok(Expander {
            reader,
            kind,
            codec: decoder::of(kind)?,
            limits,
            input: vec![0; INPUT_BYTES],
            start: 0,
            end: 0,
            at_end: false,
            read_error: None,
            taken: 0,
            given: 0,
            state: State::Within,
        })
    }

    /// Reads more input behind what is left of it. Does nothing once the input has ended.
    fn fill(&mut self) {
        if self.at_end {
            return;
        }
        self.input.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let free = self.input.get_mut(self.end..).unwrap_or_default();
        match self.reader.read(free) {
            Ok(0) => self.at_end = true,
            Ok(read) => self.end = self.end.saturating_add(read).min(INPUT_BYTES),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                self.read_error = Some(error);
                self.at_end = true;
            }
        }
    }

    fn unread(&self) -> &[u8] {
        self.input.get(self.start..self.end).unwrap_or_default()
    }

    fn take(&mut self, bytes: usize) {
        self.start = self.start.saturating_add(bytes).min(self.end);
        self.taken = self.taken.saturating_add(bytes as u64);
    }

    /// One step of the decoder; the bytes it put into `out`.
    fn step(&mut self, out: &mut [u8]) -> usize {
        if self.start == self.end {
            self.fill();
        }
        let input = self.input.get(self.start..self.end).unwrap_or_default();
        let Step {
            taken,
            given,
            outcome,
        } = self.codec.step(input, out, self.at_end);
        self.take(taken);
        self.given = self.given.saturating_add(given as u64);
        match outcome {
            Outcome::Going if taken == 0 && given == 0 && self.at_end => self.state = self.torn(),
            Outcome::Going => {}
            Outcome::Done => self.state = State::Between,
            Outcome::Torn => self.state = self.torn(),
            Outcome::Damaged(what) => self.state = self.damaged(what),
        }
        if let Some(error) = self.beyond_limits() {
            self.state = State::Failed(error);
        }
        given
    }

    /// Looks for a further member. Padding of zeros or line ends, as block devices and mail leave
    /// it, is passed over.
    fn between(&mut self) {
        while self.unread().len() < MAGIC_BYTES && !self.at_end {
            self.fill();
        }
        let padding = self
            .unread()
            .iter()
            .take_while(|&&byte| matches!(byte, 0 | b'\n' | b'\r'))
            .count();
        if padding > 0 {
            self.take(padding);
        } else if self.unread().is_empty() {
            self.state = if self.read_error.is_some() {
                self.torn()
            } else {
                State::Over
            };
        } else if magic(self.unread()) != Some(self.kind) {
            self.state = self.damaged("something else follows the end of the data".into());
        } else {
            self.state = match decoder::of(self.kind) {
                Ok(codec) => {
                    self.codec = codec;
                    State::Within
                }
                Err(error) => State::Failed(error),
            };
        }
    }

    fn torn(&self) -> State {
        State::Failed(WrapError::Torn {
            kind: self.kind,
            at: self.taken,
            expanded: self.given,
        })
    }

    fn damaged(&self, what: String) -> State {
        State::Failed(WrapError::Damaged {
            kind: self.kind,
            what,
            at: self.taken,
            expanded: self.given,
        })
    }

    fn beyond_limits(&self) -> Option<WrapError> {
        let (kind, limits) = (self.kind, self.limits);
        if self.given > limits.expanded_bytes_max {
            return Some(WrapError::TooBig {
                kind,
                limit: limits.expanded_bytes_max,
            });
        }
        let dense = self.given > RATIO_FREE_BYTES
            && self.given > self.taken.saturating_mul(limits.ratio_max);
        dense.then_some(WrapError::TooDense {
            kind,
            limit: limits.ratio_max,
            at: self.taken,
            expanded: self.given,
        })
    }
}

impl<R: Read> Read for Expander<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            match &self.state {
                State::Within => {
                    let given = self.step(out);
                    if given > 0 {
                        return Ok(given);
                    }
                }
                State::Between => self.between(),
                State::Over => return Ok(0),
                State::Failed(error) => {
                    // A failed read looks like torn data; the read's own error says more.
                    return Err(match &self.read_error {
                        Some(error) => again(error),
                        None => error.clone().into(),
                    });
                }
            }
        }
    }
}

/// The same error once more; an [`io::Error`] cannot be cloned.
fn again(error: &io::Error) -> io::Error {
    match (WrapError::of(error), error.raw_os_error()) {
        (Some(error), _) => error.clone().into(),
        (None, Some(code)) => io::Error::from_raw_os_error(code),
        (None, None) => io::Error::new(error.kind(), error.to_string()),
    }
}

impl<R> fmt::Debug for Expander<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expander")
            .field("kind", &self.kind)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}
