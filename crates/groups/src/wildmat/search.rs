//! Finds the part of a pattern between two `*`.
//!
//! A short part is tried at each character of the text. A long part is searched for at all starts at once: one bit for each step of the
//! part records whether the steps before it match the text up to here (Baeza-Yates and Gonnet's Shift-And, with character classes as
//! in Navarro and Raffinot). So the work per character is bounded by [`DIRECT_COST_MAX`] or by one word per 64 steps, whatever the
//! pattern and the text.

use super::{Set, Step, after_character, after_steps, decode};

/// Parts that cost more than this at one position of the text are searched for at all starts at once.
const DIRECT_COST_MAX: usize = 8;
/// The longest character of lenient UTF-8, bytes.
const CHARACTER_BYTES_MAX: usize = 6;

/// The search for a part that may begin anywhere in the text.
#[derive(Debug, Clone)]
pub(super) enum Search {
    /// Tries each character.
    Direct(Vec<Step>),
    /// Searches all starts at once.
    ShiftAnd(Box<ShiftAnd>),
}

impl Search {
    pub(super) fn new(steps: Vec<Step>) -> Search {
        match steps.iter().map(cost).sum::<usize>() {
            0..=DIRECT_COST_MAX => Search::Direct(steps),
            _ => Search::ShiftAnd(Box::new(ShiftAnd::new(&steps))),
        }
    }

    /// Whether the part is empty.
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Search::Direct(steps) if steps.is_empty())
    }

    /// Returns the text after the first match of the part; with `is_last`, the match must be at the end of the text. Adds to `work` the
    /// number of steps or words.
    pub(super) fn find<'t>(
        &self,
        text: &'t [u8],
        is_last: bool,
        work: &mut usize,
    ) -> Option<&'t [u8]> {
        let steps = match self {
            Search::ShiftAnd(bits) => return bits.find(text, is_last, work),
            Search::Direct(steps) => steps,
        };
        let mut start = text;
        loop {
            *work += steps.len() + 1;
            if let Some(after) = after_steps(steps, start)
                && (!is_last || after.is_empty())
            {
                return Some(after);
            }
            start = after_character(start)?;
        }
    }
}

/// The cost of a step at one position of the text.
fn cost(step: &Step) -> usize {
    match step {
        Step::Bytes(bytes) => bytes.len(),
        Step::Any => 1,
        Step::Set(set) => set.ranges.len().max(1),
    }
}

/// A part as bit masks: for each byte and character, the steps that match it.
#[derive(Debug, Clone)]
pub(super) struct ShiftAnd {
    /// Words of 64 steps.
    words: usize,
    /// The bit of the last step, in the last word.
    last: u64,
    /// The index of each byte's mask in `byte_masks`; 0 for none.
    byte_indexes: Box<[u16; 256]>,
    /// The steps that match a byte; the first mask is empty.
    byte_masks: Vec<u64>,
    /// Characters from one bound up to the next are in the same sets; the first bound is 0.
    bounds: Vec<u32>,
    /// The steps that match the characters from each bound.
    character_masks: Vec<u64>,
}

impl ShiftAnd {
    fn new(steps: &[Step]) -> ShiftAnd {
        let count: usize = steps.iter().map(width).sum();
        let words = count.div_ceil(64).max(1);
        let mut bits = ShiftAnd {
            words,
            last: 1 << (count.saturating_sub(1) % 64),
            byte_indexes: Box::new([0; 256]),
            byte_masks: vec![0; words],
            bounds: bounds(steps),
            character_masks: Vec::new(),
        };
        bits.character_masks = vec![0; bits.bounds.len() * words];
        let mut at = 0;
        for step in steps {
            match step {
                Step::Bytes(bytes) => {
                    for (index, byte) in (at..).zip(bytes) {
                        bits.add_byte(index, *byte);
                    }
                }
                Step::Any => bits.add_characters(at, None),
                Step::Set(set) => bits.add_characters(at, Some(set)),
            }
            at += width(step);
        }
        bits
    }

    fn add_byte(&mut self, step: usize, byte: u8) {
        let Some(index) = self.byte_indexes.get_mut(usize::from(byte)) else {
            return;
        };
        if *index == 0 {
            // 1 to 256.
            *index = (self.byte_masks.len() / self.words) as u16;
            self.byte_masks
                .resize(self.byte_masks.len() + self.words, 0);
        }
        let word = usize::from(*index) * self.words + step / 64;
        set_bit(&mut self.byte_masks, word, step);
    }

    fn add_characters(&mut self, step: usize, set: Option<&Set>) {
        for (index, bound) in self.bounds.iter().enumerate() {
            if set.is_none_or(|set| set.contains(*bound)) {
                let word = index * self.words + step / 64;
                set_bit(&mut self.character_masks, word, step);
            }
        }
    }

    fn bytes(&self, byte: u8) -> &[u64] {
        let index = self.byte_indexes.get(usize::from(byte)).copied();
        words_at(
            &self.byte_masks,
            usize::from(index.unwrap_or(0)),
            self.words,
        )
    }

    fn characters(&self, character: u32) -> &[u64] {
        let behind = self.bounds.partition_point(|bound| *bound <= character);
        words_at(&self.character_masks, behind.saturating_sub(1), self.words)
    }

    fn find<'t>(&self, text: &'t [u8], is_last: bool, work: &mut usize) -> Option<&'t [u8]> {
        // States at this position of the text and at those one character ahead, as a ring.
        const STATES: usize = CHARACTER_BYTES_MAX + 1;
        let mut states = vec![0u64; STATES * self.words];
        // Whether the whole part matches up to there.
        let mut fits = [false; STATES];
        let mut start = 0;
        for at in 0..=text.len() {
            *work += self.words;
            let here = at % STATES;
            let has_fit = fits.get_mut(here).is_some_and(std::mem::take);
            if has_fit && (!is_last || at == text.len()) {
                return text.get(at..);
            }
            let rest = text.get(at..).unwrap_or_default();
            let (Some(&byte), Some((character, length))) = (rest.first(), decode(rest)) else {
                return None;
            };
            let is_start = at == start;
            if is_start {
                start += length;
            }
            let moves = [(self.bytes(byte), 1), (self.characters(character), length)];
            for (mask, length) in moves {
                let there = (at + length) % STATES;
                let mut carry = 0;
                for (word, mask) in mask.iter().enumerate() {
                    let state = states.get(here * self.words + word).copied();
                    let begun = u64::from(is_start && word == 0);
                    let taken = (state.unwrap_or(0) | begun) & mask;
                    if word + 1 == self.words
                        && taken & self.last != 0
                        && let Some(fits) = fits.get_mut(there)
                    {
                        *fits = true;
                    }
                    if let Some(state) = states.get_mut(there * self.words + word) {
                        *state |= taken << 1 | carry;
                    }
                    carry = taken >> 63;
                }
            }
            let used = here * self.words..(here + 1) * self.words;
            if let Some(used) = states.get_mut(used) {
                used.fill(0);
            }
        }
        None
    }
}

/// The number of bits of a step.
fn width(step: &Step) -> usize {
    match step {
        Step::Bytes(bytes) => bytes.len(),
        Step::Any | Step::Set(_) => 1,
    }
}

/// The characters at which a set of the part begins or ends.
fn bounds(steps: &[Step]) -> Vec<u32> {
    let sets = steps.iter().filter_map(|step| match step {
        Step::Set(set) => Some(set),
        Step::Bytes(_) | Step::Any => None,
    });
    let ranges = sets.flat_map(|set| &set.ranges);
    let ends = ranges.flat_map(|(low, high)| [*low, high.saturating_add(1)]);
    let mut bounds: Vec<u32> = std::iter::once(0).chain(ends).collect();
    bounds.sort_unstable();
    bounds.dedup();
    bounds
}

fn set_bit(words: &mut [u64], word: usize, step: usize) {
    if let Some(word) = words.get_mut(word) {
        *word |= 1 << (step % 64);
    }
}

fn words_at(masks: &[u64], index: usize, words: usize) -> &[u64] {
    masks
        .get(index * words..(index + 1) * words)
        .unwrap_or_default()
}
