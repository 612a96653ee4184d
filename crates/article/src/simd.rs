//! Inner loops with instructions that not every processor has, chosen when the program runs. The portable code in
//! [`scan`](crate::scan) does the same.
//!
//! This is the only file of the crate with unsafe code: the calls of functions that need such instructions, a buffer that they fill, and
//! the loop that filing spends most of its instructions in.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use crate::convert::{self, Done, TO_WIRE_WINDOW, wire_room};
use crate::counting::Counting;
use crate::identity::Identity;
use crate::parse::Article;
use crate::scan::{self, BLOCK};

/// Appends text in wire form, as [`convert::to_wire`] makes it, with room for the most that the text can become.
#[inline]
pub(crate) fn push_to_wire(out: &mut Vec<u8>, text: &[u8]) -> Done {
    out.reserve(convert::wire_room(text.len()));
    push_by(out, |room| fastest_to_wire(room, text))
}

/// Appends wire text in native form, as [`convert::to_native`] makes it, as long as the capacity suffices. `starts` tells which of its
/// first bytes begin a line.
#[inline]
pub(crate) fn push_to_native(out: &mut Vec<u8>, text: &[u8], starts: u64) -> Done {
    push_by(out, |room| fastest_to_native(room, text, starts))
}

#[inline]
fn push_by(out: &mut Vec<u8>, convert: impl FnOnce(&mut [MaybeUninit<u8>]) -> Done) -> Done {
    let done = convert(out.spare_capacity_mut());
    let length = out.len() + done.written;
    // SAFETY: `written` is within the spare capacity, and `convert` promises that it has written all bytes up to there.
    unsafe { out.set_len(length) };
    done
}

/// [`convert::to_wire`] with the fastest search for line feeds that this processor has.
#[inline]
fn fastest_to_wire(room: &mut [MaybeUninit<u8>], text: &[u8]) -> Done {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") {
        // SAFETY: the processor has both.
        return unsafe { avx2::to_wire(room, text) };
    }
    convert::to_wire(room, text, scan::line_feeds)
}

/// [`convert::to_native`] with the fastest search that this processor has.
#[inline]
fn fastest_to_native(room: &mut [MaybeUninit<u8>], text: &[u8], starts: u64) -> Done {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has both.
        return unsafe { avx2::to_native(room, text, starts) };
    }
    convert::to_native(room, (text, starts), scan::marks)
}

/// [`Article::scan`] with the fastest search for line feeds that this processor has.
#[inline]
pub(crate) fn scan_header<const WIRE: bool>(article: &mut Article<'_>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") {
        // SAFETY: the processor has both.
        return unsafe { avx2::scan_header::<WIRE>(article) };
    }
    article.scan::<WIRE>(scan::line_feeds);
}

/// [`Identity::find`] with the fastest search for line feeds that this processor has.
#[inline]
pub(crate) fn identity(bytes: &[u8]) -> Option<Identity<'_>> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1") {
        // SAFETY: the processor has both.
        return unsafe { avx2::identity(bytes) };
    }
    Identity::find(bytes, scan::line_feeds)
}

/// [`Counting::go_on`] with the fastest instructions that this processor has.
#[inline]
pub(crate) fn count(counting: &mut Counting, bytes: &[u8]) -> Option<usize> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has both.
        return unsafe { avx2::count(counting, bytes) };
    }
    counting.go_on(bytes, scan::marks)
}

/// The CRC-32C of some bytes, as `crc32c::crc32c` computes it, with fewer instructions.
#[inline]
pub fn crc32c(bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("sse4.2") && is_x86_feature_detected!("pclmulqdq") {
        // SAFETY: the processor has both.
        return unsafe { crc::crc32c(bytes) };
    }
    crc32c::crc32c(bytes)
}

#[cfg(target_arch = "x86_64")]
mod crc {
    use std::arch::x86_64::{
        _mm_clmulepi64_si128, _mm_crc32_u8, _mm_crc32_u64, _mm_cvtsi64_si128, _mm_cvtsi128_si64,
    };

    type Word = [u8; 8];

    /// Words of the three streams together at most, and one more.
    const WORDS_MAX: usize = 3 * STREAM_WORDS_MAX + 1;
    /// Most words of a stream.
    const STREAM_WORDS_MAX: usize = 512;
    /// Words of a stream are a multiple of this.
    const STEP: usize = 4;

    /// The polynomial, its lowest coefficient in the highest bit.
    const POLYNOMIAL: u32 = 0x82f6_3b78;

    /// By a number of words, what a sum is multiplied by to be that of a text with so many words of zeros behind it, but for the
    /// reduction by the instruction: x to the power of 64 words - 33, modulo the polynomial.
    static SHIFTS: [u32; 2 * STREAM_WORDS_MAX + 2] = {
        let mut shifts = [0; 2 * STREAM_WORDS_MAX + 2];
        let mut rest: &mut [u32] = &mut shifts;
        let mut power = 0x8000_0000; // x to the power of 0
        let mut exponent = 0;
        let mut wanted = 64 - 33;
        if let [_, tail @ ..] = rest {
            rest = tail;
        }
        while let [shift, tail @ ..] = rest {
            while exponent < wanted {
                power = (power >> 1) ^ (POLYNOMIAL & 0u32.wrapping_sub(power & 1));
                exponent += 1;
            }
            *shift = power;
            wanted += 64;
            rest = tail;
        }
        shifts
    };

    /// The instruction takes a word each cycle and answers three cycles later, so three streams are summed side by side.
    #[target_feature(enable = "sse4.2,pclmulqdq")]
    pub(super) fn crc32c(bytes: &[u8]) -> u32 {
        let (mut words, rest) = bytes.as_chunks::<8>();
        let mut sum = u64::from(u32::MAX);
        while words.len() > 3 * STEP {
            let length = (words.len().min(WORDS_MAX) - 1) / (3 * STEP) * STEP;
            let Some((a, b, c, last, after)) = streams(words, length) else {
                break;
            };
            let (mut sums_b, mut sums_c) = (0, 0);
            for ((a, b), c) in a.iter().zip(b).zip(c) {
                for ((a, b), c) in a.iter().zip(b).zip(c) {
                    sum = _mm_crc32_u64(sum, u64::from_le_bytes(*a));
                    sums_b = _mm_crc32_u64(sums_b, u64::from_le_bytes(*b));
                    sums_c = _mm_crc32_u64(sums_c, u64::from_le_bytes(*c));
                }
            }
            let shifted = shifted(sum, 2 * length + 1) ^ shifted(sums_b, length + 1);
            sum = _mm_crc32_u64(sums_c, u64::from_le_bytes(*last) ^ shifted);
            words = after;
        }
        for word in words {
            sum = _mm_crc32_u64(sum, u64::from_le_bytes(*word));
        }
        let mut sum = sum as u32;
        for byte in rest {
            sum = _mm_crc32_u8(sum, *byte);
        }
        !sum
    }

    type Streams<'a> = (
        &'a [[Word; STEP]],
        &'a [[Word; STEP]],
        &'a [[Word; STEP]],
        &'a Word,
        &'a [Word],
    );

    /// Three streams of `length` words, the word behind them, and the rest.
    #[inline]
    fn streams(words: &[Word], length: usize) -> Option<Streams<'_>> {
        let (a, words) = words.split_at_checked(length)?;
        let (b, words) = words.split_at_checked(length)?;
        let (c, words) = words.split_at_checked(length)?;
        let (last, after) = words.split_first()?;
        let steps = |stream| <[Word]>::as_chunks::<STEP>(stream).0;
        Some((steps(a), steps(b), steps(c), last, after))
    }

    /// Returns the word that adds the sum of a text to the sum of what follows: `words` words behind the text, it is added to the last of them.
    #[target_feature(enable = "sse4.2,pclmulqdq")]
    #[inline]
    fn shifted(sum: u64, words: usize) -> u64 {
        let shift = SHIFTS.get(words).copied().unwrap_or_default();
        let product = _mm_clmulepi64_si128::<0>(
            _mm_cvtsi64_si128(sum as i64),
            _mm_cvtsi64_si128(i64::from(shift)),
        );
        _mm_cvtsi128_si64(product) as u64
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8,
        _mm256_set1_epi8, _mm256_setr_epi64x, _mm256_storeu_si256,
    };

    use super::{Article, BLOCK, Counting, Done, Identity, MaybeUninit, TO_WIRE_WINDOW, wire_room};
    use crate::scan::Marks;

    /// Does the same as [`crate::convert::to_wire`], by bare pointers, with two thirds of its instructions; nothing if the text could
    /// become more than the room.
    #[target_feature(enable = "avx2,bmi1")]
    pub(super) fn to_wire(room: &mut [MaybeUninit<u8>], text: &[u8]) -> Done {
        let Some(from_max) = text.len().checked_sub(TO_WIRE_WINDOW) else {
            return Done::default();
        };
        if room.len() < wire_room(text.len()) {
            return Done::default();
        }
        let (start, out) = (text.as_ptr(), room.as_mut_ptr().cast::<u8>());
        // SAFETY: a step begins at most `from_max` bytes behind `start`, so the block that it reads and the byte behind it lie in the
        // text. What was written has at most twice as many bytes as what was read, and one for a dot: a byte of text becomes two at most.
        // So all that the step writes, a block, or up to BLOCK - 1 bytes, CRLF and a dot, lies in the room. Everything before `to` was
        // written.
        let (read, written, dots) = unsafe {
            let from_max = start.add(from_max);
            let (mut from, mut to) = (start, out);
            let mut dots = 0;
            while from <= from_max {
                let low = _mm256_loadu_si256(from.cast());
                let high = _mm256_loadu_si256(from.add(BLOCK / 2).cast());
                _mm256_storeu_si256(to.cast(), low);
                _mm256_storeu_si256(to.add(BLOCK / 2).cast(), high);
                let feeds = equal(low, b'\n') | equal(high, b'\n') << (BLOCK / 2);
                if feeds == 0 {
                    from = from.add(BLOCK);
                    to = to.add(BLOCK);
                } else {
                    let length = feeds.trailing_zeros() as usize;
                    to = to.add(length);
                    to.cast::<[u8; 2]>().write(*b"\r\n");
                    to = to.add(2);
                    from = from.add(length + 1);
                    if *from == b'.' {
                        to.write(b'.');
                        to = to.add(1);
                        dots += 1;
                    }
                }
            }
            (
                from.offset_from_unsigned(start),
                to.offset_from_unsigned(out),
                dots,
            )
        };
        Done {
            read,
            written,
            // A line grows by its CR.
            lines: written - read - dots,
            ..Done::default()
        }
    }

    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn to_native(room: &mut [MaybeUninit<u8>], text: &[u8], starts: u64) -> Done {
        crate::convert::to_native(room, (text, starts), |block| marks(block))
    }

    #[target_feature(enable = "avx2,popcnt")]
    pub(super) fn count(counting: &mut Counting, bytes: &[u8]) -> Option<usize> {
        counting.go_on(bytes, |block| marks(block))
    }

    #[target_feature(enable = "avx2,bmi1")]
    pub(super) fn scan_header<const WIRE: bool>(article: &mut Article<'_>) {
        article.scan::<WIRE>(|block| marks(block).feeds);
    }

    #[target_feature(enable = "avx2,bmi1")]
    pub(super) fn identity(bytes: &[u8]) -> Option<Identity<'_>> {
        Identity::find(bytes, |block| marks(block).feeds)
    }

    /// Does the same as [`crate::scan::marks`].
    #[target_feature(enable = "avx2")]
    #[inline]
    fn marks(block: &[u8; BLOCK]) -> Marks {
        let (low, high) = halves(block);
        Marks {
            feeds: equal(low, b'\n') | equal(high, b'\n') << 32,
            returns: equal(low, b'\r') | equal(high, b'\r') << 32,
            dots: equal(low, b'.') | equal(high, b'.') << 32,
            nuls: equal(_mm256_min_epu8(low, high), 0),
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn halves(block: &[u8; BLOCK]) -> (__m256i, __m256i) {
        let word = |place: usize| {
            let word = block.get(8 * place..).and_then(<[u8]>::first_chunk);
            i64::from_le_bytes(word.copied().unwrap_or_default())
        };
        (
            _mm256_setr_epi64x(word(0), word(1), word(2), word(3)),
            _mm256_setr_epi64x(word(4), word(5), word(6), word(7)),
        )
    }

    /// Bit mask of the bytes equal to `byte`.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn equal(bytes: __m256i, byte: u8) -> u64 {
        let equal = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte as i8));
        u64::from(_mm256_movemask_epi8(equal) as u32)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)] // test code may panic
    use super::*;
    use proptest::prelude::*;

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just(b"\n".to_vec()),
            Just(b".".to_vec()),
            Just(b"\n.".to_vec()),
            prop::collection::vec(any::<u8>(), 0..10),
            (0usize..200).prop_map(|len| vec![b'x'; len]),
        ];
        prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn every_processor_converts_alike(text in text(), repeat in 1usize..20, before in 0usize..100) {
            let text = text.repeat(repeat);
            let (mut one, mut other) = (vec![b'o'; before], vec![b'o'; before]);
            let done = push_to_wire(&mut one, &text);
            other.reserve(wire_room(text.len()));
            let portable = push_by(&mut other, |room| convert::to_wire(room, &text, scan::line_feeds));
            prop_assert_eq!((done.read, done.written, done.lines), (portable.read, portable.written, portable.lines));
            prop_assert_eq!(one.len(), before + done.written);
            prop_assert!(done.written <= 2 * done.read + 1);
            prop_assert_eq!(&one, &other);
        }

        #[test]
        fn every_processor_converts_back_alike(text in text(), room in 0usize..9000, starts in 0u64..4) {
            let text = text.iter().flat_map(|byte| match byte {
                b'\n' => b"\r\n",
                byte => std::slice::from_ref(byte),
            });
            let text: Vec<u8> = text.copied().collect();
            let (mut one, mut other) = (Vec::with_capacity(room), Vec::with_capacity(room));
            let done = push_to_native(&mut one, &text, starts);
            let portable = push_by(&mut other, |room| convert::to_native(room, (&text, starts), scan::marks));
            prop_assert_eq!((done.read, done.written, done.starts), (portable.read, portable.written, portable.starts));
            prop_assert_eq!(done.is_over, portable.is_over);
            prop_assert_eq!(&one, &other);
        }

        #[test]
        fn every_processor_finds_the_same_identity(lines in prop::collection::vec(prop_oneof![
            Just("Path: a!b\n"), Just("Message-ID: <1@a>\n"), Just("message-id: <2@a>\n"), Just(" folded\n"), Just("\n"),
            Just("Subject: a subject of more than one block, which is sixty-four bytes long\n"), Just("Posted: x\n"),
        ], 0..12), cut in 0usize..8) {
            let text = lines.concat();
            let text = text.as_bytes();
            let text = text.get(..text.len().saturating_sub(cut)).unwrap_or_default();
            prop_assert_eq!(identity(text), Identity::find(text, scan::line_feeds));
        }

        #[test]
        fn checksums_are_those_of_the_other_crate(
            text in prop::collection::vec(any::<u8>(), 0..4000), start in 0usize..16, repeat in 1usize..12,
        ) {
            let text = text.repeat(repeat);
            let text = text.get(start..).unwrap_or_default();
            prop_assert_eq!(crc32c(text), crc32c::crc32c(text));
        }
    }

    #[test]
    fn checksums_of_every_length() {
        let text: Vec<u8> = (0..30_000u32).map(|at| ((at * at) >> 7) as u8).collect();
        for length in (0..700).chain(12_200..12_400).chain(29_990..30_000) {
            assert_eq!(
                crc32c(&text[..length]),
                crc32c::crc32c(&text[..length]),
                "{length}"
            );
        }
    }
}
