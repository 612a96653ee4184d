//! Creates the decoder for a compression. The decoders for gzip, compress and c7 have their own files.

use zstd::stream::raw::{DParameter, InBuffer, Operation, OutBuffer};

use super::codec::{Codec, CodecStatus, Progress, advance};
use super::{Compression, WrapError, WrapLimits};
use super::{c7, compress, gzip};

/// Longest header of a zstd frame, with its magic (RFC 8878, 3.1.1.1), bytes.
const ZSTD_HEADER_BYTES: usize = 18;

/// Creates a decoder for one member.
pub(super) fn of(
    kind: Compression,
    limits: WrapLimits,
) -> Result<Box<dyn Codec + Send>, WrapError> {
    let unable = |error: &dyn std::fmt::Display| WrapError::Unable {
        kind,
        what: error.to_string(),
    };
    let memory = limits.memory_bytes_max;
    Ok(match kind {
        Compression::Compress => Box::new(compress::Compress::new()),
        Compression::C7 => Box::new(c7::C7::new()),
        Compression::Gzip => Box::new(gzip::Gzip::new()),
        Compression::Zstd => {
            let mut decoder = zstd::stream::raw::Decoder::new().map_err(|error| unable(&error))?;
            // The exact limit is checked before; the library takes 2^10 to 2^31.
            let log = memory.max(1).next_power_of_two().ilog2().clamp(10, 31);
            decoder
                .set_parameter(DParameter::WindowLogMax(log))
                .map_err(|error| unable(&error))?;
            Box::new(Zstd {
                decoder,
                memory_bytes_max: memory,
                header: Vec::new(),
            })
        }
        Compression::Bzip2 => Box::new(Bzip2(bzip2::Decompress::new(false))),
        Compression::Xz => {
            let stream = liblzma::stream::Stream::new_stream_decoder(memory, 0);
            Box::new(Xz(stream.map_err(|error| unable(&error))?))
        }
        Compression::Lzma => {
            let stream = liblzma::stream::Stream::new_lzma_decoder(memory);
            Box::new(Xz(stream.map_err(|error| unable(&error))?))
        }
    })
}

/// Decodes the frames of zstd one after the other, also those to be skipped.
struct Zstd {
    decoder: zstd::stream::raw::Decoder<'static>,
    /// Largest window, bytes.
    memory_bytes_max: u64,
    /// The start of the frame, as far as its header may reach.
    header: Vec<u8>,
}

impl Zstd {
    /// Adds to the start of the frame; returns its window if that is larger than the limit.
    fn excessive_window(&mut self, input: &[u8]) -> Option<u64> {
        let seen = self.header.len();
        let room = ZSTD_HEADER_BYTES.saturating_sub(seen);
        if room == 0 {
            return None;
        }
        self.header.extend(input.iter().take(room));
        let window = zstd_window(&self.header);
        // Input that is not consumed is passed again.
        self.header.truncate(seen);
        window.filter(|&window| window > self.memory_bytes_max)
    }

    fn note_consumed(&mut self, input: &[u8]) {
        let room = ZSTD_HEADER_BYTES.saturating_sub(self.header.len());
        self.header.extend(input.iter().take(room));
    }
}

/// The window of a zstd frame, bytes (RFC 8878, 3.1.1.1); `None` if the header is not complete, or is that of a frame to be skipped.
fn zstd_window(header: &[u8]) -> Option<u64> {
    let [descriptor, rest @ ..] = header.strip_prefix(b"\x28\xb5\x2f\xfd")? else {
        return None;
    };
    let is_single = descriptor & 0x20 != 0;
    if !is_single {
        let window = *rest.first()?;
        let base = 1_u64 << (10 + (window >> 3));
        return Some(base + base / 8 * u64::from(window & 7));
    }
    // The window is as large as the content, whose size is behind the id of a dictionary.
    let dictionary = [0, 1, 2, 4].get(usize::from(descriptor & 3))?;
    let bytes = 1_usize << (descriptor >> 6);
    let mut size = [0; 8];
    let field = rest.get(*dictionary..)?.get(..bytes)?;
    size.get_mut(..bytes)?.copy_from_slice(field);
    let size = u64::from_le_bytes(size);
    Some(if bytes == 2 { size + 256 } else { size })
}

impl Codec for Zstd {
    fn step(&mut self, bytes: &[u8], out: &mut [u8], _at_end: bool) -> Progress {
        if let Some(window) = self.excessive_window(bytes) {
            return Progress {
                consumed: 0,
                produced: 0,
                status: CodecStatus::NeedsMemory(window),
            };
        }
        let mut input = InBuffer::around(bytes);
        let mut out = OutBuffer::around(out);
        let result = self.decoder.run(&mut input, &mut out);
        self.note_consumed(bytes.get(..input.pos()).unwrap_or_default());
        let status = match result {
            Ok(0) => {
                self.header.clear();
                CodecStatus::Done
            }
            Ok(_) => CodecStatus::Continue,
            Err(error) => CodecStatus::Damaged(error.to_string()),
        };
        Progress {
            consumed: input.pos(),
            produced: out.pos(),
            status,
        }
    }
}

struct Bzip2(bzip2::Decompress);

impl Codec for Bzip2 {
    fn step(&mut self, input: &[u8], out: &mut [u8], _at_end: bool) -> Progress {
        let before = (self.0.total_in(), self.0.total_out());
        let status = match self.0.decompress(input, out) {
            Ok(bzip2::Status::StreamEnd) => CodecStatus::Done,
            Ok(_) => CodecStatus::Continue,
            Err(error) => CodecStatus::Damaged(error.to_string()),
        };
        Progress {
            consumed: advance(before.0, self.0.total_in()),
            produced: advance(before.1, self.0.total_out()),
            status,
        }
    }
}

/// Decodes xz and lzma.
struct Xz(liblzma::stream::Stream);

impl Xz {
    /// The memory that the data needs, bytes, after it was refused. The library accepts no limit below that.
    fn needed_memory(&mut self) -> u64 {
        let (mut low, mut high) = (self.0.memlimit(), u64::MAX);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.0.set_memlimit(middle) {
                Ok(()) => high = middle,
                Err(_) => low = middle + 1,
            }
        }
        high
    }
}

impl Codec for Xz {
    fn step(&mut self, input: &[u8], out: &mut [u8], _at_end: bool) -> Progress {
        let before = (self.0.total_in(), self.0.total_out());
        let status = match self.0.process(input, out, liblzma::stream::Action::Run) {
            Ok(liblzma::stream::Status::StreamEnd) => CodecStatus::Done,
            Ok(_) => CodecStatus::Continue,
            Err(liblzma::stream::Error::MemLimit) => CodecStatus::NeedsMemory(self.needed_memory()),
            Err(error) => CodecStatus::Damaged(error.to_string()),
        };
        Progress {
            consumed: advance(before.0, self.0.total_in()),
            produced: advance(before.1, self.0.total_out()),
            status,
        }
    }
}
