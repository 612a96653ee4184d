//! The 7-bit code of `c7encode` (C News) and `encode` (B News 2.11), for links that carry text only.
//!
//! Three bytes make four 6-bit values, highest bits first. The last four of the whole file are marked
//! by their fourth value, which is not data but the number of bytes in them: 0, 1 or 2. Of each
//! thirteen values, twelve make six pairs of 12 bits, and the six bits of the thirteenth go on top,
//! one to each pair, highest bit to the first. Such a 13-bit number N is written as the characters
//! 32 + N / 91 and 32 + N mod 91, blank to `z`. `zz` would be no 13-bit number: at the start of a block it
//! announces the last one, and the character after it says how many values that block holds.

use super::codec::{Codec, Outcome, Step};

const BASE: u16 = 91;
const FIRST: u8 = b' ';
const LAST: u8 = b'z';
/// Characters in a block, and the values they stand for.
const BLOCK_CHARACTERS: usize = 12;
const BLOCK_VALUES: usize = 13;
/// Bytes out of one block at most: the values of it and three left over from the last.
const BLOCK_BYTES: usize = 12;

pub(super) struct C7 {
    block: [u8; BLOCK_CHARACTERS],
    block_held: usize,
    /// Values in the last block, once it is announced.
    last_values: Option<usize>,
    values: [u8; 4],
    values_held: usize,
    ready: [u8; BLOCK_BYTES],
    ready_given: usize,
    ready_held: usize,
    over: bool,
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
            ready_given: 0,
            ready_held: 0,
            over: false,
        }
    }

    /// Takes in one character; decodes the block it completes.
    fn character(&mut self, character: u8) -> Result<(), String> {
        if !(FIRST..=LAST).contains(&character) {
            return Err(format!("byte {character:#04x} is not of the code"));
        }
        if self.block_held == 2 && self.last_values.is_none() && self.block.starts_with(b"zz") {
            let values = usize::from(character - FIRST);
            if !(1..=BLOCK_VALUES).contains(&values) {
                return Err(format!("a last block of {values} values"));
            }
            self.last_values = Some(values);
            self.block_held = 0;
            return Ok(());
        }
        if let Some(place) = self.block.get_mut(self.block_held) {
            *place = character;
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
                    "`{}{}' is no 13-bit number",
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
        self.ready_given = 0;
        self.ready_held = 0;
        let count = self.last_values.unwrap_or(BLOCK_VALUES);
        for &value in values.iter().take(count) {
            self.value(value);
        }
        match self.last_values {
            Some(_) => self.finish(),
            None => Ok(()),
        }
    }

    /// Takes in one 6-bit value. Four are kept back until another follows: they may be the last.
    fn value(&mut self, value: u8) {
        if self.values_held == self.values.len() {
            self.give(3);
        }
        if let Some(place) = self.values.get_mut(self.values_held) {
            *place = value;
            self.values_held += 1;
        }
    }

    /// The last four values say themselves how many bytes they are.
    fn finish(&mut self) -> Result<(), String> {
        self.over = true;
        match self.values {
            [_, _, _, count @ 0..=2] if self.values_held == 4 => self.give(usize::from(count)),
            _ => return Err("badly terminated".into()),
        }
        Ok(())
    }

    /// Makes the first `count` bytes of the four values ready.
    fn give(&mut self, count: usize) {
        let [a, b, c, d] = self.values;
        for byte in [a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d]
            .into_iter()
            .take(count)
        {
            if let Some(place) = self.ready.get_mut(self.ready_held) {
                *place = byte;
                self.ready_held += 1;
            }
        }
        self.values_held = 0;
    }

    /// Delivers what is ready; gives how many bytes that were.
    fn deliver(&mut self, out: &mut [u8]) -> usize {
        let ready = self
            .ready
            .get(self.ready_given..self.ready_held)
            .unwrap_or_default();
        let given = ready.len().min(out.len());
        for (to, from) in out.iter_mut().zip(ready) {
            *to = *from;
        }
        self.ready_given += given;
        given
    }
}

impl Codec for C7 {
    fn step(&mut self, input: &[u8], out: &mut [u8], _at_end: bool) -> Step {
        let mut taken = 0;
        let mut given = 0;
        let outcome = loop {
            given += self.deliver(out.get_mut(given..).unwrap_or_default());
            if self.ready_given < self.ready_held {
                break Outcome::Going; // no room
            }
            if self.over {
                break Outcome::Done;
            }
            let Some(&character) = input.get(taken) else {
                break Outcome::Going;
            };
            taken += 1;
            // Line ends are not of the code: some mailer folded it.
            if matches!(character, b'\n' | b'\r') {
                continue;
            }
            if let Err(what) = self.character(character) {
                given += self.deliver(out.get_mut(given..).unwrap_or_default());
                break Outcome::Damaged(what);
            }
        };
        Step {
            taken,
            given,
            outcome,
        }
    }
}
