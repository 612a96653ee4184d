//! Compression of a connection (RFC 8054): raw DEFLATE, one endless stream in each direction.
//!
//! A compressed connection takes 354 KB (with `miniz_oxide`, at any level; `examples/tls_speed.rs` measures it), nearly all of it for
//! output. A quiet one can release that memory ([`Deflate::release`]) and takes 7 KB. Level 1 takes a tenth of the time of level 6, and
//! its output for replies is little larger.

use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use thiserror::Error;

/// Most compressors of this process at a time: 512, some 160 MiB. Connections beyond get output in stored blocks (RFC 1951, 3.2.4), which need none.
pub const COMPRESSORS_MAX: usize = 512;
/// Most compressed connections of a server at a time: 4,096, some 180 MiB for decompressors.
pub const STREAMS_MAX: usize = 4096;
/// Most bytes of a stored block (RFC 1951, 3.2.4).
const STORED_BYTES: usize = u16::MAX as usize;

static COMPRESSORS: AtomicUsize = AtomicUsize::new(0);
static STREAMS: AtomicUsize = AtomicUsize::new(0);

/// Step by which output buffers grow, bytes.
const STEP_BYTES: usize = 16 << 10;
/// Most bytes the compressor holds back before it writes a block: window and pending input.
const FLUSH_BYTES: usize = 192 << 10;

/// The received stream is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DeflateError {
    /// Not DEFLATE (RFC 1951). The connection has to end: the start of the next line is unknown.
    #[error("the compressed stream is damaged")]
    Damaged,
}

/// Result of [`Deflate::inflate`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inflated {
    /// Consumed bytes of the input; the rest is for the next call.
    pub taken_bytes: usize,
    /// The bound was reached: call again when there is room, even without input.
    pub is_more: bool,
    /// The other side ended its stream. Nothing can follow: the connection ends.
    pub is_over: bool,
}

/// Counts as one while it lives.
struct Counted(&'static AtomicUsize);

impl Counted {
    fn new(count: &'static AtomicUsize) -> Counted {
        count.fetch_add(1, Ordering::Relaxed);
        Counted(count)
    }

    /// `None`: there are so many already.
    fn within(count: &'static AtomicUsize, most: usize) -> Option<Counted> {
        let one_more = |now| (now < most).then(|| now + 1);
        let counted = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        counted.is_ok().then(|| Counted(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Both directions of one compressed connection.
pub struct Deflate {
    inward: Decompress,
    /// The compressor; `None` at the start, after [`Deflate::release`], and while there are [`COMPRESSORS_MAX`].
    outward: Option<(Compress, Counted)>,
    _stream: Counted,
    level: Compression,
    /// Bytes compressed since the last flush.
    waiting_bytes: usize,
    is_over: bool,
}

impl Deflate {
    /// Both streams at their start. `level` is 1 (fast) to 9 (small); others are clamped to that range.
    #[must_use]
    pub fn new(level: u32) -> Self {
        Deflate {
            inward: Decompress::new(false),
            outward: None,
            _stream: Counted::new(&STREAMS),
            level: Compression::new(level.clamp(1, 9)),
            waiting_bytes: 0,
            is_over: false,
        }
    }

    /// Whether a server may compress one more connection: there are fewer than [`STREAMS_MAX`].
    #[must_use]
    pub fn has_room() -> bool {
        STREAMS.load(Ordering::Relaxed) < STREAMS_MAX
    }

    /// Decompresses `input` and appends it to `plain`, until `plain` has `plain_bytes_max`: the output may be a thousand times larger than
    /// the input. The caller keeps the rest of `input` and calls again.
    ///
    /// # Errors
    /// The stream is damaged. The bytes appended before are valid.
    pub fn inflate(
        &mut self,
        input: &[u8],
        plain: &mut Vec<u8>,
        plain_bytes_max: usize,
    ) -> Result<Inflated, DeflateError> {
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
            let written = difference(before_out, self.inward.total_out()).min(room);
            plain.truncate(start + written);
            taken = input
                .len()
                .min(taken + difference(before_in, self.inward.total_in()));
            match status {
                Ok(Status::StreamEnd) => self.is_over = true,
                Ok(Status::Ok | Status::BufError) => {}
                Err(_) => return Err(DeflateError::Damaged),
            }
            // With room left, all output of this input is there.
            if written < room && taken == input.len() && !self.is_over {
                return Ok(Inflated {
                    taken_bytes: taken,
                    is_more: false,
                    is_over: false,
                });
            }
            if written == 0 && difference(before_in, self.inward.total_in()) == 0 && !self.is_over {
                // No progress despite room and input: the stream is invalid.
                return Err(DeflateError::Damaged);
            }
        }
    }

    /// Compresses `plain` and appends it to `packed`. With `is_flush` the other side can decompress everything so far (RFC 8054,
    /// 2.2.2). Each flush costs some bytes, so it follows the last of what is sent together.
    pub fn deflate(&mut self, plain: &[u8], packed: &mut Vec<u8>, is_flush: bool) {
        if self.outward.is_none() {
            if plain.is_empty() {
                return;
            }
            let counted = Counted::within(&COMPRESSORS, COMPRESSORS_MAX);
            self.outward = counted.map(|counted| (Compress::new(self.level, false), counted));
        }
        let Some((outward, _)) = &mut self.outward else {
            // The stream is at the boundary of a byte: at its start, or behind a flush or another such block.
            push_stored(plain, packed);
            return;
        };
        self.waiting_bytes = self.waiting_bytes.saturating_add(plain.len());
        let mut rest = plain;
        while !rest.is_empty() {
            let room = STEP_BYTES.min(rest.len() + 64);
            let (taken, is_full) = step(outward, rest, packed, room, FlushCompress::None);
            rest = rest.get(taken..).unwrap_or_default();
            // Pending output must be taken before the flush: otherwise zlib's calls return only that.
            if rest.is_empty() && is_full {
                while step(outward, &[], packed, STEP_BYTES, FlushCompress::None).1 {}
            }
            if taken == 0 && !is_full {
                break;
            }
        }
        if is_flush {
            // Room for everything in one call, for the same reason. Incompressible bytes grow by an eighth and the tables.
            let waiting = self.waiting_bytes.min(FLUSH_BYTES);
            let room = waiting + waiting / 4 + 1024;
            while step(outward, &[], packed, room, FlushCompress::Sync).1 {}
            self.waiting_bytes = 0;
        }
    }

    /// True if [`Deflate::release`] could release memory.
    #[must_use]
    pub fn has_compressor(&self) -> bool {
        self.outward.is_some()
    }

    /// Releases the compressor. After a flush the other side does not notice: later output only cannot refer to earlier output. Returns false,
    /// without a change, if something is not flushed.
    pub fn release(&mut self) -> bool {
        if self.waiting_bytes > 0 {
            return false;
        }
        self.outward = None;
        true
    }
}

/// One call of the compressor: returns the consumed bytes of `input`, and whether the output filled `room`.
fn step(
    outward: &mut Compress,
    input: &[u8],
    packed: &mut Vec<u8>,
    room: usize,
    flush: FlushCompress,
) -> (usize, bool) {
    let (before_in, before_out) = (outward.total_in(), outward.total_out());
    let start = packed.len();
    packed.resize(start + room, 0);
    let room_left = packed.get_mut(start..).unwrap_or_default();
    // The counters have all information of its status.
    let _ = outward.compress(input, room_left, flush);
    let written = difference(before_out, outward.total_out()).min(room);
    packed.truncate(start + written);
    let taken = difference(before_in, outward.total_in());
    (taken, written == room)
}

/// Appends stored blocks, none of which is the last one of the stream.
fn push_stored(plain: &[u8], packed: &mut Vec<u8>) {
    for piece in plain.chunks(STORED_BYTES) {
        let length = u16::try_from(piece.len()).unwrap_or(u16::MAX);
        packed.push(0);
        packed.extend_from_slice(&length.to_le_bytes());
        packed.extend_from_slice(&(!length).to_le_bytes());
        packed.extend_from_slice(piece);
    }
}

fn difference(before: u64, after: u64) -> usize {
    usize::try_from(after.saturating_sub(before)).unwrap_or(usize::MAX)
}
