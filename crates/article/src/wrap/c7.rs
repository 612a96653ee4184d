//! The 7-bit code of `c7encode` (C News) and `encode` (B News 2.11), for links that carry only text.
//!
//! Three bytes become four 6-bit values, highest bits first. In the last group of four values of a file
//! the fourth value is not data but the number of bytes in the group: 0, 1 or 2. Of every
//! thirteen values, twelve form six pairs of 12 bits, and the six bits of the thirteenth become the top bits
//! of the pairs, highest bit first. A 13-bit number N is written as the characters
//! 32 + N / 91 and 32 + N mod 91, blank to `z`. `zz` is not a 13-bit number: at the start of a block it
//! announces the last block, and the next character gives the number of values in that block.

use super::codec::{Codec, CodecStatus, Progress};

const BASE: u16 = 91;
const FIRST: u8 = b' ';
const LAST: u8 = b'z';
/// Characters in a block, and the values that they encode.
const BLOCK_CHARACTERS: usize = 12;
const BLOCK_VALUES: usize = 13;
/// Most bytes decoded from one block: its values and three left finished from the block before.
const BLOCK_BYTES: usize = 12;

pub(super) struct C7 {
    block: [u8; BLOCK_CHARACTERS],
    block_held: usize,
    /// Values in the last block, once it is announced.
    last_values: Option<usize>,
    values: [u8; 4],
    values_held: usize,
    ready: [u8; BLOCK_BYTES],
    ready_copied: usize,
    ready_held: usize,
    finished: bool,
}

impl C7 {
    pub(super) fn new() -> C7 {
        C7 {
            block: [0; BLOCK_CHARACTERS],
            block_held: 0,
            last_values: None,
            values: [0; 4],
            values_held: 0,
            ready: [0; BLOCK_BYTES],
            ready_copied: 0,
            ready_held: 0,
            finished: false,
        }
    }

    /// Consumes one character; decodes the block when it is complete.
    fn push_character(&mut self, character: u8) -> Result<(), String> {
        if !(FIRST..=LAST).contains(&character) {
            return Err(format!("byte {character:#04x} is not part of the code"));
        }
        if self.block_held == 2 && self.last_values.is_none() && self.block.starts_with(b"zz") {
            let values = usize::from(character - FIRST);
            if !(1..=BLOCK_VALUES).contains(&values) {
                return Err(format!("the last block has {values} values, not 1 to 13"));
            }
            self.last_values = Some(values);
            self.block_held = 0;
            return Ok(());
        }
        if let Some(slot) = self.block.get_mut(self.block_held) {
            *slot = character;
            self.block_held += 1;
        }
        let wanted = match self.last_values {
            Some(values) => values.next_multiple_of(2).min(BLOCK_CHARACTERS),
            None => BLOCK_CHARACTERS,
        };
        if self.block_held < wanted {
            return Ok(());
        }
        self.decode_block()
    }

    fn decode_block(&mut self) -> Result<(), String> {
        let mut values = [0; BLOCK_VALUES];
        let mut top = 0;
        let held = self.block.get(..self.block_held).unwrap_or_default();
        for (pair, two) in held.chunks_exact(2).zip(values.chunks_exact_mut(2)) {
            let [high, low] = pair else { continue };
            let number = u16::from(high - FIRST) * BASE + u16::from(low - FIRST);
            if number >> 13 != 0 {
                return Err(format!(
                    "`{}{}' is not a 13-bit number",
                    char::from(*high),
                    char::from(*low)
                ));
            }
            top = top << 1 | (number >> 12) as u8; // one bit
            if let [first, second] = two {
                *first = (number >> 6 & 0x3f) as u8; // six bits
                *second = (number & 0x3f) as u8; // six bits
            }
        }
        if let Some(thirteenth) = values.last_mut() {
            *thirteenth = top;
        }
        self.block_held = 0;
        self.ready_copied = 0;
        self.ready_held = 0;
        let count = self.last_values.unwrap_or(BLOCK_VALUES);
        for &value in values.iter().take(count) {
            self.push_value(value);
        }
        match self.last_values {
            Some(_) => self.finish(),
            None => Ok(()),
        }
    }

    /// Consumes one 6-bit value. Holds four values until another follows, because they may be the last four.
    fn push_value(&mut self, value: u8) {
        if self.values_held == self.values.len() {
            self.decode_bytes(3);
        }
        if let Some(slot) = self.values.get_mut(self.values_held) {
            *slot = value;
            self.values_held += 1;
        }
    }

    /// Decodes the last four values, which contain their number of bytes.
    fn finish(&mut self) -> Result<(), String> {
        self.finished = true;
        match self.values {
            [_, _, _, count @ 0..=2] if self.values_held == 4 => {
                self.decode_bytes(usize::from(count))
            }
            _ => return Err("the end mark is invalid".into()),
        }
        Ok(())
    }

    /// Decodes the first `count` bytes of the four values into `ready`.
    fn decode_bytes(&mut self, count: usize) {
        let [a, b, c, d] = self.values;
        for byte in [a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d]
            .into_iter()
            .take(count)
        {
            if let Some(slot) = self.ready.get_mut(self.ready_held) {
                *slot = byte;
                self.ready_held += 1;
            }
        }
        self.values_held = 0;
    }

    /// Copies decoded bytes to `out`; returns how many.
    fn copy_ready(&mut self, out: &mut [u8]) -> usize {
        let ready = self
            .ready
            .get(self.ready_copied..self.ready_held)
            .unwrap_or_default();
        let produced = ready.len().min(out.len());
        for (to, from) in out.iter_mut().zip(ready) {
            *to = *from;
        }
        self.ready_copied += produced;
        produced
    }
}

impl Codec for C7 {
    fn step(&mut self, input: &[u8], out: &mut [u8], _at_end: bool) -> Progress {
        let mut consumed = 0;
        let mut produced = 0;
        let status = loop {
            produced += self.copy_ready(out.get_mut(produced..).unwrap_or_default());
            if self.ready_copied < self.ready_held {
                break CodecStatus::Continue; // no room
            }
            if self.finished {
                break CodecStatus::Done;
            }
            let Some(&character) = input.get(consumed) else {
                break CodecStatus::Continue;
            };
            consumed += 1;
            // Line ends are not part of the code: a mailer may have folded the text.
            if matches!(character, b'\n' | b'\r') {
                continue;
            }
            if let Err(error) = self.push_character(character) {
                produced += self.copy_ready(out.get_mut(produced..).unwrap_or_default());
                break CodecStatus::Damaged(error);
            }
        };
        Progress {
            consumed,
            produced,
            status,
        }
    }
}
