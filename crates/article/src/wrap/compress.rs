//! `compress` (.Z): LZW with codes that widen from 9 to at most 16 bits.
//!
//! The file begins with the bytes 1F 9D and a byte of flags (largest width; 0x80 = block mode). Codes follow, lowest
//! bit first. Codes 0 to 255 are literal bytes; each later code defines the string of the code before it plus
//! the first byte of its own string. In block mode code 256 clears the table. The original program wrote codes
//! in groups of eight and, whenever the width changed, left the rest of the group as padding, which
//! every decoder has to skip.
//!
//! At a largest width of 9 existing programs contradict each other; this decoder
//! uses 9 bits throughout.
//!
//! The format has no end mark and no checksum: data truncated between two codes looks whole, and the
//! batch inside it is short. A line end or `^Z` that another program put behind the last code looks like a part of a code, or
//! like a whole one; the decoder holds the last bytes back until it knows that they are the last ones ([`Compress::trailer_bytes`]).

use super::codec::{Codec, CodecStatus, Progress};
use super::trailer::is_end_byte;

const WIDTH_MIN: u32 = 9;
const WIDTH_MAX: u32 = 16;
const HEADER_BYTES: usize = 3;
const WIDTH_MASK: u8 = 0x1f;
const BLOCK_MODE: u8 = 0x80;
/// The code that clears the table, in block mode.
const CLEAR: u16 = 256;
const TABLE: usize = 1 << WIDTH_MAX;
/// Most bytes behind the last code that are recognised as those of another program.
const TRAILER_BYTES_MAX: u32 = 3;

pub(super) struct Compress {
    header_seen: usize,
    block_mode: bool,
    width: u32,
    width_max: u32,
    /// Bits read but not consumed, the next one lowest.
    bits: u64,
    bits_held: u32,
    /// Padding bits still to be skipped.
    padding: u32,
    /// Codes read at the current width.
    codes_at_width: u32,
    /// The next code to be defined; up to 65536.
    free: usize,
    /// The previous code, and the first byte of its string; none at the start and after a clear.
    last: Option<u16>,
    last_first: u8,
    /// The strings, indexed by code.
    strings: Box<[Entry; TABLE]>,
    /// A string that did not fit into the output, and how much of it was returned.
    spilled: Vec<u8>,
    spilled_copied: usize,
}

/// The string of a code, in chunks of eight bytes; one byte per entry would cost a memory access
/// for each byte.
#[derive(Clone, Copy)]
struct Entry {
    /// The last one to eight bytes, the first of them lowest.
    tail: u64,
    /// The code of everything before the tail (a multiple of eight bytes); unused if there is nothing before it.
    before: u16,
    /// Length of the string; at most 65281.
    length: u16,
}

impl Entry {
    /// The number of bytes in the tail of a string of `length`.
    #[inline]
    fn tail_bytes(length: usize) -> usize {
        (length.wrapping_sub(1) & 7) + 1
    }

    /// The entry for this string, whose code is `code`, extended by one byte.
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

/// The reason why a code is invalid.
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
            spilled_copied: 0,
        }
    }

    fn first_free(&self) -> usize {
        usize::from(CLEAR) + usize::from(self.block_mode)
    }

    fn header_byte(&mut self, byte: u8) -> Result<(), BadCode> {
        self.header_seen += 1;
        if self.header_seen < HEADER_BYTES {
            return Ok(()); // `magic` has checked these
        }
        self.block_mode = byte & BLOCK_MODE != 0;
        self.width_max = u32::from(byte & WIDTH_MASK);
        self.free = self.first_free();
        if (WIDTH_MIN..=WIDTH_MAX).contains(&self.width_max) {
            Ok(())
        } else {
            Err(BadCode(format!(
                "its codes have up to {} bits, not 9 to 16",
                self.width_max
            )))
        }
    }

    /// Reads the next code and advances `input`. `None` if more input is needed; the last bytes are read only `at_end`.
    #[inline]
    fn next_code(&mut self, input: &mut &[u8], at_end: bool) -> Option<u16> {
        let is_near_end = input.len() < 8;
        if self.padding > 0 || self.bits_held < self.width || is_near_end {
            self.refill(input);
            let held_back = if at_end { 0 } else { 8 * TRAILER_BYTES_MAX };
            if self.padding > 0
                || self.bits_held < self.width
                || is_near_end && self.bits_held < self.width + held_back
            {
                return None;
            }
        }
        let code = self.bits & ((1_u64 << self.width) - 1);
        self.drop_bits(self.width);
        self.codes_at_width += 1;
        Some(code as u16) // at most 16 bits
    }

    /// The bytes that another program put behind the last code, if those that are held begin there; `None` if a code begins there.
    ///
    /// Where they could be a code as well, the text decides: that of a batch or a mailbox ends with a line feed.
    fn trailer_bytes(&self) -> Option<Vec<u8>> {
        let (filling, bytes) = (self.bits_held % 8, self.bits_held / 8);
        if self.padding > 0 || !(1..=TRAILER_BYTES_MAX).contains(&bytes) {
            return None;
        }
        let is_filled = self.bits & ((1_u64 << filling) - 1) == 0;
        let after = (self.bits >> filling).to_le_bytes();
        let after = after.get(..bytes as usize)?;
        if !is_filled || !after.iter().copied().all(is_end_byte) {
            return None;
        }
        let code = (self.bits & ((1_u64 << self.width) - 1)) as u16;
        let is_no_code = self.bits_held < self.width;
        let ends_text = self.last.is_some_and(|last| self.last_byte(last) == b'\n')
            && (usize::from(code) >= self.free || self.last_byte(code) != b'\n');
        (is_no_code || ends_text).then(|| after.to_vec())
    }

    /// The last byte of the string of a code.
    fn last_byte(&self, code: u16) -> u8 {
        let entry = self.strings.get(usize::from(code));
        entry.map_or(0, |entry| {
            let bytes = entry.tail.to_le_bytes();
            let last = Entry::tail_bytes(usize::from(entry.length)) - 1;
            bytes.get(last).copied().unwrap_or(0)
        })
    }

    /// Skips the padding and reads as many whole bytes as fit.
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

    /// Switches to codes of `width` bits, at the next group of eight.
    fn set_width(&mut self, width: u32) {
        let left_in_group = self.codes_at_width.wrapping_neg() % 8;
        self.padding = left_in_group * self.width;
        self.codes_at_width = 0;
        self.width = width;
    }

    /// Defines the next code as the string of `prefix` extended by one byte.
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

    /// Writes the string of `code`, `length` bytes, to the start of `place`; returns its first byte. May overwrite
    /// up to seven bytes after it.
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

    /// Expands `code` into `out`, and into `spilled` if it does not fit; returns the number of
    /// bytes written to `out`.
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
            // The code being defined right now: the previous string and its own first byte.
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
        let (first, produced) = if length <= out.len() {
            (Compress::write(&self.strings, code, length, out), length)
        } else {
            self.spilled.clear();
            self.spilled.resize(length, 0);
            self.spilled_copied = 0;
            let first = Compress::write(&self.strings, code, length, &mut self.spilled);
            (first, self.copy_spilled(out))
        };
        if let Some(last) = self.last {
            self.define(last, first);
        }
        self.last = Some(code);
        self.last_first = first;
        Ok(produced)
    }

    fn copy_spilled(&mut self, out: &mut [u8]) -> usize {
        let rest = self.spilled.get(self.spilled_copied..).unwrap_or_default();
        let produced = rest.len().min(out.len());
        for (to, from) in out.iter_mut().zip(rest) {
            *to = *from;
        }
        self.spilled_copied += produced;
        produced
    }
}

impl Codec for Compress {
    fn step(&mut self, input: &[u8], out: &mut [u8], at_end: bool) -> Progress {
        let mut rest = input;
        let mut produced = self.copy_spilled(out);
        let status = loop {
            let room = out.get_mut(produced..).unwrap_or_default();
            if room.is_empty() {
                break CodecStatus::Continue;
            }
            if self.header_seen < HEADER_BYTES {
                let Some((&byte, after)) = rest.split_first() else {
                    break CodecStatus::Continue;
                };
                rest = after;
                match self.header_byte(byte) {
                    Ok(()) => continue,
                    Err(BadCode(what)) => break CodecStatus::Damaged(what),
                }
            }
            if at_end {
                self.refill(&mut rest);
                if rest.is_empty()
                    && let Some(bytes) = self.trailer_bytes()
                {
                    break CodecStatus::DoneBefore(bytes);
                }
            }
            let Some(code) = self.next_code(&mut rest, at_end) else {
                break match at_end {
                    false => CodecStatus::Continue,
                    // Less than a code is left: padding, unless it contains a whole byte.
                    true if self.bits_held < 8 => CodecStatus::Done,
                    true => CodecStatus::Truncated,
                };
            };
            match self.expand(code, room) {
                Ok(bytes) => produced += bytes,
                Err(BadCode(what)) => break CodecStatus::Damaged(what),
            }
        };
        Progress {
            consumed: input.len() - rest.len(),
            produced,
            status,
        }
    }
}
