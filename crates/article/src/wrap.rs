//! Wrapped (compressed) batches: detects the compression by the first line or the magic bytes, expands the batch while
//! reading, and wraps batches for sending ([`WrapFormat`]).
//!
//! | first line | compression | also detected without that line |
//! |---|---|---|
//! | `#! cunbatch` | compress (.Z), 9 to 16 bits, block mode or not | `1F 9D` |
//! | `#! c7unbatch` | the 7-bit code of B and C News around one of the others | no |
//! | `#! gunbatch` | gzip, any number of members | `1F 8B` |
//! | `#! zunbatch` | zstd (or, as INN writes it, gzip) | `28 B5 2F FD` |
//! | `#! bunbatch`, `#! bzunbatch` | bzip2 | `BZh` and a block |
//! | `#! xunbatch` | xz | `FD 37 7A 58 5A 00` |
//!
//! The line only says that a batch is wrapped; the magic bytes of the data decide how, because
//! sites never agreed on the names. Wrappers may be nested up to [`WrapLimits::layers_max`].
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
use peek::PeekReader;

pub use pack::{WrapFormat, WrapWriter};

/// Default of [`WrapLimits::expanded_bytes_max`]: 4 GiB.
pub const EXPANDED_BYTES_MAX: u64 = 4 << 30;
/// Default of [`WrapLimits::ratio_max`]. Text shrinks to a third or a tenth; zeros reach 1030 in gzip.
pub const RATIO_MAX: u64 = 1000;
/// Expanded bytes of a layer before the ratio is checked: 1 MiB.
pub const RATIO_FREE_BYTES: u64 = 1 << 20;
/// Members (streams one behind the other) of bzip2 and xz data that may be of any size: each takes time before it expands to anything, and a
/// sender may compress articles one by one.
pub const MEMBERS_MAX: u64 = 4000;
/// Bytes to which members expand on average, where there are more than [`MEMBERS_MAX`]: 16 KiB. Programs that compress in parallel make
/// members of 900 kB and more.
pub const MEMBER_BYTES: u64 = 16 << 10;
/// Default of [`WrapLimits::layers_max`]: c7 around compress inside one more wrapper, and one to spare.
pub const LAYERS_MAX: usize = 4;
/// Data of compress shorter than this, bytes, has no code, so the batch is empty and ignored, as in C News.
pub const EMPTY_BELOW_BYTES: usize = 5;
/// Largest window that zstd may use, log2 of bytes: 2^27 = 128 MiB, as in `zstd -22`.
pub const ZSTD_WINDOW_LOG_MAX: u32 = 27;
/// Most memory that xz may use: 128 MiB; `xz -9` needs 65 MiB.
pub const XZ_MEMORY_BYTES_MAX: u64 = 128 << 20;

/// A compression of batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
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

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Compression::Compress => "compress",
            Compression::C7 => "c7",
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Bzip2 => "bzip2",
            Compression::Xz => "xz",
        })
    }
}

/// Limits on expansion. They apply to each layer of a nested wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrapLimits {
    /// Most bytes that a layer may expand to.
    pub expanded_bytes_max: u64,
    /// Most expanded bytes per compressed byte, once a layer has produced [`RATIO_FREE_BYTES`].
    pub ratio_max: u64,
    /// Most nested wrappers.
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

/// An error in a wrapped batch. The caller saves such a batch in `bad/`.
///
/// Offsets count bytes of the wrapped data of that layer, without its `#!` line. Reads return
/// these errors inside an [`io::Error`]; see [`WrapError::of`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrapError {
    /// A wrapper's line is followed by neither compressed data nor a batch.
    #[error(
        "the line `{line}' is followed by data of an unknown compression; keep the batch and ask the sender"
    )]
    NotCompressed {
        /// The line.
        line: String,
    },
    /// More nested wrappers than [`WrapLimits::layers_max`].
    #[error("the batch is wrapped in more than {0} layers; if you trust it, unwrap it by hand")]
    TooManyLayers(usize),
    /// A decoder could not be initialised.
    #[error("cannot expand {kind} data: {what}")]
    Unable {
        /// The compression.
        kind: Compression,
        /// The reason.
        what: String,
    },
    /// The data ends early.
    #[error(
        "{kind} data is truncated after byte {at}; {expanded} bytes were recovered; ask the sender for the batch again"
    )]
    Truncated {
        /// The compression.
        kind: Compression,
        /// Compressed bytes present.
        at: u64,
        /// Bytes that were expanded.
        expanded: u64,
    },
    /// The data is damaged.
    #[error(
        "{kind} data is damaged near byte {at}: {what}; {expanded} bytes were recovered; ask the sender for the batch again"
    )]
    Damaged {
        /// The compression.
        kind: Compression,
        /// The error of the decoder.
        what: String,
        /// Offset in the compressed data where the decoder noticed it.
        at: u64,
        /// Bytes that were expanded.
        expanded: u64,
    },
    /// The data expands to more than [`WrapLimits::expanded_bytes_max`].
    #[error(
        "{kind} data expands to more than the limit of {limit} bytes; raise the limit if you trust the batch"
    )]
    TooLarge {
        /// The compression.
        kind: Compression,
        /// The limit, bytes.
        limit: u64,
    },
    /// The data has more than [`MEMBERS_MAX`] members, most of them smaller than [`MEMBER_BYTES`].
    #[error(
        "{kind} data consists of more than {MEMBERS_MAX} small parts, up to byte {at}; if you trust it, expand it by hand"
    )]
    TooManyMembers {
        /// The compression.
        kind: Compression,
        /// The place of the next one in the compressed data.
        at: u64,
    },
    /// The data expands by more than [`WrapLimits::ratio_max`].
    #[error(
        "{kind} data expands more than {limit} times (from {at} to {expanded} bytes); raise the limit if you trust the batch"
    )]
    RatioExceeded {
        /// The compression.
        kind: Compression,
        /// The limit, expanded bytes per compressed byte.
        limit: u64,
        /// Compressed bytes used.
        at: u64,
        /// Bytes that were expanded.
        expanded: u64,
    },
}

impl WrapError {
    /// Returns the wrap error inside a read error, if there is one.
    pub fn of(error: &io::Error) -> Option<&WrapError> {
        error.get_ref()?.downcast_ref()
    }
}

impl From<WrapError> for io::Error {
    fn from(error: WrapError) -> io::Error {
        let kind = match error {
            WrapError::Truncated { .. } => io::ErrorKind::UnexpectedEof,
            _ => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    }
}

/// A batch whose wrappers are removed while reading; reads return the plain batch or bare article.
///
/// Everything that can be expanded is returned before an error.
#[derive(Debug)]
pub struct Unwrapped<R> {
    source: PeekReader<Source<R>>,
    layers: Vec<Compression>,
    /// Number of removed `#!` lines.
    lines: usize,
}

#[derive(Debug)]
enum Source<R> {
    Raw(R),
    Layer(Box<Expander<PeekReader<Source<R>>>>),
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

/// Detects the wrappers at the start of `reader` and removes them.
///
/// Input without a wrapper, or with a `#!` line of another kind, passes through unchanged.
///
/// # Errors
/// [`WrapError::NotCompressed`], [`WrapError::TooManyLayers`], [`WrapError::Unable`]. A failing
/// reader and damaged data cause errors of later reads.
pub fn open<R: Read>(reader: R, limits: WrapLimits) -> Result<Unwrapped<R>, WrapError> {
    let mut source = PeekReader::new(Source::Raw(reader));
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
                if line.is_c7
                    && !matches!(found, Some(Compression::Compress | Compression::Gzip)) =>
            {
                Some(Compression::C7)
            }
            (_, found) => found,
        };
        // Every other compression makes more of an empty batch: fewer bytes are a truncated one.
        let is_empty = match kind {
            Some(Compression::Compress) => head.len() < EMPTY_BELOW_BYTES,
            _ => line.is_some() && head.is_empty(),
        };
        if is_empty && !will_fail {
            layers.extend(kind);
            return Ok(Unwrapped {
                source: PeekReader::new(Source::Empty),
                layers,
                lines,
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
                source = PeekReader::new(Source::Layer(Box::new(Expander::new(
                    kind, source, limits,
                )?)));
            }
            // A wrapper's line before data that was never compressed: reading on loses nothing.
            (Some(_), None) if head.starts_with(b"#!") => {}
            (Some(line), None) => return Err(WrapError::NotCompressed { line: line.text }),
            (None, None) => {
                return Ok(Unwrapped {
                    source,
                    layers,
                    lines,
                });
            }
        }
    }
}

impl<R> Unwrapped<R> {
    /// The compressions that were removed, outermost first; empty for plain input.
    pub fn layers(&self) -> &[Compression] {
        &self.layers
    }

    /// Whether nothing was removed: all bytes of the input are read as they are.
    pub fn is_unchanged(&self) -> bool {
        self.lines == 0 && self.layers.is_empty()
    }

    /// Whether this is a wrapper's line or a header of compress without content, which the caller ignores silently.
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
            // A stranger wrote it, and a terminal may show it.
            text: line.escape_ascii().to_string(),
            bytes: end.saturating_add(1),
            is_c7: name == b"c7unbatch",
        })
    }
}

/// The compression of data that starts with `head`.
fn magic(head: &[u8]) -> Option<Compression> {
    match head {
        [0x1f, 0x9d, ..] => Some(Compression::Compress),
        [0x1f, 0x8b, ..] => Some(Compression::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Compression::Zstd),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
        // Next is the magic of a block or, in an empty file, of the end of the stream.
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
        ] => Some(Compression::Bzip2),
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
        ] => Some(Compression::Bzip2),
        _ => None,
    }
}
