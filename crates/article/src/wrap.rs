//! Wrapped batches: recognised by their first line or by their magic, expanded while they are read; and the wrapping of
//! batches to be sent ([`Packing`]).
//!
//! | first line | then | also recognised bare |
//! |---|---|---|
//! | `#! cunbatch` | compress (.Z), 9 to 16 bits, block mode or not | `1F 9D` |
//! | `#! c7unbatch` | the 7-bit code of B and C News around one of the others | no |
//! | `#! gunbatch` | gzip, any number of members | `1F 8B` |
//! | `#! zunbatch` | zstd (or, as INN writes it, gzip) | `28 B5 2F FD` |
//! | `#! bunbatch`, `#! bzunbatch` | bzip2 | `BZh` and a block |
//! | `#! xunbatch` | xz | `FD 37 7A 58 5A 00` |
//!
//! The line only says that something is wrapped; what it is wrapped with is read off the data, since
//! sites never agreed on the names. Wrappers may be nested, up to [`WrapLimits::layers_max`].
//!
//! Plain input passes through: after its first bytes every read goes straight to the reader.

mod c7;
mod codec;
mod compress;
mod decoder;
mod expand;
mod gzip;
mod lzw;
mod pack;
mod peek;

use std::fmt;
use std::io::{self, Read};

use expand::Expander;
use peek::Peeked;

pub use pack::{Packer, Packing};

/// Default of [`WrapLimits::expanded_bytes_max`]: 4 GiB.
pub const EXPANDED_BYTES_MAX: u64 = 4 << 30;
/// Default of [`WrapLimits::ratio_max`]. Text shrinks to a third or a tenth; zeros reach 1030 in gzip.
pub const RATIO_MAX: u64 = 1000;
/// The ratio is not looked at before so many bytes have come out of a layer: 1 MiB.
pub const RATIO_FREE_BYTES: u64 = 1 << 20;
/// Default of [`WrapLimits::layers_max`]: c7 around compress inside one more wrapper, and one to spare.
pub const LAYERS_MAX: usize = 4;
/// A compressed batch shorter than this is empty and discarded, as C News does.
pub const EMPTY_BELOW_BYTES: usize = 5;
/// The window zstd may ask for: 2^27 = 128 MiB, what `zstd -22` uses.
pub const ZSTD_WINDOW_LOG_MAX: u32 = 27;
/// Memory xz may ask for: 128 MiB; `xz -9` needs 65.
pub const XZ_MEMORY_BYTES_MAX: u64 = 128 << 20;

/// How a batch is wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `compress`, files called `.Z`.
    Compress,
    /// The 7-bit code of `c7encode`.
    C7,
    /// gzip.
    Gzip,
    /// zstd.
    Zstd,
    /// bzip2.
    Bzip2,
    /// xz.
    Xz,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Compress => "compress",
            Kind::C7 => "c7",
            Kind::Gzip => "gzip",
            Kind::Zstd => "zstd",
            Kind::Bzip2 => "bzip2",
            Kind::Xz => "xz",
        })
    }
}

/// Bounds on expansion. Each layer of a nested wrapper is held to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrapLimits {
    /// Most bytes a layer may expand to.
    pub expanded_bytes_max: u64,
    /// Most bytes out for one byte in, once [`RATIO_FREE_BYTES`] are out.
    pub ratio_max: u64,
    /// Most wrappers around one another.
    pub layers_max: usize,
}

impl Default for WrapLimits {
    fn default() -> WrapLimits {
        WrapLimits {
            expanded_bytes_max: EXPANDED_BYTES_MAX,
            ratio_max: RATIO_MAX,
            layers_max: LAYERS_MAX,
        }
    }
}

/// What is wrong with a wrapped batch. The batch is to be kept in `bad/`.
///
/// Offsets count bytes of the wrapped data of that layer, its `#!` line not included. While reading,
/// these come inside an [`io::Error`]; see [`WrapError::of`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrapError {
    /// A wrapper's line, and then neither compressed data nor a batch.
    #[error(
        "`{line}' is followed by data of no known compression; keep the batch and ask the sender"
    )]
    NotCompressed {
        /// The line.
        line: String,
    },
    /// Wrappers around wrappers beyond [`WrapLimits::layers_max`].
    #[error("batch wrapped more than {0} times over; unwrap it by hand if it is to be trusted")]
    TooManyLayers(usize),
    /// A decoder could not be set up.
    #[error("cannot expand {kind} data: {what}")]
    Unable {
        /// The compression.
        kind: Kind,
        /// Why.
        what: String,
    },
    /// The data ends before its end.
    #[error(
        "{kind} data torn off after byte {at}; {expanded} bytes came out of it; ask the sender for the batch again"
    )]
    Torn {
        /// The compression.
        kind: Kind,
        /// Bytes of compressed data there are.
        at: u64,
        /// Bytes that came out.
        expanded: u64,
    },
    /// The data is damaged.
    #[error(
        "{kind} data damaged near byte {at}: {what}; {expanded} bytes came out of it; ask the sender for the batch again"
    )]
    Damaged {
        /// The compression.
        kind: Kind,
        /// What the decoder complains of.
        what: String,
        /// Byte of compressed data where it was noticed.
        at: u64,
        /// Bytes that came out.
        expanded: u64,
    },
    /// Expands to more than [`WrapLimits::expanded_bytes_max`].
    #[error(
        "{kind} data expands beyond the limit of {limit} bytes; raise the limit if the batch is to be trusted"
    )]
    TooBig {
        /// The compression.
        kind: Kind,
        /// The limit.
        limit: u64,
    },
    /// Expands more than [`WrapLimits::ratio_max`] times.
    #[error(
        "{kind} data expands more than {limit} times ({at} bytes to {expanded}); raise the limit if the batch is to be trusted"
    )]
    TooDense {
        /// The compression.
        kind: Kind,
        /// The limit.
        limit: u64,
        /// Bytes of compressed data used.
        at: u64,
        /// Bytes that came out.
        expanded: u64,
    },
}

impl WrapError {
    /// The wrapping's own error inside an error met while reading, if it is one.
    pub fn of(error: &io::Error) -> Option<&WrapError> {
        error.get_ref()?.downcast_ref()
    }
}

impl From<WrapError> for io::Error {
    fn from(error: WrapError) -> io::Error {
        let kind = match error {
            WrapError::Torn { .. } => io::ErrorKind::UnexpectedEof,
            _ => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    }
}

/// A batch with its wrappers taken off: read it to get the plain batch or bare article.
///
/// Everything that could be expanded is delivered before an error is.
#[derive(Debug)]
pub struct Unwrapped<R> {
    source: Peeked<Source<R>>,
    layers: Vec<Kind>,
}

#[derive(Debug)]
enum Source<R> {
    Raw(R),
    Layer(Box<Expander<Peeked<Source<R>>>>),
    Empty,
}

impl<R: Read> Read for Source<R> {
    #[inline]
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self {
            Source::Raw(reader) => reader.read(out),
            Source::Layer(expander) => expander.read(out),
            Source::Empty => Ok(0),
        }
    }
}

/// Looks at the start of `reader` and takes off what it is wrapped in.
///
/// Input that is not wrapped, or by a `#!` line of some other kind, passes through unchanged.
///
/// # Errors
/// [`WrapError::NotCompressed`], [`WrapError::TooManyLayers`], [`WrapError::Unable`]. A failing
/// reader and damaged data show while reading.
pub fn open<R: Read>(reader: R, limits: WrapLimits) -> Result<Unwrapped<R>, WrapError> {
    let mut source = Peeked::new(Source::Raw(reader));
    let mut layers = Vec::new();
    let mut lines: usize = 0;
    loop {
        let line = Line::parse(source.head());
        if let Some(line) = &line {
            source.skip(line.bytes);
            lines = lines.saturating_add(1);
        }
        source.head();
        let will_fail = source.will_fail();
        let head = source.head();
        let kind = match (&line, magic(head)) {
            (Some(line), found)
                if line.is_c7 && !matches!(found, Some(Kind::Compress | Kind::Gzip)) =>
            {
                Some(Kind::C7)
            }
            (_, found) => found,
        };
        if (line.is_some() || kind.is_some()) && head.len() < EMPTY_BELOW_BYTES && !will_fail {
            layers.extend(kind);
            return Ok(Unwrapped {
                source: Peeked::new(Source::Empty),
                layers,
            });
        }
        if lines.max(layers.len()) > limits.layers_max {
            return Err(WrapError::TooManyLayers(limits.layers_max));
        }
        match (line, kind) {
            (_, Some(kind)) => {
                if layers.len() >= limits.layers_max {
                    return Err(WrapError::TooManyLayers(limits.layers_max));
                }
                layers.push(kind);
                source = Peeked::new(Source::Layer(Box::new(Expander::new(
                    kind, source, limits,
                )?)));
            }
            // A wrapper's line around what was never compressed: nothing is lost by reading on.
            (Some(_), None) if head.starts_with(b"#!") => {}
            (Some(line), None) => return Err(WrapError::NotCompressed { line: line.text }),
            (None, None) => return Ok(Unwrapped { source, layers }),
        }
    }
}

impl<R> Unwrapped<R> {
    /// What was taken off, the outermost first; nothing for plain input.
    pub fn layers(&self) -> &[Kind] {
        &self.layers
    }

    /// Whether this was a compressed batch with nothing in it (C News: fewer than 5 bytes), to be
    /// discarded without a word.
    pub fn is_empty_wrapper(&self) -> bool {
        matches!(self.source.inner(), Source::Empty)
    }
}

impl<R: Read> Read for Unwrapped<R> {
    #[inline]
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.source.read(out)
    }
}

/// A `#! XXXunbatch` line.
struct Line {
    text: String,
    bytes: usize,
    is_c7: bool,
}

impl Line {
    fn parse(head: &[u8]) -> Option<Line> {
        let end = memchr::memchr(b'\n', head)?;
        let line = head.get(..end)?.trim_ascii_end();
        let words = line.strip_prefix(b"#!")?.trim_ascii_start();
        let name = words.split(|byte| byte.is_ascii_whitespace()).next()?;
        let known: &[&[u8]] = &[
            b"cunbatch",
            b"c7unbatch",
            b"gunbatch",
            b"zunbatch",
            b"bunbatch",
            b"bzunbatch",
            b"xunbatch",
        ];
        known.contains(&name).then(|| Line {
            text: String::from_utf8_lossy(line).into_owned(),
            bytes: end.saturating_add(1),
            is_c7: name == b"c7unbatch",
        })
    }
}

/// The compression that data starting with `head` is in.
fn magic(head: &[u8]) -> Option<Kind> {
    match head {
        [0x1f, 0x9d, ..] => Some(Kind::Compress),
        [0x1f, 0x8b, ..] => Some(Kind::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Kind::Zstd),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Kind::Xz),
        // A block's or, in an empty one, the stream end's own magic follows.
        [
            b'B',
            b'Z',
            b'h',
            b'1'..=b'9',
            b'1',
            b'A',
            b'Y',
            b'&',
            b'S',
            b'Y',
            ..,
        ] => Some(Kind::Bzip2),
        [
            b'B',
            b'Z',
            b'h',
            b'1'..=b'9',
            0x17,
            0x72,
            0x45,
            0x38,
            0x50,
            0x90,
            ..,
        ] => Some(Kind::Bzip2),
        _ => None,
    }
}
