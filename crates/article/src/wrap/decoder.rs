//! Creates the decoder for a compression. The decoders for gzip, compress and c7 have their own files.

use zstd::stream::raw::{DParameter, InBuffer, Operation, OutBuffer};

use super::codec::{Codec, CodecStatus, Progress, advance};
use super::{Compression, WrapError, XZ_MEMORY_BYTES_MAX, ZSTD_WINDOW_LOG_MAX};
use super::{c7, compress, gzip};

/// Creates a decoder for one member.
pub(super) fn of(kind: Compression) -> Result<Box<dyn Codec + Send>, WrapError> {
    let unable = |error: &dyn std::fmt::Display| WrapError::Unable {
        kind,
        what: error.to_string(),
    };
    Ok(match kind {
        Compression::Compress => Box::new(compress::Compress::new()),
        Compression::C7 => Box::new(c7::C7::new()),
        Compression::Gzip => Box::new(gzip::Gzip::new()),
        Compression::Zstd => {
            let mut decoder = zstd::stream::raw::Decoder::new().map_err(|error| unable(&error))?;
            decoder
                .set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX))
                .map_err(|error| unable(&error))?;
            Box::new(Zstd(decoder))
        }
        Compression::Bzip2 => Box::new(Bzip2(bzip2::Decompress::new(false))),
        Compression::Xz => Box::new(Xz(liblzma::stream::Stream::new_stream_decoder(
            XZ_MEMORY_BYTES_MAX,
            0,
        )
        .map_err(|error| unable(&error))?)),
    })
}

struct Zstd(zstd::stream::raw::Decoder<'static>);

impl Codec for Zstd {
    fn step(&mut self, input: &[u8], out: &mut [u8], _at_end: bool) -> Progress {
        let mut input = InBuffer::around(input);
        let mut out = OutBuffer::around(out);
        let result = self.0.run(&mut input, &mut out);
        let status = match result {
            Ok(0) => CodecStatus::Done,
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

struct Xz(liblzma::stream::Stream);

impl Codec for Xz {
    fn step(&mut self, input: &[u8], out: &mut [u8], _at_end: bool) -> Progress {
        let before = (self.0.total_in(), self.0.total_out());
        let status = match self.0.process(input, out, liblzma::stream::Action::Run) {
            Ok(liblzma::stream::Status::StreamEnd) => CodecStatus::Done,
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
