//! Wrapped (compressed) batches: detects the compression by the first line or the magic bytes, expands the batch while
//! reading, and wraps batches for sending ([`WrapFormat`]).
//!
//! | first line | compression | also detected without that line |
//! |---|---|---|
//! | `#! cunbatch` | compress (.Z), 9 to 16 bits, block mode or not | `1F 9D` |
//! | `#! c7unbatch` | the 7-bit code of B and C News around one of the others | no |
//! | `#! gunbatch` | gzip, any number of members | `1F 8B` |
//! | `#! zunbatch` | zstd (or, as INN writes it, gzip) | `28 B5 2F FD`, or `50` to `5F` and `2A 4D 18` (a skippable frame) |
//! | `#! bunbatch`, `#! bzunbatch` | bzip2 | `BZh` and a block |
//! | `#! xunbatch` | xz | `FD 37 7A 58 5A 00` |
//! | – | lzma (`.lzma`, before xz) | `5D` and a header that `xz` would take |
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
mod trailer;

use std::fmt;
use std::io::{self, Read};

use expand::Expander;
use peek::PeekReader;

pub use pack::{WrapFormat, WrapWriter};
pub use trailer::{TRAILER_BYTES_MAX, Trailer};

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
/// Default of [`WrapLimits::memory_bytes_max`]: 128 MiB. `zstd -22` has a window as large as this, and `xz -9` needs 65 MiB.
pub const MEMORY_BYTES_MAX: u64 = 128 << 20;

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
    /// The format of LZMA before xz, files called `.lzma`. It can only be read.
    Lzma,
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
            Compression::Lzma => "lzma",
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
    /// Largest window of zstd, and most memory of xz and lzma, bytes.
    pub memory_bytes_max: u64,
}

impl Default for WrapLimits {
    fn default() -> WrapLimits {
        WrapLimits {
            expanded_bytes_max: EXPANDED_BYTES_MAX,
            ratio_max: RATIO_MAX,
            layers_max: LAYERS_MAX,
            memory_bytes_max: MEMORY_BYTES_MAX,
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
    /// Bytes that are neither text nor another member follow the end of the data, all of which was expanded.
    #[error(
        "{kind} data ends at byte {at}, and unknown data follows; {expanded} bytes were recovered; ask the sender whether the batch is whole"
    )]
    FollowedByData {
        /// The compression.
        kind: Compression,
        /// Offset of the data that follows.
        at: u64,
        /// Bytes that were expanded.
        expanded: u64,
    },
    /// The data needs more memory than [`WrapLimits::memory_bytes_max`].
    #[error(
        "{kind} data needs {needed} bytes of memory to be expanded, more than the limit of {limit}; raise limits.expansion_memory_bytes_max \
         if the machine has that memory, or expand it by hand"
    )]
    NeedsMemory {
        /// The compression.
        kind: Compression,
        /// The memory it needs, bytes.
        needed: u64,
        /// The limit, bytes.
        limit: u64,
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

impl<R> Source<R> {
    /// The text behind the end of a layer, the innermost first.
    fn trailer(&self) -> Option<&Trailer> {
        match self {
            Source::Layer(expander) => expander
                .trailer()
                .or_else(|| expander.reader().inner().trailer()),
            Source::Raw(_) | Source::Empty => None,
        }
    }
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

/// Removes one wrapper, whose compression is known from elsewhere; what is inside stays as it is.
///
/// # Errors
/// [`WrapError::Unable`].
pub fn expand<R: Read>(
    kind: Compression,
    reader: R,
    limits: WrapLimits,
) -> Result<Unwrapped<R>, WrapError> {
    let inner = PeekReader::new(Source::Raw(reader));
    let layer = Source::Layer(Box::new(Expander::new(kind, inner, limits)?));
    Ok(Unwrapped {
        source: PeekReader::new(layer),
        layers: vec![kind],
        lines: 0,
    })
}

impl<R> Unwrapped<R> {
    /// The compressions that were removed, outermost first; empty for plain input.
    pub fn layers(&self) -> &[Compression] {
        &self.layers
    }

    /// The text of other programs behind the end of compressed data, which is ignored; known at the end of the batch.
    pub fn trailer(&self) -> Option<&Trailer> {
        self.source.inner().trailer()
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

/// Reads all of a wrapped batch, also where unknown data follows its end: that is no error of a read, and the caller asks for it at the end.
#[derive(Debug)]
pub struct UpToEnd<R> {
    unwrapped: Unwrapped<R>,
    followed: Option<WrapError>,
}

impl<R> UpToEnd<R> {
    /// Reads on where `unwrapped` is.
    pub fn new(unwrapped: Unwrapped<R>) -> UpToEnd<R> {
        UpToEnd {
            unwrapped,
            followed: None,
        }
    }

    /// What is read.
    pub fn unwrapped(&self) -> &Unwrapped<R> {
        &self.unwrapped
    }

    /// The [`WrapError::FollowedByData`] of the batch, when all of it was read.
    pub fn followed_by(&self) -> Option<&WrapError> {
        self.followed.as_ref()
    }
}

impl<R: Read> Read for UpToEnd<R> {
    #[inline]
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.unwrapped.read(out) {
            Err(error) => match WrapError::of(&error) {
                Some(followed @ WrapError::FollowedByData { .. }) => {
                    self.followed = Some(followed.clone());
                    Ok(0)
                }
                _ => Err(error),
            },
            read => read,
        }
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
        // A frame, or one that decoders skip (RFC 8878, 3.1.2).
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            Some(Compression::Zstd)
        }
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
        [0x5d, rest @ ..] if is_lzma(rest) => Some(Compression::Lzma),
        _ => None,
    }
}

/// Whether a header of lzma goes on here, which has no magic. Behind the usual properties are the size of the dictionary (2^n, or 2^n + 2^(n-1)),
/// the expanded size, less than 256 GiB or unknown, and the zero with which its data begins. Text has no zeros there.
fn is_lzma(rest: &[u8]) -> bool {
    let Some(([a, b, c, d, size @ .., first], _)) = rest.split_first_chunk::<13>() else {
        return false;
    };
    let dictionary = u32::from_le_bytes([*a, *b, *c, *d]);
    let top = dictionary.checked_ilog2().map_or(0, |log| 1_u32 << log);
    let size = u64::from_le_bytes(*size);
    dictionary >= 4096
        && (dictionary == top || dictionary == top | top >> 1)
        && (size == u64::MAX || size >> 38 == 0)
        && *first == 0
}
