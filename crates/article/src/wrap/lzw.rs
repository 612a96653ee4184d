//! Writes the format of `compress`: LZW in block mode with codes of 9 to 16 bits. The decoder,
//! `compress.rs`, describes the format.
//!
//! Like the original, the encoder keeps a full table and clears it when a check, every 10,000 bytes, finds
//! that the compression ratio has dropped.

const MAGIC: [u8; 3] = [0x1f, 0x9d, 0x80 | WIDTH_MAX as u8];
const WIDTH_MIN: u32 = 9;
const WIDTH_MAX: u32 = 16;
/// The code that clears the decoder's table.
const CLEAR: u32 = 256;
const FIRST_FREE: u32 = 257;
/// Bytes between two checks of the compression ratio.
const CHECK_INTERVAL_BYTES: u64 = 10_000;
/// Size of the hash table, log2; at most half of its slots are used.
const TABLE_LOG2: u32 = 17;
const TABLE_SLOTS: usize = 1 << TABLE_LOG2;

/// Compresses a text produced in pieces.
pub(super) struct Lzw {
    /// Hash table by prefix and byte: both, and the code of the string in the low 16 bits. 0 is an empty slot.
    table: Box<[u64]>,
    /// The next code to be defined.
    free: u32,
    width: u32,
    /// Codes written at this width; codes come in groups of eight.
    codes: u32,
    bits: u64,
    bits_held: u32,
    /// The longest known string that matches the text at this position.
    prefix: Option<u32>,
    consumed: u64,
    produced: u64,
    check_at: u64,
    /// Best ratio since the table was full, times 256.
    ratio: u64,
}

impl Lzw {
    pub(super) fn new() -> Lzw {
        Lzw {
            table: vec![0; TABLE_SLOTS].into_boxed_slice(),
            free: FIRST_FREE,
            width: WIDTH_MIN,
            codes: 0,
            bits: 0,
            bits_held: 0,
            prefix: None,
            consumed: 0,
            produced: 0,
            check_at: CHECK_INTERVAL_BYTES,
            ratio: 0,
        }
    }

    /// Compresses some more text.
    pub(super) fn push(&mut self, text: &[u8], out: &mut Vec<u8>) {
        if self.produced == 0 {
            out.extend_from_slice(&MAGIC);
            self.produced = MAGIC.len() as u64;
        }
        let before = self.consumed;
        for (at, &byte) in text.iter().enumerate() {
            let byte = u32::from(byte);
            let Some(prefix) = self.prefix else {
                self.prefix = Some(byte);
                continue;
            };
            let key = u64::from(prefix << 8 | byte);
            let index = match self.look_up(key) {
                Ok(code) => {
                    self.prefix = Some(code);
                    continue;
                }
                Err(index) => index,
            };
            self.code(prefix, out);
            self.prefix = Some(byte);
            if self.free >> WIDTH_MAX == 0 {
                if let Some(slot) = self.table.get_mut(index) {
                    *slot = key << 16 | u64::from(self.free);
                }
                self.free += 1;
            } else {
                self.consumed = before + at as u64;
                if self.consumed >= self.check_at {
                    self.clear_if_worse(out);
                }
            }
        }
        self.consumed = before + text.len() as u64;
    }

    /// Writes the remaining bits. Nothing may be pushed afterwards.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        self.push(b"", out);
        if let Some(prefix) = self.prefix.take() {
            self.code(prefix, out);
        }
        while self.bits_held > 0 {
            self.byte(out);
        }
    }

    /// Returns the code of a string, or the empty slot for it.
    #[inline]
    fn look_up(&self, key: u64) -> Result<u32, usize> {
        let hash = (key as u32).wrapping_mul(0x9e37_79b1) >> (32 - TABLE_LOG2);
        let mut index = hash as usize;
        loop {
            match self.table.get(index) {
                Some(0) => return Err(index),
                Some(&slot) if slot >> 16 == key => return Ok(slot as u32 & 0xffff),
                _ => index = (index + 1) % TABLE_SLOTS,
            }
        }
    }

    /// Writes a code, and widens codes when the decoder does: it is one definition behind.
    #[inline]
    fn code(&mut self, code: u32, out: &mut Vec<u8>) {
        self.bits |= u64::from(code) << self.bits_held;
        self.bits_held += self.width;
        self.codes += 1;
        if self.bits_held >= 32 {
            out.extend_from_slice(&(self.bits as u32).to_le_bytes());
            self.produced += 4;
            self.bits >>= 32;
            self.bits_held -= 32;
        }
        if self.free >> self.width > 0 && self.width < WIDTH_MAX {
            self.set_width(self.width + 1, out);
        }
    }

    /// Pads the group of eight codes and changes the width.
    #[cold]
    fn set_width(&mut self, width: u32, out: &mut Vec<u8>) {
        let left_in_group = self.codes.wrapping_neg() % 8;
        for _ in 0..left_in_group {
            self.bits_held += self.width;
            while self.bits_held >= 32 {
                self.byte(out);
            }
        }
        // A group of eight codes is a whole number of bytes.
        while self.bits_held > 0 {
            self.byte(out);
        }
        self.codes = 0;
        self.width = width;
    }

    fn byte(&mut self, out: &mut Vec<u8>) {
        out.push(self.bits as u8);
        self.produced += 1;
        self.bits >>= 8;
        self.bits_held = self.bits_held.saturating_sub(8);
    }

    #[cold]
    fn clear_if_worse(&mut self, out: &mut Vec<u8>) {
        self.check_at = self.consumed + CHECK_INTERVAL_BYTES;
        let ratio = (self.consumed << 8) / self.produced.max(1);
        if ratio > self.ratio {
            self.ratio = ratio;
            return;
        }
        self.ratio = 0;
        self.table.fill(0);
        self.code(CLEAR, out);
        self.set_width(WIDTH_MIN, out);
        self.free = FIRST_FREE;
    }
}
