//! CAF files of timecaf: a header, a bitmap of free blocks, a table of contents, articles.
//!
//! Numbers are those of the machine that wrote the file; here of a 64-bit little-endian one. After the header of 96 bytes comes the bitmap, then
//! an entry of 24 bytes for each number from `low` on: offset, size (0: no article) and time.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes of the header.
const HEADER_BYTES: usize = 96;
/// Bytes of an entry of the table.
const ENTRY_BYTES: u64 = 24;
/// Largest article that is read from a spool, bytes; larger ones are reported.
pub const ARTICLE_BYTES_MAX: u64 = 1 << 30;

/// The header of a CAF file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    low: u64,
    slots: u64,
    high: u64,
    table_at: u64,
}

/// Where an article lies in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Its offset.
    pub offset: u64,
    /// Its bytes, in wire form.
    pub size: u64,
}

impl Header {
    /// Parses a header. `None`: it is no CAF file.
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Option<Header> {
        if !bytes.starts_with(b"CRMT") {
            return None;
        }
        let number = |at: usize| {
            let field: [u8; 8] = bytes.get(at..at + 8)?.try_into().ok()?;
            Some(u64::from_le_bytes(field))
        };
        let (low, slots, high) = (number(8)?, number(16)?, number(24)?);
        let table_at = (HEADER_BYTES as u64).checked_add(number(56)?)?;
        let last = high.checked_sub(low)?;
        (last < slots).then_some(Header {
            low,
            slots,
            high,
            table_at,
        })
    }

    /// The offset of the entry of a number. `None`: the file never had it.
    pub fn entry_at(&self, number: u64) -> Option<u64> {
        let slot = number.checked_sub(self.low)?;
        if number > self.high || slot >= self.slots {
            return None;
        }
        self.table_at.checked_add(slot.checked_mul(ENTRY_BYTES)?)
    }
}

/// Finds an article in an open file. `None`: it is not there any more.
///
/// # Errors
/// The file cannot be read, or is no CAF file.
pub fn find(file: &File, number: u64) -> io::Result<Option<Place>> {
    let mut header = [0; HEADER_BYTES];
    file.read_exact_at(&mut header, 0)?;
    let header = Header::parse(&header).ok_or_else(|| {
        io::Error::other("it is no CAF file of a 64-bit INN on this kind of machine")
    })?;
    let Some(at) = header.entry_at(number) else {
        return Ok(None);
    };
    let mut entry = [0; ENTRY_BYTES as usize];
    file.read_exact_at(&mut entry, at)?;
    let [offset, size, _] = entry.as_chunks::<8>().0 else {
        return Ok(None);
    };
    let place = Place {
        offset: u64::from_le_bytes(*offset),
        size: u64::from_le_bytes(*size),
    };
    match place.size {
        0 => Ok(None),
        size if size > ARTICLE_BYTES_MAX => Err(io::Error::other(format!(
            "the table says that the article has {size} bytes"
        ))),
        _ => Ok(Some(place)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_article_is_found_by_its_number() {
        let mut bytes = vec![0; HEADER_BYTES + 416];
        bytes[..4].copy_from_slice(b"CRMT");
        for (at, number) in [(8, 5u64), (16, 10), (24, 6), (56, 416)] {
            bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
        }
        for (offset, size) in [(4096u64, 3u64), (8192, 0)] {
            bytes.extend_from_slice(&offset.to_le_bytes());
            bytes.extend_from_slice(&size.to_le_bytes());
            bytes.extend_from_slice(&[0; 8]);
        }
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&bytes, 0).unwrap();
        assert_eq!(
            find(&file, 5).unwrap(),
            Some(Place {
                offset: 4096,
                size: 3
            })
        );
        // Removed, and never there.
        assert_eq!(find(&file, 6).unwrap(), None);
        assert_eq!(find(&file, 7).unwrap(), None);
        assert_eq!(find(&file, 4).unwrap(), None);
    }

    proptest! {
        #[test]
        fn anything_is_read(mut bytes in prop::collection::vec(any::<u8>(), HEADER_BYTES), number in any::<u64>()) {
            bytes[..4].copy_from_slice(b"CRMT");
            let header = Header::parse(bytes.as_slice().try_into().unwrap());
            let _ = header.and_then(|header| header.entry_at(number));
        }
    }
}
