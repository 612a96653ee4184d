//! Wrapping a batch: compressed, behind the `#!` line that makes other sites expand it.
//!
//! | compression | first line | who takes it |
//! |---|---|---|
//! | none | none | everybody |
//! | compress | `#! cunbatch` | everybody since B News |
//! | gzip | `#! cunbatch` | C News whose `uncompress` reads gzip, every INN (it runs `gzip -d`), Broadsheet |
//! | bzip2 | `#! bunbatch` | INN, Broadsheet |
//! | xz | `#! xunbatch` | Broadsheet, and INN where somebody wrote such a program |
//! | zstd | `#! zunbatch` | Broadsheet, and INN where somebody wrote such a program |
//!
//! INN's `send-uucp` writes `#! gunbatch` in front of gzip. C News does not know that line, and INN takes both.

use std::io::{self, Write};

use bzip2::write::BzEncoder;
use flate2::write::GzEncoder;
use liblzma::write::XzEncoder;

use super::Kind;
use super::lzw::Lzw;

/// Compressed bytes gathered before they are written: 64 KiB.
const GATHERED_BYTES: usize = 64 << 10;
/// Level when none is said: of gzip, bzip2 and xz what their programs use, of zstd 3.
const LEVELS: &[(Kind, u32, u32, u32)] = &[
    (Kind::Gzip, 1, 6, 9),
    (Kind::Bzip2, 1, 9, 9),
    (Kind::Xz, 0, 6, 9),
    (Kind::Zstd, 1, 3, 19),
];

/// How a batch is to be wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Packing {
    /// The compression; none leaves the batch as it is.
    pub kind: Option<Kind>,
    /// How hard to try, see [`Packing::levels`]. None: as the programs of that name do by themselves.
    pub level: Option<u32>,
    /// Without the `#!` line, for receivers that are told in another way, or look at the data.
    pub bare: bool,
}

impl Packing {
    /// The words for compressions, as settings have them.
    pub const WORDS: &[(&str, Option<Kind>)] = &[
        ("none", None),
        ("compress", Some(Kind::Compress)),
        ("gzip", Some(Kind::Gzip)),
        ("bzip2", Some(Kind::Bzip2)),
        ("xz", Some(Kind::Xz)),
        ("zstd", Some(Kind::Zstd)),
    ];

    /// Wrapping with a compression at its usual level, behind its line.
    pub fn new(kind: Option<Kind>) -> Packing {
        Packing {
            kind,
            ..Packing::default()
        }
    }

    /// What a word says: `none`, `gzip`, or with a level `zstd-19`.
    pub fn of(word: &str) -> Option<Packing> {
        let (name, level) = match word.split_once('-') {
            Some((name, level)) => (name, Some(level.parse::<u32>().ok()?)),
            None => (word, None),
        };
        let (_, kind) = Packing::WORDS.iter().find(|(known, _)| *known == name)?;
        let packing = Packing {
            level,
            ..Packing::new(*kind)
        };
        let fits = match (level, packing.levels()) {
            (None, _) => true,
            (Some(level), Some((least, most))) => (least..=most).contains(&level),
            (Some(_), None) => false,
        };
        fits.then_some(packing)
    }

    /// The least and the most a level may be; none where there are no levels.
    pub fn levels(&self) -> Option<(u32, u32)> {
        let row = LEVELS.iter().find(|row| Some(row.0) == self.kind)?;
        Some((row.1, row.3))
    }

    /// The line in front, with its newline; empty for none.
    pub fn line(&self) -> &'static [u8] {
        match self.kind {
            _ if self.bare => b"",
            None | Some(Kind::C7) => b"",
            Some(Kind::Compress | Kind::Gzip) => b"#! cunbatch\n",
            Some(Kind::Bzip2) => b"#! bunbatch\n",
            Some(Kind::Xz) => b"#! xunbatch\n",
            Some(Kind::Zstd) => b"#! zunbatch\n",
        }
    }

    fn level_in_force(&self) -> u32 {
        let row = LEVELS.iter().find(|row| Some(row.0) == self.kind);
        let (least, usual, most) = row.map_or((0, 0, 0), |row| (row.1, row.2, row.3));
        self.level.unwrap_or(usual).clamp(least, most)
    }

    /// Wraps a whole batch that lies in memory.
    ///
    /// # Errors
    /// A compressor could not be set up, or failed: it had no memory. [`Kind::C7`] is only read, never written.
    pub fn pack(&self, batch: &[u8]) -> io::Result<Vec<u8>> {
        let mut packer = Packer::new(Vec::new(), *self)?;
        packer.write_all(batch)?;
        packer.finish()
    }
}

/// Wraps a batch while it is written. What is written to it comes out compressed in the writer given to it.
pub struct Packer<W: Write> {
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

impl<W: Write> Packer<W> {
    /// Writes the `#!` line, if there is to be one, and begins.
    ///
    /// # Errors
    /// The writer fails, or a compressor could not be set up.
    pub fn new(mut writer: W, packing: Packing) -> io::Result<Packer<W>> {
        writer.write_all(packing.line())?;
        let level = packing.level_in_force();
        let inner = match packing.kind {
            None => Inner::Plain(writer),
            Some(Kind::Compress) => Inner::Compress(Box::new(Compressed {
                writer,
                lzw: Lzw::new(),
                out: Vec::with_capacity(GATHERED_BYTES),
            })),
            Some(Kind::Gzip) => {
                Inner::Gzip(GzEncoder::new(writer, flate2::Compression::new(level)))
            }
            Some(Kind::Bzip2) => {
                Inner::Bzip2(BzEncoder::new(writer, bzip2::Compression::new(level)))
            }
            Some(Kind::Xz) => Inner::Xz(XzEncoder::new(writer, level)),
            Some(Kind::Zstd) => {
                let level = i32::try_from(level).unwrap_or_default();
                Inner::Zstd(zstd::stream::write::Encoder::new(writer, level)?)
            }
            Some(Kind::C7) => {
                return Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    "the 7-bit code is read here, but not written",
                ));
            }
        };
        Ok(Packer { inner })
    }

    /// Writes the end of the compressed data, and gives the writer back; it is not flushed.
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

impl<W: Write> Write for Packer<W> {
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

    /// Flushes the writer. What a compressor still holds is written by [`Packer::finish`].
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
        let text = text.get(..GATHERED_BYTES).unwrap_or(text);
        self.lzw.push(text, &mut self.out);
        if self.out.len() >= GATHERED_BYTES {
            self.writer.write_all(&self.out)?;
            self.out.clear();
        }
        Ok(text.len())
    }
}
