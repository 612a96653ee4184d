//! Requests of a node that fetches the segments of another one, and the replies. docs/formats/cluster.md has their bytes.

use article::crc32c;
use bytes::Bytes;
use serde::{Deserialize, Serialize};

/// Requests of a node on their way: enough to keep the other one busy.
pub const REQUESTS_FLYING_MAX: usize = 4;
/// Most bytes of a file in a reply. The NATS servers take larger messages ([`crate::demands`]).
pub const PIECE_BYTES_MAX: usize = 512 << 10;
/// Most files in a reply.
pub const LISTED_MAX: usize = 1000;
/// Most files that a node may list in all its replies.
pub const FILES_MAX: usize = 1 << 20;

/// A file of a segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct File {
    /// The base of the segment.
    pub base: u64,
    /// The end of its name: `art`, `his`, `ovr` or `exp`.
    pub kind: String,
    /// Its bytes.
    pub length: u64,
    /// Bytes of the disk that it takes up.
    pub allocated: u64,
    /// Inode, time of the last change and length of a sealed file; `None`: articles are appended to it.
    pub version: Option<(u64, i64, u64)>,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// The files from the segment of this base on.
    List(u64),
    /// Bytes of a file: from an offset on, at most so many.
    Read(File, u64, u32),
    /// The SHA-256 of a file.
    Hash(File),
}

/// The state of a node that answers, and files of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// The log that it follows.
    pub log: String,
    /// An entry that it has applied; it may be further.
    pub sequence: u64,
    /// The parts of the settings by which it decides, with their hashes.
    pub parts: Vec<(String, String)>,
    /// The version of the decisions in force there.
    pub decisions: u16,
    /// The files.
    pub files: Vec<File>,
    /// Where the next page begins, if there is one.
    pub next: Option<u64>,
}

/// A reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// To [`Request::List`].
    Listing(Listing),
    /// To [`Request::Read`].
    Bytes(Bytes),
    /// To [`Request::Read`]: so many zeros.
    Zeros(u32),
    /// To [`Request::Hash`].
    Hash([u8; 32]),
    /// The file is not the one of the list any more: list again.
    Changed,
    /// The node cannot answer, for this reason.
    Refused(String),
}

impl Reply {
    /// The bytes of the reply: its kind, the CRC-32C of the rest, and the rest.
    pub fn to_bytes(&self) -> Vec<u8> {
        let number;
        let text;
        let (kind, rest): (u8, &[u8]) = match self {
            Reply::Listing(listing) => {
                text = serde_json::to_vec(listing).unwrap_or_default();
                (b'L', &text)
            }
            Reply::Bytes(bytes) => (b'B', bytes),
            Reply::Zeros(count) => {
                number = count.to_le_bytes();
                (b'Z', &number)
            }
            Reply::Hash(hash) => (b'H', hash),
            Reply::Changed => (b'C', b""),
            Reply::Refused(why) => (b'R', why.as_bytes()),
        };
        let mut out = Vec::with_capacity(5 + rest.len());
        out.push(kind);
        out.extend_from_slice(&crc32c(rest).to_le_bytes());
        out.extend_from_slice(rest);
        out
    }

    /// The reply that these bytes are. `None`: they were damaged on the way, or come from a later release.
    pub fn parse(bytes: &Bytes) -> Option<Reply> {
        let (kind, rest) = bytes.split_first()?;
        let (checksum, rest) = rest.split_first_chunk::<4>()?;
        if crc32c(rest) != u32::from_le_bytes(*checksum) {
            return None;
        }
        Some(match kind {
            b'L' => Reply::Listing(serde_json::from_slice(rest).ok()?),
            b'B' => Reply::Bytes(bytes.slice_ref(rest)),
            b'Z' => Reply::Zeros(u32::from_le_bytes(rest.try_into().ok()?)),
            b'H' => Reply::Hash(rest.try_into().ok()?),
            b'C' => Reply::Changed,
            b'R' => Reply::Refused(String::from_utf8_lossy(rest).into_owned()),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use proptest::prelude::*;

    fn replies() -> Vec<Reply> {
        vec![
            Reply::Listing(Listing {
                log: "l".to_owned(),
                sequence: 7,
                parts: vec![("sys".to_owned(), "ab".to_owned())],
                decisions: 2,
                files: vec![File {
                    base: 4096,
                    kind: "art".to_owned(),
                    length: 9,
                    allocated: 9,
                    version: Some((1, -2, 3)),
                }],
                next: Some(5),
            }),
            Reply::Bytes(Bytes::from_static(b"some bytes")),
            Reply::Zeros(70_000),
            Reply::Hash([7; 32]),
            Reply::Changed,
            Reply::Refused("no".to_owned()),
        ]
    }

    #[test]
    fn what_was_written_is_read() {
        for reply in replies() {
            assert_eq!(Reply::parse(&reply.to_bytes().into()), Some(reply));
        }
    }

    #[test]
    fn a_changed_bit_is_found() {
        for reply in replies()
            .into_iter()
            .filter(|reply| *reply != Reply::Changed)
        {
            let bytes = reply.to_bytes();
            for bit in 8..bytes.len() * 8 {
                let mut bad = bytes.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Reply::parse(&bad.into()), None, "{reply:?} {bit}");
            }
        }
    }

    proptest! {
        #[test]
        fn anything_is_answered(bytes: Vec<u8>) {
            let _ = Reply::parse(&bytes.into());
        }
    }
}
