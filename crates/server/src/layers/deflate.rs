//! Compression of a connection (RFC 8054): raw DEFLATE, one endless stream each way.
//!
//! A connection that compresses takes 354 KB (with `miniz_oxide`, whatever the level; `examples/tls_speed.rs` measures), nearly all
//! of it for what it sends. One that is quiet can do without that ([`Deflate::rest`]), and takes 7 KB. Level 1 takes a tenth of the
//! time of level 6, and makes little more of replies.

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use thiserror::Error;

/// Output grows in steps of this.
const STEP_BYTES: usize = 16 << 10;
/// What the compressor holds back at most before it writes a block: the window and what is not coded yet.
const FLUSH_BYTES: usize = 192 << 10;

/// Why the client's stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Fault {
    /// No DEFLATE (RFC 1951). The connection cannot go on: nobody knows where the next command begins.
    #[error("the client's compressed stream is damaged")]
    Damaged,
}

/// What came of some compressed bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inflated {
    /// So many bytes of the input are used up; the rest is for the next call.
    pub taken_bytes: usize,
    /// The bound was reached: call again, also without input, when there is room again.
    pub is_more: bool,
    /// The client ended its stream. Nothing can follow, so the connection ends when what was said is answered.
    pub is_over: bool,
}

/// Both directions of one compressed connection.
pub struct Deflate {
    inward: Decompress,
    /// What it has said lately; none at the beginning and after a rest.
    outward: Option<Compress>,
    level: Compression,
    /// Said since the last flush.
    waiting_bytes: usize,
    is_over: bool,
}

impl Deflate {
    /// Both streams at their beginning. `level` is 1 (fast) to 9 (small); others are brought into that range.
    #[must_use]
    pub fn new(level: u32) -> Self {
        Deflate {
            inward: Decompress::new(false),
            outward: None,
            level: Compression::new(level.clamp(1, 9)),
            waiting_bytes: 0,
            is_over: false,
        }
    }

    /// Appends to `plain` what `input` holds, until `plain` has `plain_bytes_max`: a small input may stand for
    /// a thousand times its size. When there is more, the caller keeps the rest of `input` and calls again.
    ///
    /// # Errors
    /// The stream is damaged. What was appended before is good.
    pub fn inflate(
        &mut self,
        input: &[u8],
        plain: &mut Vec<u8>,
        plain_bytes_max: usize,
    ) -> Result<Inflated, Fault> {
        let mut taken = 0;
        loop {
            let is_full = plain.len() >= plain_bytes_max;
            if self.is_over || is_full {
                return Ok(Inflated {
                    taken_bytes: if self.is_over { input.len() } else { taken },
                    is_more: is_full && !self.is_over,
                    is_over: self.is_over,
                });
            }
            let room = (plain_bytes_max - plain.len()).min(STEP_BYTES);
            let (before_in, before_out) = (self.inward.total_in(), self.inward.total_out());
            let start = plain.len();
            plain.resize(start + room, 0);
            let status = self.inward.decompress(
                input.get(taken..).unwrap_or_default(),
                plain.get_mut(start..).unwrap_or_default(),
                FlushDecompress::Sync,
            );
            let written = told(before_out, self.inward.total_out()).min(room);
            plain.truncate(start + written);
            taken = input
                .len()
                .min(taken + told(before_in, self.inward.total_in()));
            match status {
                Ok(Status::StreamEnd) => self.is_over = true,
                Ok(Status::Ok | Status::BufError) => {}
                Err(_) => return Err(Fault::Damaged),
            }
            // With room left, all that the input says is there.
            if written < room && taken == input.len() && !self.is_over {
                return Ok(Inflated {
                    taken_bytes: taken,
                    is_more: false,
                    is_over: false,
                });
            }
            if written == 0 && told(before_in, self.inward.total_in()) == 0 && !self.is_over {
                // No step forward with room and input: there is no such valid stream.
                return Err(Fault::Damaged);
            }
        }
    }

    /// Appends `plain` to `packed`, compressed. With `is_flush` the client can read all that was said so far (RFC
    /// 8054, 2.2.2): at the end of the replies that go out together, for each flush costs some bytes.
    pub fn deflate(&mut self, plain: &[u8], packed: &mut Vec<u8>, is_flush: bool) {
        self.waiting_bytes = self.waiting_bytes.saturating_add(plain.len());
        let mut rest = plain;
        while !rest.is_empty() {
            let room = STEP_BYTES.min(rest.len() + 64);
            let (taken, is_full) = self.step(rest, packed, room, FlushCompress::None);
            rest = rest.get(taken..).unwrap_or_default();
            // What did not fit must go out before the flush: with something left over, zlib's calls do only that.
            if rest.is_empty() && is_full {
                while self.step(&[], packed, STEP_BYTES, FlushCompress::None).1 {}
            }
            if taken == 0 && !is_full {
                break;
            }
        }
        if is_flush {
            // Room for all in one call, for the same reason. What waits can grow by an eighth and the tables.
            let waiting = self.waiting_bytes.min(FLUSH_BYTES);
            let room = waiting + waiting / 4 + 1024;
            while self.step(&[], packed, room, FlushCompress::Sync).1 {}
            self.waiting_bytes = 0;
        }
    }

    /// True when there is memory that [`Deflate::rest`] could give back.
    #[must_use]
    pub fn is_awake(&self) -> bool {
        self.outward.is_some()
    }

    /// Forgets what was said, so that it takes no memory. Behind a flush that is no matter for the client: what is said next only does
    /// not refer to it. False, and nothing done, where something is not flushed.
    pub fn rest(&mut self) -> bool {
        if self.waiting_bytes > 0 {
            return false;
        }
        self.outward = None;
        true
    }

    /// One call: how much of `input` it took, and whether it filled `room`.
    fn step(
        &mut self,
        input: &[u8],
        packed: &mut Vec<u8>,
        room: usize,
        flush: FlushCompress,
    ) -> (usize, bool) {
        let level = self.level;
        let outward = self
            .outward
            .get_or_insert_with(|| Compress::new(level, false));
        let (before_in, before_out) = (outward.total_in(), outward.total_out());
        let start = packed.len();
        packed.resize(start + room, 0);
        let room_left = packed.get_mut(start..).unwrap_or_default();
        // Its status tells no more than the counts.
        let _ = outward.compress(input, room_left, flush);
        let written = told(before_out, outward.total_out()).min(room);
        packed.truncate(start + written);
        let taken = told(before_in, outward.total_in());
        (taken, written == room)
    }
}

fn told(before: u64, after: u64) -> usize {
    usize::try_from(after.saturating_sub(before)).unwrap_or(usize::MAX)
}
