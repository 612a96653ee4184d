//! `.ovr`: overview rows sorted by group and number, in blocks.
//!
//! Each commit appends one block; sealing the segment merges them into one, so that the rows of a group
//! lie together, ready to send. The byte picture is in docs/formats/overview.md.

pub(crate) mod row;
pub(crate) mod used_numbers;

use hashbrown::HashTable;

use article::decimal;

use crate::io::bytes::{cut, put_u32, put_u64, u32_at, u64_at};
use crate::io::map::is_unreadable;

const MAGIC: u32 = u32::from_le_bytes(*b"BSov");
/// Bytes of a block's header.
pub const BLOCK_HEADER_BYTES: usize = 32;
const GROUP_BYTES: usize = 16;
const ENTRY_BYTES: usize = 16;

/// Rows collected for one block.
#[derive(Debug, Default)]
pub struct Rows {
    names: Vec<u8>,
    groups: Vec<(u32, u32)>,
    by_name: HashTable<u32>,
    entries: Vec<Entry>,
    text: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    group: u32,
    text: u32,
    text_length: u32,
    record: u32,
    number: u64,
}

impl Rows {
    /// Adds one article: `push` appends its row (without number) to the text, `record` is the offset of its
    /// record in `.art`.
    pub fn add<'a>(
        &mut self,
        record: u32,
        links: impl Iterator<Item = (&'a [u8], u64)>,
        push: impl FnOnce(&mut Vec<u8>),
    ) {
        let text = self.text.len() as u32;
        push(&mut self.text);
        let text_length = self.text.len() as u32 - text;
        for (name, number) in links {
            let group = self.group(name);
            self.entries.push(Entry {
                group,
                text,
                text_length,
                record,
                number,
            });
        }
    }

    fn group(&mut self, name: &[u8]) -> u32 {
        let Rows {
            names,
            groups,
            by_name,
            ..
        } = self;
        let of = |&group: &u32| {
            let (start, length) = groups.get(group as usize).copied().unwrap_or_default();
            names
                .get(start as usize..(start + length) as usize)
                .unwrap_or_default()
        };
        let hash = u64::from(crc32c::crc32c(name)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if let Some(&found) = by_name.find(hash, |group| of(group) == name) {
            return found;
        }
        let fresh = groups.len() as u32;
        let rehash =
            |group: &u32| u64::from(crc32c::crc32c(of(group))).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        by_name.insert_unique(hash, fresh, rehash);
        groups.push((names.len() as u32, name.len() as u32));
        names.extend_from_slice(name);
        fresh
    }

    /// True when nothing was added.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of rows collected, before they are multiplied by the cross-posts.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Forgets everything collected, keeping the memory.
    pub fn clear(&mut self) {
        self.names.clear();
        self.groups.clear();
        self.by_name.clear();
        self.entries.clear();
        self.text.clear();
    }

    fn name(&self, group: u32) -> &[u8] {
        let (start, length) = self.groups.get(group as usize).copied().unwrap_or_default();
        self.names
            .get(start as usize..(start + length) as usize)
            .unwrap_or_default()
    }

    /// Appends the block to `out` and forgets the rows.
    pub fn build(&mut self, out: &mut Vec<u8>) {
        let mut order: Vec<u32> = (0..self.groups.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| self.name(a).cmp(self.name(b)));
        let mut rank = vec![0u32; order.len()];
        for (place, &group) in (0..).zip(&order) {
            if let Some(rank) = rank.get_mut(group as usize) {
                *rank = place;
            }
        }
        let mut entries = std::mem::take(&mut self.entries);
        for entry in &mut entries {
            entry.group = rank.get(entry.group as usize).copied().unwrap_or_default();
        }
        entries.sort_unstable_by_key(|entry| (entry.group, entry.number));

        let start = out.len();
        out.resize(start + BLOCK_HEADER_BYTES, 0);
        let mut first = 0;
        let mut name_at = 0u32;
        for (place, &group) in (0u32..).zip(&order) {
            let length = self.name(group).len() as u32;
            let rest = entries.get(first..).unwrap_or_default();
            let count = rest.partition_point(|entry| entry.group <= place);
            for number in [name_at, length, first as u32, count as u32] {
                out.extend_from_slice(&number.to_le_bytes());
            }
            name_at += length;
            first += count;
        }
        let mut row_at = 0u32;
        for entry in &entries {
            out.extend_from_slice(&entry.number.to_le_bytes());
            out.extend_from_slice(&row_at.to_le_bytes());
            out.extend_from_slice(&entry.record.to_le_bytes());
            row_at += digits(entry.number) + entry.text_length;
        }
        for &group in &order {
            out.extend_from_slice(self.name(group));
        }
        for entry in &entries {
            decimal::push(out, entry.number);
            let from = entry.text as usize;
            out.extend_from_slice(
                self.text
                    .get(from..from + entry.text_length as usize)
                    .unwrap_or_default(),
            );
        }
        let counts = (order.len() as u32, entries.len() as u32, name_at);
        entries.clear();
        self.entries = entries;
        self.clear();
        close_block(out.get_mut(start..).unwrap_or_default(), counts);
    }
}

fn digits(number: u64) -> u32 {
    number.checked_ilog10().unwrap_or(0) + 1
}

fn close_block(block: &mut [u8], (groups, entries, names): (u32, u32, u32)) {
    let length = block.len() as u64;
    put_header(block, length, groups, entries, names);
    let sum = crc32c::crc32c(block.get(8..).unwrap_or_default());
    put_u32(block, 4, sum);
}

fn put_header(block: &mut [u8], length: u64, groups: u32, entries: u32, names: u32) {
    put_u32(block, 0, MAGIC);
    put_u64(block, 8, length);
    put_u32(block, 16, groups);
    put_u32(block, 20, entries);
    put_u32(block, 24, names);
}

/// One block, borrowed from the bytes of its file.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    /// The whole block.
    pub bytes: &'a [u8],
    groups: &'a [u8],
    entries: &'a [u8],
    names: &'a [u8],
    text: &'a [u8],
}

impl<'a> Block<'a> {
    /// The block at the start of `bytes`. `None`: not a block, or cut short. The checksum is not looked at.
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
        let (names, text) = rest.split_at_checked(names)?;
        Some(Block {
            bytes,
            groups,
            entries,
            names,
            text,
        })
    }

    /// True when the checksum is right.
    pub fn is_sound(&self) -> bool {
        u32_at(self.bytes, 4) == Some(crc32c::crc32c(self.bytes.get(8..).unwrap_or_default()))
    }

    /// All groups, in order of name.
    pub fn groups(&self) -> impl Iterator<Item = GroupRows<'a>> + use<'a> {
        let block = *self;
        (0..self.groups.len() / GROUP_BYTES).filter_map(move |place| block.group(place))
    }

    /// Rows in all.
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

    /// The place of the first group whose name is not before this one.
    pub fn place_of(&self, name: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.groups.len() / GROUP_BYTES);
        while low < high {
            let middle = low + (high - low) / 2;
            // A block that is damaged has no groups here.
            match self.group(middle) {
                Some(rows) if rows.name < name => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }

    /// Where the text of the rows begins in the block.
    pub fn text_at(&self) -> usize {
        self.bytes.len() - self.text.len()
    }

    /// The rows of the group at a place in the order of names.
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

/// The rows of one group in one block, ascending by number.
#[derive(Debug, Clone, Copy)]
pub struct GroupRows<'a> {
    /// The group.
    pub name: &'a [u8],
    entries: &'a [u8],
    text: &'a [u8],
    text_end: usize,
}

/// Tabs between subject, from, date, id, references, bytes and lines; Xref may follow.
const TABS_MIN: usize = 6;

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
    /// True when there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.entries.len() / ENTRY_BYTES
    }

    /// The greatest number among them.
    pub fn last_number(&self) -> u64 {
        self.number(self.len().saturating_sub(1))
    }

    fn number(&self, place: usize) -> u64 {
        u64_at(self.entries, place * ENTRY_BYTES).unwrap_or(0)
    }

    /// The offset, in the segment's `.art`, of the record of the row at a place.
    pub fn record_at(&self, place: usize) -> Option<u32> {
        u32_at(self.entries, place * ENTRY_BYTES + 12)
    }

    /// Where the row at a place begins in the text of the block; beyond the last, where that ends.
    pub fn text_start(&self, place: usize) -> usize {
        u32_at(self.entries, place * ENTRY_BYTES + 8).map_or(self.text_end, |at| at as usize)
    }

    /// The row at a place, counted from zero.
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

    /// True when the row at a place is a whole line of overview with the number it should have (RFC 3977, 8.3): damage that a client
    /// would wait for the end of, or take for something else, is not served.
    pub fn is_sound(&self, place: usize) -> bool {
        let Some(row) = self.row(place) else {
            return false;
        };
        let (number, fields) = cut(row.text, b'\t');
        decimal::parse(number) == Some(row.number)
            && fields.is_some_and(|fields| {
                fields.ends_with(b"\r\n")
                    && memchr::memchr(b'\n', fields) == Some(fields.len() - 1)
                    && memchr::memchr_iter(b'\t', fields).count() >= TABS_MIN
            })
            && !is_unreadable(row.text)
    }

    /// The place of the first row whose number is at least `number`.
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

    /// The number at a place, counted from zero; 0 beyond the end.
    pub fn number_at(&self, place: usize) -> u64 {
        self.number(place)
    }

    /// The place of the first row whose record begins at `record` or behind it: numbers and records grow together.
    pub fn place_of_record(&self, record: u64) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let at = u32_at(self.entries, middle * ENTRY_BYTES + 12).map_or(u64::MAX, u64::from);
            if at < record {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The rows whose numbers are wanted, in runs of neighbours.
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

/// Bytes of the block that begins with this header; 0 where none begins.
pub fn block_bytes(header: &[u8; BLOCK_HEADER_BYTES]) -> u64 {
    match u32_at(header, 0) {
        Some(MAGIC) => u64_at(header, 8).unwrap_or(0),
        _ => 0,
    }
}

/// The blocks of a file, up to the first that cannot be read.
pub fn blocks(mut bytes: &[u8]) -> impl Iterator<Item = Block<'_>> {
    std::iter::from_fn(move || {
        let block = Block::parse(bytes)?;
        bytes = bytes.get(block.bytes.len()..)?;
        Some(block)
    })
}

/// Merges the blocks of a file into one and hands it to `write` piece by piece, header last (at offset 0).
/// Memory: 24 bytes a group in each block, and one piece of 1 MiB.
pub fn merge<E>(bytes: &[u8], write: impl FnMut(u64, &[u8]) -> Result<(), E>) -> Result<u64, E> {
    merge_rows(
        blocks(bytes).flat_map(|block| block.groups()).collect(),
        write,
    )
}

/// As [`merge`], of some rows.
pub fn merge_rows<E>(
    groups: Vec<GroupRows<'_>>,
    mut write: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<u64, E> {
    let mut groups: Vec<Placed<'_>> = groups.into_iter().map(|rows| (0, rows)).collect();
    // Stable: within a group the blocks stay in order.
    groups.sort_by(|(_, a), (_, b)| a.name.cmp(b.name));
    let same_name = |(_, a): &Placed<'_>, (_, b): &Placed<'_>| a.name == b.name;
    let mut piece = Pieces {
        at: BLOCK_HEADER_BYTES as u64,
        sum: 0,
        buffer: Vec::with_capacity(PIECE_BYTES),
        write: &mut write,
    };
    let (mut entries, mut names, mut count) = (0u32, 0u32, 0u32);
    for same in groups.chunk_by(same_name) {
        let name = same.first().map_or(&b""[..], |(_, rows)| rows.name);
        let rows: usize = same.iter().map(|(_, rows)| rows.len()).sum();
        for number in [names, name.len() as u32, entries, rows as u32] {
            piece.push(&number.to_le_bytes())?;
        }
        names += name.len() as u32;
        entries += rows as u32;
        count += 1;
    }
    let mut text_at = 0u32;
    let whole = (0, u64::MAX);
    for same in groups.chunk_by(same_name) {
        each_ascending(same, whole, |_, row| {
            let entry =
                u128::from(row.number) | u128::from(text_at) << 64 | u128::from(row.record) << 96;
            piece.push(&entry.to_le_bytes())?;
            text_at += row.text.len() as u32;
            Ok(())
        })?;
    }
    for same in groups.chunk_by(same_name) {
        piece.push(same.first().map_or(&b""[..], |(_, rows)| rows.name))?;
    }
    for same in groups.chunk_by(same_name) {
        if !ascend(same) {
            each_ascending(same, whole, |_, row| piece.push(row.text))?;
            continue;
        }
        for (_, rows) in same {
            piece.push(
                rows.text
                    .get(rows.text_start(0)..rows.text_end)
                    .unwrap_or_default(),
            )?;
        }
    }
    piece.flush()?;
    let (length, body_sum) = (piece.at, piece.sum);
    let mut header = [0; BLOCK_HEADER_BYTES];
    put_header(&mut header, length, count, entries, names);
    let head_sum = crc32c::crc32c(header.get(8..).unwrap_or_default());
    let sum = crc32c::crc32c_combine(
        head_sum,
        body_sum,
        (length - BLOCK_HEADER_BYTES as u64) as usize,
    );
    put_u32(&mut header, 4, sum);
    write(0, &header)?;
    Ok(length)
}

/// Rows of a group, with the base of the segment they are from, where that matters.
pub type Placed<'a> = (u64, GroupRows<'a>);

/// True when the numbers of a group's blocks ascend from block to block. Only in an archive they may not: an article that
/// was to stay longer comes into it later.
fn ascend(same: &[Placed<'_>]) -> bool {
    same.windows(2)
        .all(|two| matches!(two, [(_, a), (_, b)] if a.last_number() < b.number_at(0)))
}

/// The rows of one group with numbers in `low..=high`, from all its blocks, by number; with each the base of its segment.
pub fn each_ascending<'a, E>(
    same: &[Placed<'a>],
    (low, high): (u64, u64),
    mut each: impl FnMut(u64, Row<'a>) -> Result<(), E>,
) -> Result<(), E> {
    let mut rows = same
        .iter()
        .flat_map(|(base, rows)| rows.range(low, high).map(|row| (*base, row)));
    if ascend(same) {
        return rows.try_for_each(|(base, row)| each(base, row));
    }
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by_key(|(_, row)| row.number);
    rows.into_iter().try_for_each(|(base, row)| each(base, row))
}

const PIECE_BYTES: usize = 1 << 20;

struct Pieces<'w, W> {
    at: u64,
    sum: u32,
    buffer: Vec<u8>,
    write: &'w mut W,
}

impl<E, W: FnMut(u64, &[u8]) -> Result<(), E>> Pieces<'_, W> {
    fn push(&mut self, bytes: &[u8]) -> Result<(), E> {
        if self.buffer.len() + bytes.len() > PIECE_BYTES {
            self.flush()?;
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), E> {
        self.sum = crc32c::crc32c_append(self.sum, &self.buffer);
        (self.write)(self.at, &self.buffer)?;
        self.at += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn an_archive_takes_numbers_late() {
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

    #[test]
    fn a_cut_or_damaged_block_is_noticed() {
        let bytes = block(&[("a", 1, 10)]);
        assert!(Block::parse(&bytes[..bytes.len() - 1]).is_none());
        let mut bad = bytes.clone();
        *bad.last_mut().unwrap() ^= 1;
        assert!(!Block::parse(&bad).unwrap().is_sound());
    }
}
