//! Cyclic buffers of CNFS: a header with the place where INN writes next, a bitmap of the blocks where an article begins, and articles, each
//! after a header of its own.
//!
//! The header of the buffer is text. Bitmap and article headers are in the order of the machine that wrote them; here of a 64-bit
//! little-endian one.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::inn::caf::{ARTICLE_BYTES_MAX, Place};
use crate::regular;

/// Bytes of the header, before the bitmap.
const HEADER_BYTES: u64 = 512;
/// Bytes of a block before version 4.
const OLD_BLOCK_BYTES: u64 = 512;
/// Largest block, bytes.
const BLOCK_BYTES_MAX: u64 = 16 << 10;
/// Bytes of the header of an article.
const ARTICLE_HEADER_BYTES: u64 = 24;

/// An open buffer.
#[derive(Debug)]
pub struct Buffer {
    file: File,
    path: PathBuf,
    header: Header,
}

/// The header of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Where INN writes next.
    free: u64,
    cycle: u32,
    block_bytes: u64,
}

impl Header {
    /// Parses a header. `None`: it is no buffer of a known version.
    pub fn parse(bytes: &[u8]) -> Option<Header> {
        let text = |at: usize, length: usize| {
            let field = bytes.get(at..at + length)?;
            let end = field.iter().position(|&b| b == 0).unwrap_or(field.len());
            std::str::from_utf8(field.get(..end)?).ok()
        };
        let number = |at: usize| u64::from_str_radix(text(at, 16)?.trim(), 16).ok();
        let block_bytes = match text(0, 8)? {
            "CBuf4" => number(192)?,
            "CBuf1" | "CBuf3" | "Cycbuff" => OLD_BLOCK_BYTES,
            _ => return None,
        };
        let is_size = block_bytes.is_power_of_two() && block_bytes <= BLOCK_BYTES_MAX;
        (is_size && block_bytes >= OLD_BLOCK_BYTES).then_some(Header {
            free: number(104)?,
            cycle: u32::try_from(number(136)?).ok()?,
            block_bytes,
        })
    }

    /// Whether what was written at an offset in a cycle was not overwritten since.
    pub fn may_have(&self, offset: u64, cycle: u32) -> bool {
        let is_last = cycle == self.cycle.wrapping_sub(1) || cycle == u32::MAX && self.cycle == 2;
        cycle == self.cycle || is_last && offset > self.free
    }

    /// The offset of the byte of the bitmap that tells whether an article begins in a block, and the bit.
    fn bit_of(&self, block: u64) -> (u64, u8) {
        // The bits of each 64-bit word from the highest on; the word is little-endian.
        let (word, bit) = (block / 64, 63 - block % 64);
        (HEADER_BYTES + word * 8 + bit / 8, 1 << (bit % 8))
    }
}

impl Buffer {
    /// Opens a buffer.
    ///
    /// # Errors
    /// It cannot be read, or is no buffer.
    pub fn open(path: &Path) -> io::Result<Buffer> {
        let file = regular::open(path)?;
        let mut bytes = [0; HEADER_BYTES as usize];
        file.read_exact_at(&mut bytes, 0)?;
        let header = Header::parse(&bytes)
            .ok_or_else(|| io::Error::other("it is no cyclic buffer of INN 2"))?;
        Ok(Buffer {
            file,
            path: path.to_owned(),
            header,
        })
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Finds the article that was written to a block in a cycle. `None`: it was cancelled or overwritten.
    ///
    /// # Errors
    /// The buffer cannot be read, or is damaged.
    pub fn find(&self, block: u32, cycle: u32) -> io::Result<Option<Place>> {
        let offset = u64::from(block) * self.header.block_bytes;
        if !self.header.may_have(offset, cycle) {
            return Ok(None);
        }
        let (at, bit) = self.header.bit_of(u64::from(block));
        let mut bits = [0];
        self.file.read_exact_at(&mut bits, at)?;
        if bits[0] & bit == 0 {
            return Ok(None);
        }
        let mut head = [0; ARTICLE_HEADER_BYTES as usize];
        self.file.read_exact_at(&mut head, offset)?;
        let [size, _] = head.as_chunks::<4>().0.get(..2).unwrap_or_default() else {
            return Ok(None);
        };
        // In network order, in the low half of a word.
        let size = u64::from(u32::from_be_bytes(*size));
        if size == 0 || size > ARTICLE_BYTES_MAX {
            return Err(io::Error::other(format!(
                "block {block} says that its article has {size} bytes"
            )));
        }
        Ok(Some(Place {
            offset: offset + ARTICLE_HEADER_BYTES,
            size,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header(free: u64, cycle: u32) -> Vec<u8> {
        let mut bytes = vec![0; 512];
        bytes[..5].copy_from_slice(b"CBuf4");
        for (at, number) in [
            (88, 1 << 20),
            (104, free),
            (136, u64::from(cycle)),
            (192, 4096),
        ] {
            bytes[at..at + 16].copy_from_slice(format!("{number:016x}").as_bytes());
        }
        bytes
    }

    #[test]
    fn overwritten_articles_are_gone() {
        let header = Header::parse(&header(8192, 3)).unwrap();
        assert_eq!(header.block_bytes, 4096);
        assert!(header.may_have(4096, 3));
        assert!(header.may_have(12288, 2));
        assert!(!header.may_have(4096, 2));
        assert!(!header.may_have(12288, 1));
        assert!(Header::parse(b"CBuf9").is_none());
    }

    #[test]
    fn an_article_is_found_if_its_bit_is_set() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut bytes = header(1 << 16, 1);
        bytes.resize(1 << 17, 0);
        // Block 5: the sixth bit from the top of the first word.
        bytes[512 + 7] = 0b100;
        bytes[5 * 4096..5 * 4096 + 4].copy_from_slice(&77u32.to_be_bytes());
        std::fs::write(file.path(), bytes).unwrap();
        let buffer = Buffer::open(file.path()).unwrap();
        assert_eq!(
            buffer.find(5, 1).unwrap(),
            Some(Place {
                offset: 5 * 4096 + 24,
                size: 77
            })
        );
        assert_eq!(buffer.find(6, 1).unwrap(), None);
    }

    proptest! {
        #[test]
        fn anything_is_read(mut bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            if bytes.len() > 5 { bytes[..5].copy_from_slice(b"CBuf4"); }
            let _ = Header::parse(&bytes);
        }
    }
}
