//! The chain hash: it covers every entry up to one, in their order. Nodes with equal hashes have applied the same entries.

use std::fmt;

use sha2::{Digest, Sha256};

/// Bytes of a hash.
pub const CHAIN_BYTES: usize = 16;

/// The hash of a part of the log, from its first entry on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Chain(pub [u8; CHAIN_BYTES]);

impl Chain {
    /// The hash with one more entry. `checksum` is that of the entry: an entry is parsed, and its checksum compared, before it counts.
    pub fn with(self, sequence: u64, length: usize, checksum: u32) -> Chain {
        let mut hash = Sha256::new();
        hash.update(self.0);
        hash.update(sequence.to_le_bytes());
        hash.update((length as u64).to_le_bytes());
        hash.update(checksum.to_le_bytes());
        let hash = hash.finalize();
        let mut chain = Chain::default();
        chain
            .0
            .iter_mut()
            .zip(hash)
            .for_each(|(to, from)| *to = from);
        chain
    }

    /// The hash with one more entry, given as its bytes.
    pub fn with_entry(self, sequence: u64, bytes: &[u8]) -> Chain {
        let checksum = bytes
            .last_chunk::<4>()
            .map_or(0, |four| u32::from_le_bytes(*four));
        self.with(sequence, bytes.len(), checksum)
    }

    /// The hash that this text, of 32 hexadecimal digits, denotes.
    pub fn of(text: &str) -> Option<Chain> {
        let number = u128::from_str_radix(text, 16).ok()?;
        (text.len() == 2 * CHAIN_BYTES && !text.starts_with('+'))
            .then_some(Chain(number.to_be_bytes()))
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:032x}", u128::from_be_bytes(self.0))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn it_depends_on_everything_before() {
        let base = Chain::default().with(1, 10, 5);
        let others = [
            Chain::default().with(2, 10, 5),
            Chain::default().with(1, 11, 5),
            Chain::default().with(1, 10, 6),
            base.with(1, 10, 5),
        ];
        for other in others {
            assert_ne!(base.with(9, 9, 9), other.with(9, 9, 9));
        }
    }

    #[test]
    fn as_text_and_back() {
        let chain = Chain::default().with(1, 10, 5);
        assert_eq!(Chain::of(&chain.to_string()), Some(chain));
        assert_eq!(Chain::of("+0000000000000000000000000000001"), None);
        assert_eq!(Chain::of(""), None);
    }
}
