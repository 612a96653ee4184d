//! Entries of the log. The byte picture is in docs/formats/cluster.md.

use article::crc32c;

/// Bytes of the fixed header.
pub const HEADER_BYTES: usize = 40;
/// The largest entry, bytes. The servers must accept messages of this size (`max_payload`).
pub const ENTRY_BYTES_MAX: usize = 9 << 20;
/// The layout that this program writes, and the only one that it reads.
const VERSION: u8 = 1;
const MAGIC: &[u8; 4] = b"BSe1";

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Articles ([`crate::articles_entry`]).
    Articles = 1,
    /// The settings by which all nodes decide from here on. The payload is empty; `rules` of the entry is their hash.
    Rules = 2,
    /// The decision of a run of expire ([`crate::expiry`]).
    Expire = 3,
    /// Changes of groups by a command ([`crate::group_change`]).
    Groups = 4,
    /// Articles that an administrator removes or restores ([`crate::removal`]).
    Removal = 5,
    /// New settings by which all nodes decide from here on ([`crate::settings_change`]); `rules` of the entry is their hash.
    Settings = 6,
    /// The version of the decisions by which all nodes decide from here on ([`crate::decisions`]).
    Decisions = 7,
}

impl Kind {
    fn from_byte(byte: u8) -> Option<Kind> {
        [
            Kind::Articles,
            Kind::Rules,
            Kind::Expire,
            Kind::Groups,
            Kind::Removal,
            Kind::Settings,
            Kind::Decisions,
        ]
        .into_iter()
        .find(|kind| *kind as u8 == byte)
    }
}

/// One entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its kind.
    pub kind: Kind,
    /// The process that appended it: a random number for each start of a daemon.
    pub origin: u64,
    /// Counts the entries of the process. With `origin` it is the id of the message (Nats-Msg-Id), by which the servers drop repetitions.
    pub counter: u64,
    /// The time of arrival, microseconds since 1970. All nodes use it in place of their clocks.
    pub arrival: i64,
    /// The hash of the settings by which the process decides. A node with others must not apply the entry.
    pub rules: u64,
    /// The content.
    pub payload: &'a [u8],
}

/// The reason why bytes are no entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// Fewer bytes than a header has, or other bytes at its start.
    #[error("these are not the bytes of an entry")]
    NotAnEntry,
    /// The checksum differs.
    #[error("its checksum is wrong")]
    Checksum,
    /// A later release wrote it.
    #[error("a later release of Broadsheet wrote it: install that release on this node")]
    Later,
}

impl<'a> Entry<'a> {
    /// The bytes of the entry.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_BYTES + self.payload.len() + 4);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&[VERSION, self.kind as u8, 0, 0]);
        for number in [self.origin, self.counter, self.arrival as u64, self.rules] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(self.payload);
        let checksum = crc32c(&out);
        out.extend_from_slice(&checksum.to_le_bytes());
        out
    }

    /// The entry that these bytes are.
    ///
    /// # Errors
    /// The bytes are damaged, or of a later release.
    pub fn parse(bytes: &'a [u8]) -> Result<Entry<'a>, EntryError> {
        let (body, checksum) = bytes
            .split_last_chunk::<4>()
            .ok_or(EntryError::NotAnEntry)?;
        let (header, payload) = body
            .split_at_checked(HEADER_BYTES)
            .filter(|(header, _)| header.starts_with(MAGIC))
            .ok_or(EntryError::NotAnEntry)?;
        if crc32c(body) != u32::from_le_bytes(*checksum) {
            return Err(EntryError::Checksum);
        }
        let number = |at: usize| {
            let bytes = header.get(at..).and_then(<[u8]>::first_chunk::<8>);
            bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
        };
        let kind = header.get(5).and_then(|byte| Kind::from_byte(*byte));
        match (header.get(4), kind) {
            (Some(&VERSION), Some(kind)) => Ok(Entry {
                kind,
                origin: number(8),
                counter: number(16),
                arrival: number(24) as i64,
                rules: number(32),
                payload,
            }),
            _ => Err(EntryError::Later),
        }
    }

    /// The arrival, seconds since 1970.
    pub fn seconds(&self) -> i64 {
        self.arrival.div_euclid(1_000_000)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use proptest::prelude::*;

    fn entry(payload: &[u8]) -> Entry<'_> {
        Entry {
            kind: Kind::Articles,
            origin: 7,
            counter: u64::MAX,
            arrival: -1,
            rules: 3,
            payload,
        }
    }

    #[test]
    fn a_later_layout_is_told_from_damage() {
        for (at, value) in [(4, 2), (5, 200)] {
            let mut bytes = entry(b"x").to_bytes();
            bytes[at] = value;
            assert_eq!(Entry::parse(&bytes), Err(EntryError::Checksum));
            let end = bytes.len() - 4;
            let checksum = crc32c(&bytes[..end]).to_le_bytes();
            bytes[end..].copy_from_slice(&checksum);
            assert_eq!(Entry::parse(&bytes), Err(EntryError::Later));
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(payload: Vec<u8>) {
            let written = entry(&payload);
            let bytes = written.to_bytes();
            prop_assert_eq!(Entry::parse(&bytes), Ok(written));
        }

        #[test]
        fn a_changed_bit_is_found(payload: Vec<u8>, at: prop::sample::Index, bit in 0..8_u32) {
            let mut bytes = entry(&payload).to_bytes();
            let at = at.index(bytes.len());
            bytes[at] ^= 1_u8 << bit;
            prop_assert!(Entry::parse(&bytes).is_err());
        }

        #[test]
        fn anything_is_answered(bytes: Vec<u8>) {
            let _ = Entry::parse(&bytes);
        }
    }
}
