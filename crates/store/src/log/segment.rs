//! The header of a segment's `.art` file.

use std::num::NonZeroU64;
use std::path::Path;

use crate::Error;
use crate::io::bytes::{put_u32, put_u64, u32_at, u64_at};
use crate::io::disk::File;

/// Bytes before the first record of an `.art` file.
pub const SEGMENT_HEADER_BYTES: u64 = 64;
/// The format of `.art`.
const VERSION: u16 = 1;
/// The offset of the word that says where the articles are, beside the version.
const PLACE_AT: usize = 8;
/// That word for a segment whose articles are in an object store.
const AWAY: u32 = (1 << 16) | VERSION as u32;
/// The offset of the checksum in the name of the object that has the articles.
const OBJECT_AT: usize = 48;
/// The position of the first segment: zero is never an address.
pub const FIRST_BASE: u64 = 4096;
/// Smallest segment, bytes.
pub const SEGMENT_BYTES_MIN: u64 = 1 << 20;
/// Largest segment, bytes: offsets in it are 32 bits.
pub const SEGMENT_BYTES_MAX: u64 = 2 << 30;
/// Smallest size of a segment where the settings allow it, bytes.
pub const SIZE_BYTES_MIN: u64 = 4 << 20;
/// A segment is as large as the articles of the spool divided by this: small enough that their space comes back piece by piece, and
/// large enough that there are few.
const SPOOL_PARTS: u64 = 16;
/// The copies at its start are at most one in this many parts of a segment.
const COPIES_PARTS: u64 = 8;

/// The size of a new segment, bytes: it follows the `spool`, the bytes of its articles; `copies` is what the segment begins with, and `max` the
/// setting.
pub fn size_for(spool: u64, copies: u64, max: u64) -> u64 {
    let wanted = (spool / SPOOL_PARTS).max(copies.saturating_mul(COPIES_PARTS));
    wanted.max(SIZE_BYTES_MIN).min(max)
}

const MAGIC: &[u8; 8] = b"BSsegmnt";

/// The header of an `.art` file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The log position of its first byte.
    pub base: u64,
    /// Positions set aside for it: the next segment begins at `base + span` at the earliest.
    pub span: u64,
    /// Where in the file the table of a repacked segment lies; 0: each record lies at its position.
    pub moved_at: u64,
    /// The commit that finds the segment at this size begins the next one, bytes. A longer commit may exceed it, up to the span.
    pub size: u64,
    /// The checksum in the name of the object that has the segment's bytes; the file is a cache of them. `None`: the file has them all.
    pub object: Option<NonZeroU64>,
}

impl SegmentHeader {
    /// The header of a segment whose records lie at their positions, of a spool without articles.
    pub fn plain(base: u64, span: u64) -> SegmentHeader {
        SegmentHeader {
            base,
            span,
            moved_at: 0,
            size: size_for(0, 0, span),
            object: None,
        }
    }

    /// The header as it is laid down.
    pub fn to_bytes(self) -> [u8; SEGMENT_HEADER_BYTES as usize] {
        let mut bytes = [0; SEGMENT_HEADER_BYTES as usize];
        if let Some(place) = bytes.get_mut(..8) {
            place.copy_from_slice(MAGIC);
        }
        let place = self.object.map_or(u32::from(VERSION), |_| AWAY);
        put_u32(&mut bytes, PLACE_AT, place);
        put_u64(&mut bytes, 16, self.base);
        put_u64(&mut bytes, 24, self.span);
        put_u64(&mut bytes, 32, self.moved_at);
        put_u64(&mut bytes, 40, self.size);
        put_u64(
            &mut bytes,
            OBJECT_AT,
            self.object.map_or(0, NonZeroU64::get),
        );
        let sum = crc32c::crc32c(bytes.get(..60).unwrap_or_default());
        put_u32(&mut bytes, 60, sum);
        bytes
    }

    /// Checks that the header is of the segment at `base`.
    ///
    /// # Errors
    /// [`Error::Damaged`] if it is not.
    pub fn check_base(&self, base: u64, path: &Path) -> Result<(), Error> {
        if self.base == base {
            return Ok(());
        }
        Err(Error::Damaged {
            path: path.to_owned(),
            offset: 16,
            what: "its header names another segment",
        })
    }

    /// Whether the header at the start of a file, which may be damaged, calls the articles those of an object.
    pub fn names_object(file: &dyn File) -> std::io::Result<bool> {
        let mut place = [0; 4];
        let got = file.read_at(&mut place, PLACE_AT as u64)?;
        Ok(got == place.len() && place == AWAY.to_le_bytes())
    }

    /// Reads and checks the header of an open `.art` file.
    pub fn read(file: &dyn File, path: &Path) -> Result<SegmentHeader, Error> {
        let mut bytes = [0; SEGMENT_HEADER_BYTES as usize];
        file.read_at(&mut bytes, 0)
            .map_err(|source| Error::io("read", path, source))?;
        let damaged = |what| Error::Damaged {
            path: path.to_owned(),
            offset: 0,
            what,
        };
        if bytes.get(..8) != Some(MAGIC)
            || u32_at(&bytes, 60) != Some(crc32c::crc32c(bytes.get(..60).unwrap_or_default()))
        {
            return Err(damaged("the segment's header is not ours"));
        }
        let version = u32_at(&bytes, PLACE_AT).unwrap_or(0) as u16;
        if version != VERSION {
            return Err(Error::Version {
                path: path.to_owned(),
                found: version,
                known: VERSION,
            });
        }
        let word = |at| u64_at(&bytes, at);
        let words = (word(16), word(24), word(32), word(40));
        let (Some(base), Some(span), Some(moved_at), Some(size)) = words else {
            return Err(damaged("the segment's header is short"));
        };
        Ok(SegmentHeader {
            base,
            span,
            moved_at,
            size,
            object: u64_at(&bytes, OBJECT_AT).and_then(NonZeroU64::new),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_follows_the_spool() {
        const MIB: u64 = 1 << 20;
        let sizes: Vec<u64> = [0, 60, 80, 1_024, 4_096, 80_000]
            .map(|spool| size_for(spool * MIB, 80_000, 256 * MIB) / MIB)
            .into();
        assert_eq!(sizes, [4, 4, 5, 64, 256, 256]);
        // The copies of 45,000 groups; a setting.
        assert_eq!(size_for(80 * MIB, 6 * MIB, 256 * MIB), 48 * MIB);
        assert_eq!(size_for(80_000 * MIB, 6 * MIB, MIB), MIB);
    }
}
