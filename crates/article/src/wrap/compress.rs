//! `compress` (.Z): LZW with codes that widen from 9 to at most 16 bits.
//!
//! After the bytes 1F 9D and a byte of flags (largest width; 0x80 = block mode) come codes, lowest
//! bit first. 0 to 255 stand for themselves; each later code adds the string of the one before and
//! the first byte of its own. In block mode 256 empties the table. The original program wrote codes
//! in groups of eight and, whenever the width changes, left the rest of the group as padding; so must
//! every reader.
//!
//! At a largest width of 9 the programs that write this format do not agree with themselves; what
//! is read here is 9 bits throughout.
//!
//! The format has no end mark and no checksum: data torn off between two codes looks whole, and the
//! batch inside turns out short.

use super::codec::{Codec, Outcome, Step};

const WIDTH_MIN: u32 = 9;
const WIDTH_MAX: u32 = 16;
const HEADER_BYTES: usize = 3;
const WIDTH_MASK: u8 = 0x1f;
const BLOCK_MODE: u8 = 0x80;
/// In block mode, the code that empties the table.
const CLEAR: u16 = 256;
const TABLE: usize = 1 << WIDTH_MAX;

pub(super) struct Compress {
    header_seen: usize,
    block_mode: bool,
    width: u32,
    width_max: u32,
    /// Bits read but not used, the next lowest.
    bits: u64,
    bits_held: u32,
    /// Padding bits still to be dropped.
    padding: u32,
    /// Codes read at the present width.
    codes_at_width: u32,
    /// The next code to be defined; up to 65536.
    free: usize,
    /// The code before, and the first byte of its string; none at the start and after a clear.
    last: Option<u16>,
    last_first: u8,
    /// By code.
    strings: Box<[Entry; TABLE]>,
    /// A string that did not fit into the output, and how much of it is delivered.
    spilled: Vec<u8>,
    spilled_given: usize,
}

/// A code's string, eight bytes an entry: a chain of one entry a byte would cost a look into memory
/// for each.
#[derive(Clone, Copy)]
struct Entry {
    /// The last one to eight bytes, the first of them lowest.
    tail: u64,
    /// The code of all before the tail, a whole number of eights; meaningless if there is nothing.
    before: u16,
    /// Length of the string; at most 65281.
    length: u16,
}

impl Entry {
    /// How many bytes the tail of a string of `length` holds.
    #[inline]
    fn tail_bytes(length: usize) -> usize {
        (length.wrapping_sub(1) & 7) + 1
    }

    /// This string, which `code` stands for, and one byte more.
    #[inline]
    fn longer(self, code: u16, byte: u8) -> Entry {
        let length = self.length.saturating_add(1);
        match Entry::tail_bytes(usize::from(self.length)) {
            8 => Entry {
                tail: u64::from(byte),
                before: code,
                length,
            },
            held => Entry {
                tail: self.tail | u64::from(byte) << (8 * held),
                before: self.before,
                length,
            },
        }
    }
}

/// Why a code could not be used.
struct BadCode(String);

impl Compress {
    pub(super) fn new() -> Compress {
        let mut strings = Box::new(
            [Entry {
                tail: 0,
                before: 0,
                length: 1,
            }; TABLE],
        );
        for (byte, entry) in (0_u64..256).zip(strings.iter_mut()) {
            entry.tail = byte;
        }
        Compress {
            header_seen: 0,
            block_mode: false,
            width: WIDTH_MIN,
            width_max: WIDTH_MAX,
            bits: 0,
            bits_held: 0,
            padding: 0,
            codes_at_width: 0,
            free: 0,
            last: None,
            last_first: 0,
            strings,
            spilled: Vec::new(),
            spilled_given: 0,
        }
    }

    fn first_free(&self) -> usize {
        usize::from(CLEAR) + usize::from(self.block_mode)
    }

    fn header_byte(&mut self, byte: u8) -> Result<(), BadCode> {
        self.header_seen += 1;
        if self.header_seen < HEADER_BYTES {
            return Ok(()); // the magic brought us here
        }
        self.block_mode = byte & BLOCK_MODE != 0;
        self.width_max = u32::from(byte & WIDTH_MASK);
        self.free = self.first_free();
        if (WIDTH_MIN..=WIDTH_MAX).contains(&self.width_max) {
            Ok(())
        } else {
            Err(BadCode(format!(
                "codes of up to {} bits, not 9 to 16",
                self.width_max
            )))
        }
    }

    /// The next code, with `input` moved past what was read. None: more input is needed.
    #[inline]
    fn next_code(&mut self, input: &mut &[u8]) -> Option<u16> {
        if self.padding > 0 || self.bits_held < self.width {
            self.refill(input);
            if self.padding > 0 || self.bits_held < self.width {
                return None;
            }
        }
        let code = self.bits & ((1_u64 << self.width) - 1);
        self.drop_bits(self.width);
        self.codes_at_width += 1;
        Some(code as u16) // at most 16 bits
    }

    /// Drops the padding and reads as many whole bytes as fit.
    #[inline]
    fn refill(&mut self, input: &mut &[u8]) {
        loop {
            let dropped = self.padding.min(self.bits_held);
            self.drop_bits(dropped);
            self.padding -= dropped;
            if let Some((eight, _)) = input.split_first_chunk::<8>() {
                let bytes = (63 - self.bits_held) / 8;
                let fresh = u64::from_le_bytes(*eight) & ((1_u64 << (bytes * 8)) - 1);
                self.bits |= fresh << self.bits_held;
                self.bits_held += bytes * 8;
                *input = input.get(bytes as usize..).unwrap_or_default();
            } else {
                while self.bits_held <= 56 {
                    let Some((&byte, rest)) = input.split_first() else {
                        break;
                    };
                    self.bits |= u64::from(byte) << self.bits_held;
                    self.bits_held += 8;
                    *input = rest;
                }
            }
            if self.padding == 0 || self.bits_held == 0 {
                return;
            }
        }
    }

    #[inline]
    fn drop_bits(&mut self, bits: u32) {
        self.bits = self.bits.checked_shr(bits).unwrap_or(0);
        self.bits_held -= bits;
    }

    /// Goes on with codes of `width` bits, at the next group of eight.
    fn set_width(&mut self, width: u32) {
        let left_in_group = self.codes_at_width.wrapping_neg() % 8;
        self.padding = left_in_group * self.width;
        self.codes_at_width = 0;
        self.width = width;
    }

    /// Defines the next code as the string of `prefix` and one byte more.
    #[inline]
    fn define(&mut self, prefix: u16, byte: u8) {
        if self.free >> self.width_max > 0 {
            return; // the table is full
        }
        let Some(entry) = self.strings.get(usize::from(prefix)) else {
            return;
        };
        let longer = entry.longer(prefix, byte);
        if let Some(place) = self.strings.get_mut(self.free) {
            *place = longer;
        }
        self.free += 1;
        if self.free >> self.width > 0 && self.width < self.width_max {
            self.set_width(self.width + 1);
        }
    }

    /// Writes the string of `code`, `length` bytes, to the start of `place`; gives its first byte. Up
    /// to seven bytes behind it are written over, where there are any.
    #[inline]
    fn write(strings: &[Entry; TABLE], code: u16, length: usize, place: &mut [u8]) -> u8 {
        let mut code = code;
        let mut end = length;
        loop {
            let Some(entry) = strings.get(usize::from(code)) else {
                return 0;
            };
            let tail_bytes = Entry::tail_bytes(end);
            let start = end.saturating_sub(tail_bytes);
            let bytes = entry.tail.to_le_bytes();
            match place.get_mut(start..).and_then(<[u8]>::first_chunk_mut) {
                Some(eight) => *eight = bytes,
                None => {
                    let slots = place.get_mut(start..end).unwrap_or_default();
                    slots
                        .iter_mut()
                        .zip(bytes)
                        .for_each(|(to, from)| *to = from);
                }
            }
            if start == 0 {
                return bytes.first().copied().unwrap_or(0);
            }
            code = entry.before;
            end = start;
        }
    }

    /// Puts the string of `code` into `out`, or what does not fit into `spilled`; gives how many
    /// bytes went into `out`.
    #[inline]
    fn expand(&mut self, code: u16, out: &mut [u8]) -> Result<usize, BadCode> {
        if self.block_mode && code == CLEAR {
            self.set_width(WIDTH_MIN);
            self.free = self.first_free();
            self.last = None;
            return Ok(0);
        }
        match self.last {
            None if code > 255 => return Err(BadCode(format!("code {code} before any string"))),
            Some(_) if usize::from(code) > self.free => {
                return Err(BadCode(format!("code {code} is not defined")));
            }
            // The string about to be defined: the last one and its own first byte.
            Some(last) if usize::from(code) == self.free => {
                let first = self.last_first;
                self.define(last, first);
                self.last = None;
            }
            _ => {}
        }
        let length = self
            .strings
            .get(usize::from(code))
            .map_or(1, |entry| usize::from(entry.length));
        let (first, given) = if length <= out.len() {
            (Compress::write(&self.strings, code, length, out), length)
        } else {
            self.spilled.clear();
            self.spilled.resize(length, 0);
            self.spilled_given = 0;
            let first = Compress::write(&self.strings, code, length, &mut self.spilled);
            (first, self.give_spilled(out))
        };
        if let Some(last) = self.last {
            self.define(last, first);
        }
        self.last = Some(code);
        self.last_first = first;
        Ok(given)
    }

    fn give_spilled(&mut self, out: &mut [u8]) -> usize {
        let rest = self.spilled.get(self.spilled_given..).unwrap_or_default();
        let given = rest.len().min(out.len());
        for (to, from) in out.iter_mut().zip(rest) {
            *to = *from;
        }
        self.spilled_given += given;
        given
    }
}

impl Codec for Compress {
    fn step(&mut self, input: &[u8], out: &mut [u8], at_end: bool) -> Step {
        let mut rest = input;
        let mut given = self.give_spilled(out);
        let outcome = loop {
            let room = out.get_mut(given..).unwrap_or_default();
            if room.is_empty() {
                break Outcome::Going;
            }
            if self.header_seen < HEADER_BYTES {
                let Some((&byte, after)) = rest.split_first() else {
                    break Outcome::Going;
                };
                rest = after;
                match self.header_byte(byte) {
                    Ok(()) => continue,
                    Err(BadCode(what)) => break Outcome::Damaged(what),
                }
            }
            let Some(code) = self.next_code(&mut rest) else {
                break match at_end {
                    false => Outcome::Going,
                    // Less than a code is left: filling bits, unless a whole byte is among them.
                    true if self.bits_held < 8 => Outcome::Done,
                    true => Outcome::Torn,
                };
            };
            match self.expand(code, room) {
                Ok(bytes) => given += bytes,
                Err(BadCode(what)) => break Outcome::Damaged(what),
            }
        };
        Step {
            taken: input.len() - rest.len(),
            given,
            outcome,
        }
    }
}
