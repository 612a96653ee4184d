//! A checksum of a text that is patched in word_index: updating it costs no more than the changed bytes.

/// Bytes per word of the checksum.
const WORD_BYTES: usize = 8;

/// The weight of a word; odd, so that no bit of the word is lost.
#[inline]
fn weight(word: usize) -> u64 {
    (word as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}

/// The checksum of a text.
pub fn of(text: &[u8]) -> u64 {
    let (words, rest) = text.as_chunks::<WORD_BYTES>();
    let sum = words
        .iter()
        .enumerate()
        .fold(0u64, |sum, (word_index, word)| {
            sum.wrapping_add(u64::from_le_bytes(*word).wrapping_mul(weight(word_index)))
        });
    sum.wrapping_add(part(rest, text.len() - rest.len()))
}

/// The contribution of bytes at an offset to the checksum.
#[inline]
pub fn part(bytes: &[u8], offset: usize) -> u64 {
    let offsets = (offset..).zip(bytes);
    offsets.fold(0u64, |sum, (at, &byte)| {
        let word = u64::from(byte) << (8 * (at % WORD_BYTES));
        sum.wrapping_add(word.wrapping_mul(weight(at / WORD_BYTES)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_patch_changes_the_checksum_like_a_new_text(text in prop::collection::vec(any::<u8>(), 1..90), at in 0..90usize, to in any::<u8>()) {
            let at = at % text.len();
            let mut patched = text.clone();
            patched[at] = to;
            let sum = of(&text).wrapping_sub(part(&text[at..=at], at)).wrapping_add(part(&[to], at));
            prop_assert_eq!(of(&patched), sum);
            prop_assert_eq!(sum == of(&text), text[at] == to);
        }
    }
}
