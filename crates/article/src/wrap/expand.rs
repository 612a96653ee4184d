//! Runs a decoder: supplies its input, counts both sides, enforces the limits.

use std::fmt;
use std::io::{self, Read};

use super::codec::{Codec, CodecStatus, Progress};
use super::trailer::{TRAILER_BYTES_MAX, Trailer, is_text};
use super::{
    Compression, MEMBER_BYTES, MEMBERS_MAX, RATIO_FREE_BYTES, WrapError, WrapLimits, decoder, magic,
};

/// Compressed bytes read at a time.
const INPUT_BYTES: usize = 64 << 10;
/// Bytes needed to recognise the next member by its magic.
const MAGIC_BYTES: usize = 14;

/// Reads the expansion of `reader`'s bytes.
///
/// Returns everything decoded before an error first, then the error, and repeats the error on
/// every later read.
pub(super) struct Expander<R> {
    reader: R,
    kind: Compression,
    codec: Box<dyn Codec + Send>,
    limits: WrapLimits,
    input: Vec<u8>,
    start: usize,
    end: usize,
    at_end: bool,
    /// The error of the reader, returned after everything before it.
    read_error: Option<io::Error>,
    consumed: u64,
    produced: u64,
    /// The members so far.
    members: u64,
    state: State,
    /// Text behind the end of the data.
    trailer: Option<Trailer>,
}

#[derive(Debug, Clone)]
enum State {
    /// Inside a member.
    InMember,
    /// After the end of a member; another may follow.
    BetweenMembers,
    Finished,
    Failed(WrapError),
}

impl<R> Expander<R> {
    /// The text behind the end of the data; known when everything was read.
    pub(super) fn trailer(&self) -> Option<&Trailer> {
        self.trailer.as_ref()
    }

    pub(super) fn reader(&self) -> &R {
        &self.reader
    }
}

impl<R: Read> Expander<R> {
    pub(super) fn new(
        kind: Compression,
        reader: R,
        limits: WrapLimits,
    ) -> Result<Expander<R>, WrapError> {
        Ok(Expander {
            reader,
            kind,
            codec: decoder::of(kind, limits)?,
            limits,
            input: vec![0; INPUT_BYTES],
            start: 0,
            end: 0,
            at_end: false,
            read_error: None,
            consumed: 0,
            produced: 0,
            members: 1,
            state: State::InMember,
            trailer: None,
        })
    }

    /// Reads more input after the unread part. Does nothing after the end of the input.
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
        self.consumed = self.consumed.saturating_add(bytes as u64);
    }

    /// Runs one step of the decoder; returns the number of bytes written to `out`.
    fn step(&mut self, out: &mut [u8]) -> usize {
        if self.start == self.end {
            self.fill();
        }
        let input = self.input.get(self.start..self.end).unwrap_or_default();
        let Progress {
            consumed,
            produced,
            status,
        } = self.codec.step(input, out, self.at_end);
        self.take(consumed);
        self.produced = self.produced.saturating_add(produced as u64);
        match status {
            CodecStatus::Continue if consumed == 0 && produced == 0 && self.at_end => {
                self.state = self.truncated()
            }
            CodecStatus::Continue => {}
            CodecStatus::Done => self.state = State::BetweenMembers,
            CodecStatus::DoneBefore(bytes) => self.end_before(bytes),
            CodecStatus::NeedsMemory(needed) => {
                self.state = State::Failed(WrapError::NeedsMemory {
                    kind: self.kind,
                    needed,
                    limit: self.limits.memory_bytes_max,
                });
            }
            CodecStatus::Truncated => self.state = self.truncated(),
            CodecStatus::Damaged(what) => self.state = self.damaged(what),
        }
        if let Some(error) = self.limit_error() {
            self.state = State::Failed(error);
        }
        produced
    }

    /// Looks for another member. Skips padding of zeros or line ends, which block devices and mail leave.
    fn next_member(&mut self) {
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
                self.truncated()
            } else {
                State::Finished
            };
        } else if magic(self.unread()) != Some(self.kind) {
            self.end_with_other_data();
        } else {
            self.begin_member();
        }
    }

    /// Ends where bytes follow that are no member: text is ignored, all else is an error.
    fn end_with_other_data(&mut self) {
        while self.unread().len() <= TRAILER_BYTES_MAX && !self.at_end {
            self.fill();
        }
        let rest = self.unread();
        // The magic of bzip2 is text.
        let is_cut_member = self.kind == Compression::Bzip2 && rest.starts_with(b"BZh");
        self.state = if self.read_error.is_some() {
            self.truncated()
        } else if self.produced == 0 {
            self.damaged("unknown data follows the end".into())
        } else if rest.len() > TRAILER_BYTES_MAX || is_cut_member || !is_text(rest) {
            State::Failed(WrapError::FollowedByData {
                kind: self.kind,
                at: self.consumed,
                expanded: self.produced,
            })
        } else {
            self.trailer = Some(Trailer {
                kind: self.kind,
                at: self.consumed,
                bytes: rest.to_vec(),
            });
            State::Finished
        };
    }

    /// Ends with data whose decoder took its last bytes for text of another program.
    fn end_before(&mut self, bytes: Vec<u8>) {
        if self.read_error.is_some() {
            self.state = self.truncated();
            return;
        }
        self.trailer = Some(Trailer {
            kind: self.kind,
            at: self.consumed.saturating_sub(bytes.len() as u64),
            bytes,
        });
        self.state = State::Finished;
    }

    fn begin_member(&mut self) {
        self.members = self.members.saturating_add(1);
        self.state = match self.kind {
            // Its decoder goes on with the next frame.
            Compression::Zstd => State::InMember,
            Compression::Bzip2 | Compression::Xz if self.has_too_many_members() => {
                State::Failed(WrapError::TooManyMembers {
                    kind: self.kind,
                    at: self.consumed,
                })
            }
            kind => match decoder::of(kind, self.limits) {
                Ok(codec) => {
                    self.codec = codec;
                    State::InMember
                }
                Err(error) => State::Failed(error),
            },
        };
    }

    fn has_too_many_members(&self) -> bool {
        self.members > MEMBERS_MAX && self.produced < self.members.saturating_mul(MEMBER_BYTES)
    }

    fn truncated(&self) -> State {
        State::Failed(WrapError::Truncated {
            kind: self.kind,
            at: self.consumed,
            expanded: self.produced,
        })
    }

    fn damaged(&self, what: String) -> State {
        State::Failed(WrapError::Damaged {
            kind: self.kind,
            what,
            at: self.consumed,
            expanded: self.produced,
        })
    }

    fn limit_error(&self) -> Option<WrapError> {
        let (kind, limits) = (self.kind, self.limits);
        if self.produced > limits.expanded_bytes_max {
            return Some(WrapError::TooLarge {
                kind,
                limit: limits.expanded_bytes_max,
            });
        }
        let dense = self.produced > RATIO_FREE_BYTES
            && self.produced > self.consumed.saturating_mul(limits.ratio_max);
        dense.then_some(WrapError::RatioExceeded {
            kind,
            limit: limits.ratio_max,
            at: self.consumed,
            expanded: self.produced,
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
                State::InMember => {
                    let produced = self.step(out);
                    if produced > 0 {
                        return Ok(produced);
                    }
                }
                State::BetweenMembers => self.next_member(),
                State::Finished => return Ok(0),
                State::Failed(error) => {
                    // A failed read looks like truncated data; the reader's error says more.
                    return Err(match &self.read_error {
                        Some(error) => clone_error(error),
                        None => error.clone().into(),
                    });
                }
            }
        }
    }
}

/// Copies an error; [`io::Error`] is not `Clone`.
fn clone_error(error: &io::Error) -> io::Error {
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
