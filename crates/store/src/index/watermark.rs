//! How far the derived files reach.

/// The ends of the current segment's files. Everything before them is applied: the history lines, the
/// overview rows, the index, the high marks in active, the cancels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watermark {
    /// Counts the watermarks, so that the newer of two is known.
    pub sequence: u64,
    /// The base of the current segment.
    pub base: u64,
    /// End of its `.art`, bytes in the file.
    pub art_end: u64,
    /// End of its `.his`.
    pub his_end: u64,
    /// End of its `.ovr`.
    pub ovr_end: u64,
    /// End of `cancels`.
    pub cancels_end: u64,
    /// End of its `.exp`; below 2^32.
    pub exp_end: u64,
    /// The latest arrival among its articles without Expires, epoch seconds, within 32 bits.
    pub newest: u64,
}

impl Watermark {
    /// Words of a watermark in the index's header: six numbers, two in one word, a check word.
    pub const WORDS: usize = 8;

    /// Encodes the watermark.
    pub fn to_words(self) -> [u64; Watermark::WORDS] {
        let numbers = [
            self.sequence,
            self.base,
            self.art_end,
            self.his_end,
            self.ovr_end,
            self.cancels_end,
            (self.newest << 32) | (self.exp_end & HALF),
        ];
        let check = check(&numbers);
        let [a, b, c, d, e, f, g] = numbers;
        [a, b, c, d, e, f, g, check]
    }

    /// Decodes the watermark, if it is valid.
    pub fn from_words(words: &[u64; Watermark::WORDS]) -> Option<Watermark> {
        let [
            sequence,
            base,
            art_end,
            his_end,
            ovr_end,
            cancels_end,
            halves,
            checked,
        ] = *words;
        let right = check(&[
            sequence,
            base,
            art_end,
            his_end,
            ovr_end,
            cancels_end,
            halves,
        ]) == checked;
        (right && sequence != 0).then_some(Watermark {
            sequence,
            base,
            art_end,
            his_end,
            ovr_end,
            cancels_end,
            exp_end: halves & HALF,
            newest: halves >> 32,
        })
    }
}

const HALF: u64 = u32::MAX as u64;

fn check(numbers: &[u64; 7]) -> u64 {
    let sum = numbers.iter().fold(0, |sum, number| {
        crc32c::crc32c_append(sum, &number.to_le_bytes())
    });
    u64::from(sum) | (1 << 32)
}
