//! Writes what `compress` writes: LZW in block mode with codes of 9 to 16 bits. What the bytes mean stands beside
//! the reader, in `compress.rs`.
//!
//! As the original does, the table is kept when it is full and emptied when, looked at every 10,000 bytes, the
//! text no longer shrinks as well as it did.

const MAGIC: [u8; 3] = [0x1f, 0x9d, 0x80 | WIDTH_MAX as u8];
const WIDTH_MIN: u32 = 9;
const WIDTH_MAX: u32 = 16;
/// Empties the reader's table.
const CLEAR: u32 = 256;
const FIRST_FREE: u32 = 257;
/// Bytes in between two looks at how well the text shrinks.
const CHECK_EVERY: u64 = 10_000;
/// Places of the table; at most half of them are taken.
const PLACES_LOG: u32 = 17;
const PLACES: usize = 1 << PLACES_LOG;

/// Compresses a text given in pieces.
pub(super) struct Lzw {
    /// By hash of prefix and byte: these two, and the code of the string in the low 16 bits. 0 is a free place.
    table: Box<[u64]>,
    /// The next code to be defined.
    free: u32,
    width: u32,
    /// Codes written at this width: they come in groups of eight.
    codes: u32,
    bits: u64,
    bits_held: u32,
    /// The longest known string the text goes on with.
    prefix: Option<u32>,
    taken: u64,
    given: u64,
    check_at: u64,
    /// Best ratio seen since the table was full, times 256.
    ratio: u64,
}

impl Lzw {
    pub(super) fn new() -> Lzw {
        Lzw {
            table: vec![0; PLACES].into_boxed_slice(),
            free: FIRST_FREE,
            width: WIDTH_MIN,
            codes: 0,
            bits: 0,
            bits_held: 0,
            prefix: None,
            taken: 0,
            given: 0,
            check_at: CHECK_EVERY,
            ratio: 0,
        }
    }

    /// Compresses some more text.
    pub(super) fn push(&mut self, text: &[u8], out: &mut Vec<u8>) {
        if self.given == 0 {
            out.extend_from_slice(&MAGIC);
            self.given = MAGIC.len() as u64;
        }
        let before = self.taken;
        for (at, &byte) in text.iter().enumerate() {
            let byte = u32::from(byte);
            let Some(prefix) = self.prefix else {
                self.prefix = Some(byte);
                continue;
            };
            let key = u64::from(prefix << 8 | byte);
            let place = match self.look_up(key) {
                Ok(code) => {
                    self.prefix = Some(code);
                    continue;
                }
                Err(place) => place,
            };
            self.code(prefix, out);
            self.prefix = Some(byte);
            if self.free >> WIDTH_MAX == 0 {
                if let Some(slot) = self.table.get_mut(place) {
                    *slot = key << 16 | u64::from(self.free);
                }
                self.free += 1;
            } else {
                self.taken = before + at as u64;
                if self.taken >= self.check_at {
                    self.clear_if_worse(out);
                }
            }
        }
        self.taken = before + text.len() as u64;
    }

    /// Writes what is still held. Nothing may be pushed after it.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        self.push(b"", out);
        if let Some(prefix) = self.prefix.take() {
            self.code(prefix, out);
        }
        while self.bits_held > 0 {
            self.byte(out);
        }
    }

    /// The code of a string, or the free place for it.
    #[inline]
    fn look_up(&self, key: u64) -> Result<u32, usize> {
        let hash = (key as u32).wrapping_mul(0x9e37_79b1) >> (32 - PLACES_LOG);
        let mut place = hash as usize;
        loop {
            match self.table.get(place) {
                Some(0) => return Err(place),
                Some(&slot) if slot >> 16 == key => return Ok(slot as u32 & 0xffff),
                _ => place = (place + 1) % PLACES,
            }
        }
    }

    /// Writes a code, and goes over to wider ones when the reader does: it is one definition behind.
    #[inline]
    fn code(&mut self, code: u32, out: &mut Vec<u8>) {
        self.bits |= u64::from(code) << self.bits_held;
        self.bits_held += self.width;
        self.codes += 1;
        if self.bits_held >= 32 {
            out.extend_from_slice(&(self.bits as u32).to_le_bytes());
            self.given += 4;
            self.bits >>= 32;
            self.bits_held -= 32;
        }
        if self.free >> self.width > 0 && self.width < WIDTH_MAX {
            self.set_width(self.width + 1, out);
        }
    }

    /// Fills the group of eight codes up and goes on with another width.
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
        self.given += 1;
        self.bits >>= 8;
        self.bits_held = self.bits_held.saturating_sub(8);
    }

    #[cold]
    fn clear_if_worse(&mut self, out: &mut Vec<u8>) {
        self.check_at = self.taken + CHECK_EVERY;
        let ratio = (self.taken << 8) / self.given.max(1);
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
