//! Vectorised scans: the inner loops of the header parser and of the
//! conversion to wire form.
//!
//! On x86-64 these compile to SSE2 instructions, which every such machine has.

use wide::u8x16;

/// Whether a text contains a byte below `limit`, which is not 0. A quick test that a value contains no blank and no control
/// character.
#[inline]
pub fn has_below(text: &[u8], limit: u8) -> bool {
    let most = u8x16::splat(limit - 1);
    any_byte(text, |bytes| bytes.min(most).simd_eq(bytes))
}

/// Whether a text contains an ASCII control character: a byte below the blank, or DEL.
#[inline]
pub fn has_control(text: &[u8]) -> bool {
    any_byte(text, is_control)
}

/// Whether a text contains a blank, an ASCII control character or this byte.
#[inline]
pub(crate) fn has_blank_control_or(text: &[u8], byte: u8) -> bool {
    any_byte(text, |bytes| {
        is_control(bytes) | bytes.simd_eq(u8x16::splat(b' ')) | bytes.simd_eq(u8x16::splat(byte))
    })
}

/// Whether a text contains this byte: `memchr` for short texts.
#[inline]
pub(crate) fn has_byte(text: &[u8], byte: u8) -> bool {
    any_byte(text, |bytes| bytes.simd_eq(u8x16::splat(byte)))
}

/// Whether a text contains an ASCII capital letter.
#[inline]
pub(crate) fn any_capital(text: &[u8]) -> bool {
    any_byte(text, |bytes| is_in(bytes, b'A', b'Z'))
}

/// Which bytes are `first` to `last`.
#[inline]
fn is_in(bytes: u8x16, first: u8, last: u8) -> u8x16 {
    let above = bytes - u8x16::splat(first);
    above.min(u8x16::splat(last - first)).simd_eq(above)
}

/// The offset of the last such byte of a text: `memrchr` for short texts.
#[inline]
pub(crate) fn last_place(text: &[u8], byte: u8) -> Option<usize> {
    let mut rest = text;
    while let Some((before, block)) = rest.split_last_chunk::<16>() {
        let bits = equal(block, byte);
        if bits != 0 {
            return Some(before.len() + bits.ilog2() as usize);
        }
        rest = before;
    }
    rest.iter().rposition(|found| *found == byte)
}

#[inline]
fn is_control(bytes: u8x16) -> u8x16 {
    let is_low = bytes.min(u8x16::splat(b' ' - 1)).simd_eq(bytes);
    is_low | bytes.simd_eq(u8x16::splat(0x7f))
}

/// Whether a test, which answers for each of sixteen bytes, is true of any byte of a text. It may see a byte twice: the last
/// sixteen of a long text, and the middle of a short one.
#[inline]
fn any_byte(text: &[u8], test: impl Fn(u8x16) -> u8x16) -> bool {
    let Some(last) = text.last_chunk::<16>() else {
        return !text.is_empty() && test(repeated(text)).to_bitmask() != 0;
    };
    let (blocks, _) = text.as_chunks::<16>();
    let found = blocks.iter().fold(test(u8x16::new(*last)), |found, block| {
        found | test(u8x16::new(*block))
    });
    found.to_bitmask() != 0
}

/// Sixteen bytes that are those of a shorter text, each at least once.
#[inline]
fn repeated(text: &[u8]) -> u8x16 {
    let bytes = if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
        u128::from(u64::from_le_bytes(*first)) | u128::from(u64::from_le_bytes(*last)) << 64
    } else if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
        let eight =
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32;
        u128::from(eight) | u128::from(eight) << 64
    } else {
        // At most three bytes.
        let byte = |at: usize| text.get(at).copied().unwrap_or_default();
        let four = [
            byte(0),
            byte(text.len() / 2),
            byte(text.len().saturating_sub(1)),
            byte(0),
        ];
        u128::from(u32::from_le_bytes(four)) * 0x1_0000_0001_0000_0001_0000_0001
    };
    u8x16::new(bytes.to_le_bytes())
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

/// Bit masks of the bytes of a block that matter in wire form; the lowest bit is the first byte.
#[derive(Clone, Copy, Default)]
pub(crate) struct Marks {
    pub(crate) feeds: u64,
    pub(crate) returns: u64,
    pub(crate) dots: u64,
    /// Not 0 if there is a NUL.
    pub(crate) nuls: u64,
}

/// The marks of a block.
#[inline]
pub(crate) fn marks(block: &[u8; BLOCK]) -> Marks {
    let (quarters, _) = block.as_chunks::<16>();
    let mut marks = Marks::default();
    for (place, quarter) in quarters.iter().enumerate() {
        let bits = |byte| u64::from(equal(quarter, byte)) << (16 * place);
        marks.feeds |= bits(b'\n');
        marks.returns |= bits(b'\r');
        marks.dots |= bits(b'.');
        marks.nuls |= bits(0);
    }
    marks
}

/// Bit mask of the bytes that can end a header name: colons, blanks and
/// control characters.
#[inline]
pub(crate) fn name_ends(chunk: &[u8; 16]) -> u32 {
    equal(chunk, b':') | at_most(chunk, b' ')
}

/// Bit mask of the bytes that are not letters, digits, dots and hyphens.
#[inline]
pub(crate) fn host_ends(chunk: &[u8; 16]) -> u32 {
    let bytes = u8x16::new(*chunk);
    let letters = is_in(bytes | u8x16::splat(0x20), b'a', b'z');
    let is_host = letters | is_in(bytes, b'0', b'9') | is_in(bytes, b'-', b'.');
    is_host.to_bitmask() ^ 0xffff
}

/// The length of the text before the first byte that ends it. `ends` answers for sixteen bytes, and takes zeros for an end.
#[inline]
pub(crate) fn length_until(text: &[u8], ends: impl Fn(&[u8; 16]) -> u32) -> usize {
    let mut length = 0;
    loop {
        let ends = ends(&first_block(text.get(length..).unwrap_or_default()));
        if ends != 0 {
            return length + ends.trailing_zeros() as usize;
        }
        length += 16;
    }
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
    let length = text.len().min(N);
    if let (Some(to), Some(from)) = (block.get_mut(..length), text.get(..length)) {
        to.copy_from_slice(from);
    }
    block
}

/// Iterates over the offsets of the line feeds in a text.
pub(crate) struct LineFeeds<'a, F> {
    /// [`line_feeds`], or does the same with other instructions.
    line_feeds: F,
    /// The text after the current block.
    rest: &'a [u8],
    /// The line feeds of the current block not yet returned.
    bits: u64,
    /// The offset of the current block.
    at: usize,
    /// The offset of `rest`.
    next: usize,
}

impl<'a, F: Fn(&[u8; BLOCK]) -> u64> LineFeeds<'a, F> {
    #[inline]
    pub(crate) fn new(text: &'a [u8], line_feeds: F) -> Self {
        LineFeeds {
            line_feeds,
            rest: text,
            bits: 0,
            at: 0,
            next: 0,
        }
    }
}

impl<F: Fn(&[u8; BLOCK]) -> u64> Iterator for LineFeeds<'_, F> {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        while self.bits == 0 {
            self.at = self.next;
            if let Some((block, rest)) = self.rest.split_first_chunk::<BLOCK>() {
                self.bits = (self.line_feeds)(block);
                self.rest = rest;
                self.next += BLOCK;
            } else if self.rest.is_empty() {
                return None;
            } else {
                self.bits = (self.line_feeds)(&short_block(self.rest));
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
            prop_assert_eq!(host_ends(&chunk), slow(&|b| !b.is_ascii_alphanumeric() && !b".-".contains(&b)));
        }

        #[test]
        fn all_bytes_at_once_agree_with_one_by_one(
            mut text in prop::collection::vec(32u8..127, 0..70), at: prop::sample::Index, byte: u8, limit in 1u8..,
        ) {
            if !text.is_empty() {
                *at.get_mut(&mut text) = byte;
            }
            prop_assert_eq!(has_below(&text, limit), text.iter().any(|&byte| byte < limit));
            prop_assert_eq!(has_control(&text), text.iter().any(u8::is_ascii_control));
            let found = text.iter().any(|&byte| byte <= b' ' || byte == 0x7f || byte == b'>');
            prop_assert_eq!(has_blank_control_or(&text, b'>'), found);
            prop_assert_eq!(has_byte(&text, byte), text.contains(&byte));
            prop_assert_eq!(any_capital(&text), text.iter().any(u8::is_ascii_uppercase));
            prop_assert_eq!(last_place(&text, byte), text.iter().rposition(|found| *found == byte));
        }

        #[test]
        fn line_feeds_are_found(text in "[a\n]{0,300}") {
            let found: Vec<_> = LineFeeds::new(text.as_bytes(), line_feeds).collect();
            let expected: Vec<_> = text.match_indices('\n').map(|(at, _)| at).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
