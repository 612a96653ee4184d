//! Wraps a batch: compresses it after the `#!` line that makes other sites expand it.
//!
//! | compression | first line | supported by |
//! |---|---|---|
//! | none | none | all sites |
//! | compress | `#! cunbatch` | all sites since B News |
//! | gzip | `#! cunbatch` | C News whose `uncompress` reads gzip, INN (it runs `gzip -d`), Broadsheet |
//! | bzip2 | `#! bunbatch` | INN, Broadsheet |
//! | xz | `#! xunbatch` | Broadsheet, and INN with a local program of that name |
//! | zstd | `#! zunbatch` | Broadsheet, and INN with a local program of that name |
//!
//! INN's `send-uucp` writes `#! gunbatch` before gzip. C News does not know that line; INN accepts both.

use std::io::{self, Write};

use bzip2::write::BzEncoder;
use flate2::write::GzEncoder;
use liblzma::write::XzEncoder;

use super::Compression;
use super::lzw::Lzw;

/// Compressed bytes buffered before a write: 64 KiB.
const BUFFERED_BYTES: usize = 64 << 10;
/// Smallest, default and largest level: the default of gzip, bzip2 and xz is that of their programs, of zstd 3.
const LEVELS: &[(Compression, u32, u32, u32)] = &[
    (Compression::Gzip, 1, 6, 9),
    (Compression::Bzip2, 1, 9, 9),
    (Compression::Xz, 0, 6, 9),
    (Compression::Zstd, 1, 3, 19),
];

/// How to wrap a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WrapFormat {
    /// The compression; `None` leaves the batch as it is.
    pub kind: Option<Compression>,
    /// The compression level, see [`WrapFormat::levels`]. `None`: the default of the compression.
    pub level: Option<u32>,
    /// True to omit the `#!` line, for receivers that know the compression or detect it by the data.
    pub bare: bool,
}

impl WrapFormat {
    /// The names of compressions in settings.
    pub const WORDS: &[(&str, Option<Compression>)] = &[
        ("none", None),
        ("compress", Some(Compression::Compress)),
        ("gzip", Some(Compression::Gzip)),
        ("bzip2", Some(Compression::Bzip2)),
        ("xz", Some(Compression::Xz)),
        ("zstd", Some(Compression::Zstd)),
    ];

    /// Wraps with a compression at its default level, after its line.
    pub fn new(kind: Option<Compression>) -> WrapFormat {
        WrapFormat {
            kind,
            ..WrapFormat::default()
        }
    }

    /// Parses a name (`none`, `gzip`), or a name with a level (`zstd-19`).
    pub fn of(word: &str) -> Option<WrapFormat> {
        let (name, level) = match word.split_once('-') {
            Some((name, level)) => (name, Some(level.parse::<u32>().ok()?)),
            None => (word, None),
        };
        let (_, kind) = WrapFormat::WORDS.iter().find(|(known, _)| *known == name)?;
        let wrap_format = WrapFormat {
            level,
            ..WrapFormat::new(*kind)
        };
        let fits = match (level, wrap_format.levels()) {
            (None, _) => true,
            (Some(level), Some((least, most))) => (least..=most).contains(&level),
            (Some(_), None) => false,
        };
        fits.then_some(wrap_format)
    }

    /// The smallest and the largest level; `None` for compressions without levels.
    pub fn levels(&self) -> Option<(u32, u32)> {
        let row = LEVELS.iter().find(|row| Some(row.0) == self.kind)?;
        Some((row.1, row.3))
    }

    /// The first line, with its newline; empty if there is none.
    pub fn line(&self) -> &'static [u8] {
        match self.kind {
            _ if self.bare => b"",
            None | Some(Compression::C7 | Compression::Lzma) => b"",
            Some(Compression::Compress | Compression::Gzip) => b"#! cunbatch\n",
            Some(Compression::Bzip2) => b"#! bunbatch\n",
            Some(Compression::Xz) => b"#! xunbatch\n",
            Some(Compression::Zstd) => b"#! zunbatch\n",
        }
    }

    fn effective_level(&self) -> u32 {
        let row = LEVELS.iter().find(|row| Some(row.0) == self.kind);
        let (least, usual, most) = row.map_or((0, 0, 0), |row| (row.1, row.2, row.3));
        self.level.unwrap_or(usual).clamp(least, most)
    }

    /// Wraps a whole batch in memory.
    ///
    /// # Errors
    /// The compressor cannot allocate memory. [`Compression::C7`] and [`Compression::Lzma`] can only be read.
    pub fn wrap(&self, batch: &[u8]) -> io::Result<Vec<u8>> {
        let mut packer = WrapWriter::new(Vec::new(), *self)?;
        packer.write_all(batch)?;
        packer.finish()
    }
}

/// Wraps a batch while it is written, and writes the wrapped bytes to the writer given to it.
pub struct WrapWriter<W: Write> {
    inner: Inner<W>,
}

enum Inner<W: Write> {
    Plain(W),
    Compress(Box<Compressed<W>>),
    Gzip(GzEncoder<W>),
    Bzip2(BzEncoder<W>),
    Xz(XzEncoder<W>),
    Zstd(zstd::stream::write::Encoder<'static, W>),
}

struct Compressed<W> {
    writer: W,
    lzw: Lzw,
    out: Vec<u8>,
}

impl<W: Write> WrapWriter<W> {
    /// Writes the `#!` line, if any, and starts the compressor.
    ///
    /// # Errors
    /// The writer fails, or a compressor cannot be initialised.
    pub fn new(mut writer: W, wrap_format: WrapFormat) -> io::Result<WrapWriter<W>> {
        writer.write_all(wrap_format.line())?;
        let level = wrap_format.effective_level();
        let inner = match wrap_format.kind {
            None => Inner::Plain(writer),
            Some(Compression::Compress) => Inner::Compress(Box::new(Compressed {
                writer,
                lzw: Lzw::new(),
                out: Vec::with_capacity(BUFFERED_BYTES),
            })),
            Some(Compression::Gzip) => {
                Inner::Gzip(GzEncoder::new(writer, flate2::Compression::new(level)))
            }
            Some(Compression::Bzip2) => {
                Inner::Bzip2(BzEncoder::new(writer, bzip2::Compression::new(level)))
            }
            Some(Compression::Xz) => Inner::Xz(XzEncoder::new(writer, level)),
            Some(Compression::Zstd) => {
                let level = i32::try_from(level).unwrap_or_default();
                Inner::Zstd(zstd::stream::write::Encoder::new(writer, level)?)
            }
            Some(kind @ (Compression::C7 | Compression::Lzma)) => {
                return Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    format!("{kind} can be read, not written"),
                ));
            }
        };
        Ok(WrapWriter { inner })
    }

    /// Writes the end of the compressed data and returns the writer, which is not flushed.
    ///
    /// # Errors
    /// The writer fails.
    pub fn finish(self) -> io::Result<W> {
        match self.inner {
            Inner::Plain(writer) => Ok(writer),
            Inner::Compress(mut compressed) => {
                compressed.lzw.finish(&mut compressed.out);
                compressed.writer.write_all(&compressed.out)?;
                Ok(compressed.writer)
            }
            Inner::Gzip(encoder) => encoder.finish(),
            Inner::Bzip2(encoder) => encoder.finish(),
            Inner::Xz(encoder) => encoder.finish(),
            Inner::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for WrapWriter<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        match &mut self.inner {
            Inner::Plain(writer) => writer.write(text),
            Inner::Compress(compressed) => compressed.write(text),
            Inner::Gzip(encoder) => encoder.write(text),
            Inner::Bzip2(encoder) => encoder.write(text),
            Inner::Xz(encoder) => encoder.write(text),
            Inner::Zstd(encoder) => encoder.write(text),
        }
    }

    /// Flushes the writer only. [`WrapWriter::finish`] writes what the compressor still holds.
    fn flush(&mut self) -> io::Result<()> {
        match &mut self.inner {
            Inner::Plain(writer) => writer.flush(),
            Inner::Compress(compressed) => compressed.writer.flush(),
            Inner::Gzip(encoder) => encoder.get_mut().flush(),
            Inner::Bzip2(encoder) => encoder.get_mut().flush(),
            Inner::Xz(encoder) => encoder.get_mut().flush(),
            Inner::Zstd(encoder) => encoder.get_mut().flush(),
        }
    }
}

impl<W: Write> Compressed<W> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let text = text.get(..BUFFERED_BYTES).unwrap_or(text);
        self.lzw.push(text, &mut self.out);
        if self.out.len() >= BUFFERED_BYTES {
            self.writer.write_all(&self.out)?;
            self.out.clear();
        }
        Ok(text.len())
    }
}
