//! `.ovr`: overview rows sorted by group and number, in blocks.
//!
//! Each commit appends one block; sealing the segment merges them into one, so that the rows of a group
//! lie together, ready to send. docs/formats/overview.md has the byte layout.

pub(crate) mod merge;
pub(crate) mod parts;
pub(crate) mod row;
pub(crate) mod rows;
pub(crate) mod used_numbers;

use std::ops::Range;

use crate::Error;
use crate::io::bytes::{u32_at, u64_at};
use crate::log::segments::{SegmentFile, Segments};
use crate::overview::parts::{PART_BYTES, SUM_BYTES};

const MAGIC: u32 = u32::from_le_bytes(*b"BSo1");
/// Bytes of a block's header.
pub const BLOCK_HEADER_BYTES: usize = 32;
const GROUP_BYTES: usize = 16;
const ENTRY_BYTES: usize = 16;

/// One block, borrowed from the bytes of its file.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    /// The whole block.
    pub bytes: &'a [u8],
    groups: &'a [u8],
    entries: &'a [u8],
    names: &'a [u8],
    text: &'a [u8],
    /// The checksums of the parts.
    sums: &'a [u8],
}

impl<'a> Block<'a> {
    /// Parses the block at the start of `bytes`; `None` if it is no block, or truncated. Does not verify the checksums.
    pub fn parse(bytes: &'a [u8]) -> Option<Block<'a>> {
        if u32_at(bytes, 0)? != MAGIC {
            return None;
        }
        let length = usize::try_from(u64_at(bytes, 8)?).ok()?;
        let bytes = bytes.get(..length)?;
        let groups = (u32_at(bytes, 16)? as usize).checked_mul(GROUP_BYTES)?;
        let entries = (u32_at(bytes, 20)? as usize).checked_mul(ENTRY_BYTES)?;
        let names = u32_at(bytes, 24)? as usize;
        let (groups, rest) = bytes.get(BLOCK_HEADER_BYTES..)?.split_at_checked(groups)?;
        let (entries, rest) = rest.split_at_checked(entries)?;
        let (names, rest) = rest.split_at_checked(names)?;
        let tables = length - rest.len() - BLOCK_HEADER_BYTES;
        let sums = sums_bytes(tables, rest.len())?;
        let (text, sums) = rest.split_at_checked(rest.len().checked_sub(sums)?)?;
        Some(Block {
            bytes,
            groups,
            entries,
            names,
            text,
            sums,
        })
    }

    /// All groups, in order of name.
    pub fn groups(&self) -> impl Iterator<Item = GroupRows<'a>> + use<'a> {
        let block = *self;
        (0..self.groups.len() / GROUP_BYTES).filter_map(move |place| block.group(place))
    }

    /// Total number of rows.
    pub fn rows(&self) -> u64 {
        (self.entries.len() / ENTRY_BYTES) as u64
    }

    /// The rows of one group.
    pub fn find(&self, name: &[u8]) -> Option<GroupRows<'a>> {
        self.groups_from(name)
            .next()
            .filter(|rows| rows.name == name)
    }

    /// The groups from a name on, in order of name.
    pub fn groups_from(&self, name: &[u8]) -> impl Iterator<Item = GroupRows<'a>> + use<'a> {
        let block = *self;
        let count = self.groups.len() / GROUP_BYTES;
        (self.place_of(name)..count).map_while(move |place| block.group(place))
    }

    /// The index of the first group whose name is not before this one.
    pub fn place_of(&self, name: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.groups.len() / GROUP_BYTES);
        while low < high {
            let middle = low + (high - low) / 2;
            // A damaged block has no groups.
            match self.group(middle) {
                Some(rows) if rows.name < name => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }

    /// The start of the rows' text in the block.
    pub fn text_at(&self) -> usize {
        self.names_at() + self.names.len()
    }

    fn entries_at(&self) -> usize {
        BLOCK_HEADER_BYTES + self.groups.len()
    }

    fn names_at(&self) -> usize {
        self.entries_at() + self.entries.len()
    }

    /// The bytes in the block of a group in the table of groups, and of its name.
    fn name_of(&self, place: usize) -> Option<(Range<usize>, Range<usize>)> {
        let at = place.checked_mul(GROUP_BYTES)?;
        let start = self.names_at() + u32_at(self.groups, at)? as usize;
        let length = u32_at(self.groups, at + 4)? as usize;
        let entry = BLOCK_HEADER_BYTES + at;
        Some((entry..entry + GROUP_BYTES, start..start + length))
    }

    /// The bytes in the block of the entries of a group, and of the entry behind them, if there is one.
    fn entries_of(&self, place: usize) -> Option<Range<usize>> {
        let at = place.checked_mul(GROUP_BYTES)?;
        let first = u32_at(self.groups, at + 8)? as usize;
        let end = first + u32_at(self.groups, at + 12)? as usize + 1;
        let entries = self.entries_at();
        let (first, end) = (first * ENTRY_BYTES, end * ENTRY_BYTES);
        Some(entries + first..entries + end.min(self.entries.len()))
    }

    /// The rows of the group with an index in the order of names.
    pub fn group(&self, place: usize) -> Option<GroupRows<'a>> {
        let at = place * GROUP_BYTES;
        let name_at = u32_at(self.groups, at)? as usize;
        let name_length = u32_at(self.groups, at + 4)? as usize;
        let first = u32_at(self.groups, at + 8)? as usize;
        let count = u32_at(self.groups, at + 12)? as usize;
        let entries = self
            .entries
            .get(first.checked_mul(ENTRY_BYTES)?..(first + count).checked_mul(ENTRY_BYTES)?)?;
        let text_end = match u32_at(self.entries, (first + count) * ENTRY_BYTES + 8) {
            Some(end) => end as usize,
            None => self.text.len(),
        };
        Some(GroupRows {
            name: self.names.get(name_at..name_at.checked_add(name_length)?)?,
            entries,
            text: self.text,
            text_end,
        })
    }
}

/// Bytes of the checksums of a block with so many bytes of tables, and so many of text and checksums.
fn sums_bytes(tables: usize, rest: usize) -> Option<usize> {
    let of_tables = tables.div_ceil(PART_BYTES) * SUM_BYTES;
    let rest = rest.checked_sub(of_tables)?;
    let of_text = rest.div_ceil(PART_BYTES + SUM_BYTES) * SUM_BYTES;
    Some(of_tables + of_text)
}

/// The rows of one group in one block, ascending by number.
#[derive(Debug, Clone, Copy)]
pub struct GroupRows<'a> {
    /// The group.
    pub name: &'a [u8],
    entries: &'a [u8],
    text: &'a [u8],
    text_end: usize,
}

/// One row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    /// The article's number in the group.
    pub number: u64,
    /// The offset of its record in `.art`.
    pub record: u32,
    /// The row as NNTP OVER sends it, CRLF included.
    pub text: &'a [u8],
}

impl<'a> GroupRows<'a> {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.entries.len() / ENTRY_BYTES
    }

    /// The greatest number.
    pub fn last_number(&self) -> u64 {
        self.number(self.len().saturating_sub(1))
    }

    fn number(&self, place: usize) -> u64 {
        u64_at(self.entries, place * ENTRY_BYTES).unwrap_or(0)
    }

    /// The offset of the record of a row, by its index, in the segment's `.art`.
    pub fn record_at(&self, place: usize) -> Option<u32> {
        u32_at(self.entries, place * ENTRY_BYTES + 12)
    }

    /// The start of a row, by its index, in the text of the block; after the last row, the end of the text.
    pub fn text_start(&self, place: usize) -> usize {
        u32_at(self.entries, place * ENTRY_BYTES + 8).map_or(self.text_end, |at| at as usize)
    }

    /// A row by its index, from zero.
    pub fn row(&self, place: usize) -> Option<Row<'a>> {
        if place >= self.len() {
            return None;
        }
        Some(Row {
            number: self.number(place),
            record: self.record_at(place)?,
            text: self
                .text
                .get(self.text_start(place)..self.text_start(place + 1))?,
        })
    }

    /// The index of the first row whose number is at least `number`.
    pub fn place_of(&self, number: u64) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.number(middle) < number {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The number of a row by its index, from zero; 0 after the last row.
    pub fn number_at(&self, place: usize) -> u64 {
        self.number(place)
    }

    /// The index of the first row whose record starts at or after `record`, of the rows that are not late: their numbers and records
    /// increase together.
    pub fn place_of_record(&self, record: u64, is_late: impl Fn(u64) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        let mut found = high;
        while low < high {
            let middle = low + (high - low) / 2;
            let ordered = (middle..high).find(|place| !is_late(self.record_or_end(*place)));
            match ordered {
                None => high = middle,
                Some(place) if self.record_or_end(place) < record => low = place + 1,
                Some(place) => (high, found) = (middle, place),
            }
        }
        found
    }

    /// The index of the first row that is not late; [`GroupRows::len`] if there is none.
    pub fn first_ordered(&self, is_late: impl Fn(u64) -> bool) -> usize {
        let mut places = 0..self.len();
        places
            .find(|place| !is_late(self.record_or_end(*place)))
            .unwrap_or(self.len())
    }

    /// The index of the last row before `place` that is not late.
    pub fn last_ordered(&self, place: usize, is_late: impl Fn(u64) -> bool) -> Option<usize> {
        let mut places = (0..place).rev();
        places.find(|place| !is_late(self.record_or_end(*place)))
    }

    fn record_or_end(&self, place: usize) -> u64 {
        self.record_at(place).map_or(u64::MAX, u64::from)
    }

    /// The rows with the wanted numbers, in runs of adjacent rows.
    pub fn runs(self, wanted: impl Fn(u64) -> bool) -> Vec<GroupRows<'a>> {
        let mut runs = Vec::new();
        let mut first = 0;
        while first < self.len() {
            let length = (first..self.len())
                .take_while(|place| wanted(self.number(*place)))
                .count();
            let bytes = first * ENTRY_BYTES..(first + length) * ENTRY_BYTES;
            if length > 0
                && let Some(entries) = self.entries.get(bytes)
            {
                runs.push(GroupRows {
                    entries,
                    text_end: self.text_start(first + length),
                    ..self
                });
            }
            first += length.max(1);
        }
        runs
    }

    /// The rows with numbers in `low..=high`, ascending.
    pub fn range(&self, low: u64, high: u64) -> impl Iterator<Item = Row<'a>> + use<'a> {
        let rows = *self;
        (rows.place_of(low)..rows.len())
            .map_while(move |place| rows.row(place))
            .take_while(move |row| row.number <= high)
    }
}

/// Size of the block that starts with this header, bytes; 0 if none does.
pub fn block_bytes(header: &[u8; BLOCK_HEADER_BYTES]) -> u64 {
    match u32_at(header, 0) {
        Some(MAGIC) => u64_at(header, 8).unwrap_or(0),
        _ => 0,
    }
}

/// The error about rows of a segment whose numbers nobody may use.
pub fn damaged(segments: &Segments, base: u64) -> Error {
    Error::Damaged {
        path: segments.path(base, SegmentFile::Ovr),
        offset: 0,
        what: "a block of rows is damaged",
    }
}

/// Whether whole blocks fill a file, and the checksums of their tables are correct ([`Block::has_sound_tables`]).
pub fn has_sound_tables(bytes: &[u8]) -> bool {
    let mut length = 0;
    blocks(bytes).all(|block| {
        length += block.bytes.len();
        block.has_sound_tables()
    }) && length == bytes.len()
}

/// The blocks of a file, up to the first unreadable one.
pub fn blocks(mut bytes: &[u8]) -> impl Iterator<Item = Block<'_>> {
    std::iter::from_fn(move || {
        let block = Block::parse(bytes)?;
        bytes = bytes.get(block.bytes.len()..)?;
        Some(block)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overview::merge::merge;
    use crate::overview::parts::{CheckedBlock, Damaged, SoundParts};
    use crate::overview::rows::Rows;

    fn block(rows: &[(&str, u64, u32)]) -> Vec<u8> {
        let mut builder = Rows::default();
        for (group, number, record) in rows {
            builder.add(
                *record,
                std::iter::once((group.as_bytes(), *number)),
                |out| {
                    out.extend_from_slice(format!("\t{group} {record}\r\n").as_bytes());
                },
            );
        }
        let mut out = Vec::new();
        builder.build(&mut out);
        out
    }

    #[test]
    fn rows_are_found_by_group_and_number() {
        let bytes = block(&[("b", 1, 10), ("a", 5, 20), ("b", 2, 30), ("a", 99, 40)]);
        let block = Block::parse(&bytes).unwrap();
        assert!(block.is_sound());
        assert_eq!(
            block.groups().map(|g| g.name).collect::<Vec<_>>(),
            [b"a", b"b"]
        );
        let rows = block.find(b"b").unwrap();
        let texts: Vec<_> = rows.range(2, 9).map(|row| (row.record, row.text)).collect();
        assert_eq!(texts, [(30, &b"2\tb 30\r\n"[..])]);
        assert!(block.find(b"c").is_none());
    }

    fn merged(bytes: &[u8]) -> Vec<u8> {
        let mut merged = vec![0; 4096];
        let length = merge::<()>(bytes, |at, piece| {
            merged[at as usize..at as usize + piece.len()].copy_from_slice(piece);
            Ok(())
        })
        .unwrap();
        merged.truncate(length as usize);
        merged
    }

    #[test]
    fn late_numbers_are_merged_in_order() {
        let mut bytes = block(&[("a", 5, 20), ("a", 9, 24), ("b", 1, 28)]);
        bytes.extend(block(&[("a", 2, 30), ("a", 7, 34), ("b", 2, 38)]));
        let merged = merged(&bytes);
        let one = Block::parse(&merged).unwrap();
        assert!(one.is_sound());
        let rows = one.find(b"a").unwrap();
        let all: Vec<_> = rows
            .range(0, 99)
            .map(|r| (r.number, r.record, r.text.to_vec()))
            .collect();
        let row = |number: u64, record: u32| {
            let text = format!("{number}\ta {record}\r\n").into_bytes();
            (number, record, text)
        };
        assert_eq!(all, [row(2, 30), row(5, 20), row(7, 34), row(9, 24)]);
        assert_eq!(one.find(b"b").unwrap().row(1).unwrap().text, b"2\tb 38\r\n");
    }

    #[test]
    fn merging_keeps_every_row_in_order() {
        let mut bytes = block(&[("b", 1, 10), ("a", 5, 20)]);
        bytes.extend(block(&[("c", 1, 30)]));
        bytes.extend(block(&[("a", 6, 40), ("b", 2, 50), ("b", 3, 60)]));
        let merged = merged(&bytes);
        let one = Block::parse(&merged).unwrap();
        assert!(one.is_sound());
        assert_eq!(one.bytes.len(), merged.len());
        let all: Vec<_> = one
            .groups()
            .flat_map(|g| {
                g.range(0, u64::MAX)
                    .map(|r| (r.number, r.record))
                    .collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(all, [(5, 20), (6, 40), (1, 10), (2, 50), (3, 60), (1, 30)]);
    }

    /// Rows of `a` and `b` in several parts.
    fn large_block() -> Vec<u8> {
        let names: Vec<(&str, u64, u32)> = (1..4000)
            .map(|number| {
                (
                    if number % 2 == 0 { "a" } else { "b" },
                    number,
                    number as u32 * 8,
                )
            })
            .collect();
        block(&names)
    }

    #[test]
    fn each_part_of_a_block_is_verified_alone() {
        let good = large_block();
        assert!(good.len() > 5 * PART_BYTES);
        let block = Block::parse(&good).unwrap();
        assert!(block.is_sound() && block.has_sound_tables());
        let (whole, header) = (0..good.len(), 8..40);
        let mut bad_sum = good.clone();
        *bad_sum.last_mut().unwrap() ^= 1;
        let last_of_text = block.text_at() + block.text.len() - 1;
        let mut bad_text = good.clone();
        bad_text[last_of_text] ^= 1;
        for (bytes, is_table_sound) in [(&good, true), (&bad_sum, false), (&bad_text, true)] {
            let block = Block::parse(bytes).unwrap();
            assert_eq!(block.has_sound_tables(), is_table_sound);
            let sound = &SoundParts::default();
            let checked = CheckedBlock {
                block,
                sound,
                place: 7,
            };
            for _ in 0..2 {
                assert_eq!(checked.check(header.clone()).is_ok(), is_table_sound);
                assert_eq!(checked.check(whole.clone()).is_ok(), block.is_sound());
                let found = checked.find(b"b").map(|found| found.unwrap().1.len());
                assert_eq!(found, is_table_sound.then_some(2000).ok_or(Damaged));
                let none = checked.find(b"aa").map(|found| found.is_none());
                assert_eq!(none, is_table_sound.then_some(true).ok_or(Damaged));
            }
        }
    }

    #[test]
    fn pieces_give_the_checksums_of_the_whole() {
        let (one, two) = (block(&[("c", 1, 1)]), large_block());
        let bytes = [two.clone(), one].concat();
        let mut merged = Vec::new();
        let _ = merge::<()>(&bytes, |at, piece| {
            merged.resize(merged.len().max(at as usize + piece.len()), 0);
            merged[at as usize..at as usize + piece.len()].copy_from_slice(piece);
            Ok(())
        });
        let block = Block::parse(&merged).unwrap();
        assert!(block.is_sound() && block.bytes.len() == merged.len());
        assert_eq!(block.rows(), 4000);
    }

    #[test]
    fn a_cut_or_damaged_block_is_noticed() {
        let bytes = block(&[("a", 1, 10)]);
        assert!(Block::parse(&bytes[..bytes.len() - 1]).is_none());
        let mut bad = bytes.clone();
        *bad.last_mut().unwrap() ^= 1;
        assert!(!Block::parse(&bad).unwrap().is_sound());
    }
}
