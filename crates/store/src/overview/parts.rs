//! The checksums of a block: one for each part of 16 KiB, so that a reader verifies the parts that it reads, once, and no others.

use std::cell::RefCell;
use std::ops::Range;

use crate::io::bytes::{put_u32, u32_at};
use crate::overview::{BLOCK_HEADER_BYTES, Block, GROUP_BYTES, GroupRows};

/// Bytes of a part of a block. The tables begin a part, and the text does; the last part of each may be shorter.
pub const PART_BYTES: usize = 16 << 10;
/// Bytes of the checksum of a part.
pub const SUM_BYTES: usize = 4;

/// Appends the checksums of the parts to a block in which they are missing, and completes its header.
pub fn close(
    block: &mut Vec<u8>,
    (start, text_at): (usize, usize),
    put_header: impl FnOnce(&mut [u8], u64),
) {
    let tables = block.get(start + BLOCK_HEADER_BYTES..text_at);
    let text = block.get(text_at..).unwrap_or_default();
    let parts = tables.unwrap_or_default().chunks(PART_BYTES);
    let sums: Vec<u8> = parts
        .chain(text.chunks(PART_BYTES))
        .flat_map(|part| article::crc32c(part).to_le_bytes())
        .collect();
    block.extend_from_slice(&sums);
    let length = (block.len() - start) as u64;
    let header = block.get_mut(start..start + BLOCK_HEADER_BYTES);
    let header = header.unwrap_or_default();
    put_header(header, length);
    put_header_sum(header, &sums);
}

/// Puts the checksum of the header and of the checksums of the parts into a header.
pub fn put_header_sum(header: &mut [u8], sums: &[u8]) {
    let sum = header_sum(header, sums);
    put_u32(header, 4, sum);
}

fn header_sum(header: &[u8], sums: &[u8]) -> u32 {
    let own = header.get(8..BLOCK_HEADER_BYTES).unwrap_or_default();
    crc32c::crc32c_append(article::crc32c(own), sums)
}

/// The checksums of the parts of a block that is written piece by piece.
#[derive(Debug, Default)]
pub struct PartSums {
    sums: Vec<u8>,
    sum: u32,
    length: usize,
}

impl PartSums {
    /// Adds the next bytes behind the header.
    pub fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let length = bytes.len().min(PART_BYTES - self.length);
            let (now, behind) = bytes.split_at_checked(length).unwrap_or((bytes, b""));
            self.sum = crc32c::crc32c_append(self.sum, now);
            self.length += now.len();
            if self.length == PART_BYTES {
                self.end_part();
            }
            bytes = behind;
        }
    }

    /// Ends a part, also a short one: before the text, and at its end.
    pub fn end_part(&mut self) {
        if self.length == 0 {
            return;
        }
        self.sums.extend_from_slice(&self.sum.to_le_bytes());
        (self.sum, self.length) = (0, 0);
    }

    /// The checksums of all parts, as they stand at the end of the block.
    pub fn finish(mut self) -> Vec<u8> {
        self.end_part();
        self.sums
    }
}

impl<'a> Block<'a> {
    /// Whether all checksums are correct.
    pub fn is_sound(&self) -> bool {
        self.is_sound_before(self.bytes.len())
    }

    /// Whether the checksums of the tables are correct: of the groups, their names, and the numbers and records of all rows. The text of the
    /// rows is not read.
    pub fn has_sound_tables(&self) -> bool {
        self.is_sound_before(self.text_at())
    }

    fn is_sound_before(&self, end: usize) -> bool {
        let mut parts = self.parts_of(&(BLOCK_HEADER_BYTES..end));
        self.is_header_sound() && parts.all(|part| self.is_part_sound(part))
    }

    /// Checks the header, and the checksums of the parts.
    fn is_header_sound(&self) -> bool {
        u32_at(self.bytes, 4) == Some(header_sum(self.bytes, self.sums))
    }

    fn is_part_sound(&self, part: usize) -> bool {
        let (start, end) = match part.checked_sub(self.table_parts()) {
            None => (BLOCK_HEADER_BYTES + part * PART_BYTES, self.text_at()),
            Some(part) => {
                let text_end = self.text_at() + self.text.len();
                (self.text_at() + part * PART_BYTES, text_end)
            }
        };
        let bytes = self.bytes.get(start..end.min(start + PART_BYTES));
        u32_at(self.sums, part * SUM_BYTES) == bytes.map(article::crc32c)
    }

    /// The parts that have some bytes of the block.
    fn parts_of(&self, bytes: &Range<usize>) -> Range<usize> {
        let text = self.text_at();
        let first = match bytes.start.checked_sub(text) {
            None => bytes.start.saturating_sub(BLOCK_HEADER_BYTES) / PART_BYTES,
            Some(start) => self.table_parts() + start / PART_BYTES,
        };
        let end = match bytes.end.checked_sub(text) {
            None => {
                let end = bytes.end.saturating_sub(BLOCK_HEADER_BYTES);
                end.div_ceil(PART_BYTES)
            }
            Some(end) => self.table_parts() + end.div_ceil(PART_BYTES),
        };
        first..end.min(self.parts())
    }

    fn table_parts(&self) -> usize {
        (self.text_at() - BLOCK_HEADER_BYTES).div_ceil(PART_BYTES)
    }

    fn parts(&self) -> usize {
        self.sums.len() / SUM_BYTES
    }

    /// Places in [`SoundParts`]: one for the header, and one for each part.
    pub fn places(&self) -> usize {
        1 + self.parts()
    }
}

/// Some bytes of a block are not those that were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Damaged;

/// The parts of the blocks of a file that were verified, a bit each: each part is read once, as long as it is sound.
#[derive(Debug, Default)]
pub struct SoundParts(RefCell<Vec<u64>>);

impl SoundParts {
    fn has(&self, place: usize, is_sound: impl FnOnce() -> bool) -> bool {
        let (word, bit) = (place / 64, 1 << (place % 64));
        let mut words = self.0.borrow_mut();
        if words.get(word).is_some_and(|known| known & bit != 0) {
            return true;
        }
        if !is_sound() {
            return false;
        }
        if words.len() <= word {
            words.resize(word + 1, 0);
        }
        if let Some(known) = words.get_mut(word) {
            *known |= bit;
        }
        true
    }
}

/// A block, of which nothing is read before it was verified.
#[derive(Debug, Clone, Copy)]
pub struct CheckedBlock<'a, 's> {
    /// The block.
    pub block: Block<'a>,
    /// The verified parts of its file.
    pub sound: &'s SoundParts,
    /// The place of its header there.
    pub place: usize,
}

impl<'a> CheckedBlock<'a, '_> {
    /// Verifies some bytes of the block.
    pub fn check(&self, bytes: Range<usize>) -> Result<(), Damaged> {
        let block = &self.block;
        let header = || block.is_header_sound();
        let mut parts = block.parts_of(&bytes);
        let is_sound = self.sound.has(self.place, header)
            && parts.all(|part| {
                let place = self.place + 1 + part;
                self.sound.has(place, || block.is_part_sound(part))
            });
        is_sound.then_some(()).ok_or(Damaged)
    }

    /// Verifies the tables: see [`Block::has_sound_tables`].
    pub fn check_tables(&self) -> Result<(), Damaged> {
        self.check(BLOCK_HEADER_BYTES..self.block.text_at())
    }

    /// The rows of a group with their index in the order of names; their numbers and records are verified, not their text.
    pub fn find(&self, name: &[u8]) -> Result<Option<(usize, GroupRows<'a>)>, Damaged> {
        let count = self.block.groups.len() / GROUP_BYTES;
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.name(middle)? < name {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        if low >= count || self.name(low)? != name {
            return Ok(None);
        }
        let rows = self.block.group(low).ok_or(Damaged)?;
        // The text ends where that of the next entry begins.
        let entries = self.block.entries_of(low).ok_or(Damaged)?;
        self.check(entries)?;
        Ok(Some((low, rows)))
    }

    fn name(&self, place: usize) -> Result<&'a [u8], Damaged> {
        let (entry, name) = self.block.name_of(place).ok_or(Damaged)?;
        self.check(entry)?;
        self.check(name.clone())?;
        self.block.bytes.get(name).ok_or(Damaged)
    }
}
