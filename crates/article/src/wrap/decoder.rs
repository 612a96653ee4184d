//! The decoders behind one face. gzip, compress and c7 are in files of their own.

use zstd::stream::raw::{DParameter, InBuffer, Operation, OutBuffer};

use super::codec::{Codec, Outcome, Step, advance};
use super::{Kind, WrapError, XZ_MEMORY_BYTES_MAX, ZSTD_WINDOW_LOG_MAX};
use super::{c7, compress, gzip};

/// A fresh decoder for one member.
pub(super) fn of(kind: Kind) -> Result<Box<dyn Codec + Send>, WrapError> {
    let unable = |error: &dyn std::fmt::Display| WrapError::Unable {
        kind,
        what: error.to_string(),
    };
    Ok(match kind {
        Kind::Compress => Box::new(compress::Compress::new()),
        Kind::C7 => Box::new(c7::C7::new()),
        Kind::Gzip => Box::new(gzip::Gzip::new()),
        Kind::Zstd => {
            let mut decoder = zstd::stream::raw::Decoder::new().map_err(|error| unable(&error))?;
            decoder
                .set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX))
                .map_err(|error| unable(&error))?;
            Box::new(Zstd(decoder))
        }
        Kind::Bzip2 => Box::new(Bzip2(bzip2::Decompress::new(false))),
        Kind::Xz => Box::new(Xz(liblzma::stream::Stream::new_stream_decoder(
            XZ_MEMORY_BYTES_MAX,
            0,
        )
        .map_err(|error| unable(&error))?)),
    })
}

struct Zstd(zstd::stream::raw::Decoder<'static>);

impl Codec for Zstd {
    fn step(&mut self, input: &[u8], out: &mut [u8], _at_end: bool) -> Step {
        let mut input = InBuffer::around(input);
        let mut out = OutBuffer::around(out);
        let result = self.0.run(&mut input, &mut out);
        let outcome = match result {
            Ok(0) => Outcome::Done,
            Ok(_) => Outcome::Going,
            Err(error) => Outcome::Damaged(error.to_string()),
        };
        Step {
            taken: input.pos(),
            given: out.pos(),
            outcome,
        }
    }
}

struct Bzip2(bzip2::Decompress);

impl Codec for Bzip2 {
    fn step(&mut self, input: &[u8], out: &mut [u8], _at_end: bool) -> Step {
        let before = (self.0.total_in(), self.0.total_out());
        let outcome = match self.0.decompress(input, out) {
            Ok(bzip2::Status::StreamEnd) => Outcome::Done,
            Ok(_) => Outcome::Going,
            Err(error) => Outcome::Damaged(error.to_string()),
        };
        Step {
            taken: advance(before.0, self.0.total_in()),
            given: advance(before.1, self.0.total_out()),
            outcome,
        }
    }
}

struct Xz(liblzma::stream::Stream);

impl Codec for Xz {
    fn step(&mut self, input: &[u8], out: &mut [u8], _at_end: bool) -> Step {
        let before = (self.0.total_in(), self.0.total_out());
        let outcome = match self.0.process(input, out, liblzma::stream::Action::Run) {
            Ok(liblzma::stream::Status::StreamEnd) => Outcome::Done,
            Ok(_) => Outcome::Going,
            Err(error) => Outcome::Damaged(error.to_string()),
        };
        Step {
            taken: advance(before.0, self.0.total_in()),
            given: advance(before.1, self.0.total_out()),
            outcome,
        }
    }
}
