//! Vectorised scans: the inner loops of the header parser and of the
//! conversion to wire form.
//!
//! On x86-64 these compile to SSE2 instructions, which every such machine has.

use wide::u8x16;

/// The lowest byte of a text; 255 for an empty one. A quick test that a value contains no blank and no
/// control character.
#[inline]
pub fn lowest(text: &[u8]) -> u8 {
    text.iter().fold(u8::MAX, |lowest, &byte| lowest.min(byte))
}

/// Bytes per step of [`line_feeds`].
pub(crate) const BLOCK: usize = 64;

/// Bit mask of the LFs in a block; the lowest bit is the first byte.
#[inline]
pub(crate) fn line_feeds(block: &[u8; BLOCK]) -> u64 {
    let (quarters, _) = block.as_chunks::<16>();
    let mut bits = 0;
    for (place, quarter) in quarters.iter().enumerate() {
        bits |= u64::from(equal(quarter, b'\n')) << (16 * place);
    }
    bits
}

/// Bit mask of the bytes that can end a header name: colons, blanks and
/// control characters.
#[inline]
pub(crate) fn name_ends(chunk: &[u8; 16]) -> u32 {
    equal(chunk, b':') | at_most(chunk, b' ')
}

/// The first block of a text, padded with zeros.
#[inline]
pub(crate) fn first_block<const N: usize>(text: &[u8]) -> [u8; N] {
    match text.first_chunk::<N>() {
        Some(block) => *block,
        None => short_block(text),
    }
}

#[cold]
fn short_block<const N: usize>(text: &[u8]) -> [u8; N] {
    let mut block = [0; N];
    for (to, from) in block.iter_mut().zip(text) {
        *to = *from;
    }
    block
}

/// Iterates over the offsets of the line feeds in a text.
pub(crate) struct LineFeeds<'a> {
    /// The text after the current block.
    rest: &'a [u8],
    /// The line feeds of the current block not yet returned.
    bits: u64,
    /// The offset of the current block.
    at: usize,
    /// The offset of `rest`.
    next: usize,
}

impl<'a> LineFeeds<'a> {
    #[inline]
    pub(crate) fn new(text: &'a [u8]) -> Self {
        LineFeeds {
            rest: text,
            bits: 0,
            at: 0,
            next: 0,
        }
    }
}

impl Iterator for LineFeeds<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.bits == 0 {
            self.at = self.next;
            if let Some((block, rest)) = self.rest.split_first_chunk::<BLOCK>() {
                self.bits = line_feeds(block);
                self.rest = rest;
                self.next += BLOCK;
            } else if self.rest.is_empty() {
                return None;
            } else {
                self.bits = line_feeds(&short_block(self.rest));
                self.next += self.rest.len();
                self.rest = &[];
            }
        }
        let place = self.bits.trailing_zeros() as usize;
        self.bits &= self.bits - 1;
        Some(self.at + place)
    }
}

/// Bit mask of the bytes equal to `byte`.
#[inline]
fn equal(chunk: &[u8; 16], byte: u8) -> u32 {
    u8x16::new(*chunk).simd_eq(u8x16::splat(byte)).to_bitmask()
}

/// Bit mask of the bytes less than or equal to `byte`, unsigned.
#[inline]
fn at_most(chunk: &[u8; 16], byte: u8) -> u32 {
    let bytes = u8x16::new(*chunk);
    bytes.min(u8x16::splat(byte)).simd_eq(bytes).to_bitmask()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sixteen_bytes_at_a_time_agree_with_one(
            chunk: [u8; 16], byte in 0u8..128, near in 0u8..3,
        ) {
            let mut chunk = chunk;
            chunk[3] = byte;
            chunk[12] = byte.wrapping_add(near).wrapping_sub(1);
            let slow = |test: &dyn Fn(u8) -> bool| {
                chunk.iter().enumerate().fold(0, |bits, (at, &b)| bits | u32::from(test(b)) << at)
            };
            prop_assert_eq!(equal(&chunk, byte), slow(&|b| b == byte));
            prop_assert_eq!(at_most(&chunk, byte), slow(&|b| b <= byte));
        }

        #[test]
        fn line_feeds_are_found(text in "[a\n]{0,300}") {
            let found: Vec<_> = LineFeeds::new(text.as_bytes()).collect();
            let expected: Vec<_> = text.match_indices('\n').map(|(at, _)| at).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
