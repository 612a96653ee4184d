//! Pending rows for the next block.

use std::hash::{BuildHasher, Hasher};

use article::decimal;
use hashbrown::{DefaultHashBuilder, HashTable};

use crate::io::bytes::{put_u32, put_u64};
use crate::overview::{BLOCK_HEADER_BYTES, MAGIC, parts};

/// Rows collected for one block.
#[derive(Debug, Default)]
pub struct Rows {
    names: Vec<u8>,
    groups: Vec<(u32, u32)>,
    by_name: HashTable<u32>,
    hasher: DefaultHashBuilder,
    entries: Vec<Entry>,
    text: Vec<u8>,
}

#[derive(Debug, Clone, Copy, Default)]
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
            hasher,
            ..
        } = self;
        let of = |&group: &u32| {
            let (start, length) = groups.get(group as usize).copied().unwrap_or_default();
            names
                .get(start as usize..(start + length) as usize)
                .unwrap_or_default()
        };
        let hash = hash_of(hasher, name);
        if let Some(&found) = by_name.find(hash, |group| of(group) == name) {
            return found;
        }
        let fresh = groups.len() as u32;
        by_name.insert_unique(hash, fresh, |group| hash_of(hasher, of(group)));
        groups.push((names.len() as u32, name.len() as u32));
        names.extend_from_slice(name);
        fresh
    }

    /// The group and number of each row.
    pub fn links(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let entries = self.entries.iter();
        entries.map(|entry| (self.name(entry.group), entry.number))
    }

    /// Whether no row was added.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of the collected rows, before they are multiplied by the cross-posts.
    pub fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Discards all rows, and keeps the memory.
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

    /// The groups by name. Most names differ in their first bytes, which are compared as one number.
    fn sorted_groups(&self) -> Vec<u32> {
        let key = |group| {
            let mut first = [0; 16];
            for (byte, of_name) in first.iter_mut().zip(self.name(group)) {
                *byte = *of_name;
            }
            (u128::from_be_bytes(first), group)
        };
        let mut order: Vec<_> = (0..self.groups.len() as u32).map(key).collect();
        order.sort_unstable_by(|&(first_a, a), &(first_b, b)| {
            let of_names = || self.name(a).cmp(self.name(b));
            first_a.cmp(&first_b).then_with(of_names)
        });
        order.into_iter().map(|(_, group)| group).collect()
    }

    /// Appends the block to `out` and discards the rows.
    pub fn build(&mut self, out: &mut Vec<u8>) {
        let order = self.sorted_groups();
        let mut rank = vec![0u32; order.len()];
        for (place, &group) in (0..).zip(&order) {
            if let Some(rank) = rank.get_mut(group as usize) {
                *rank = place;
            }
        }
        for entry in &mut self.entries {
            entry.group = rank.get(entry.group as usize).copied().unwrap_or_default();
        }
        let (entries, ends) = by_group(&self.entries, order.len());

        let start = out.len();
        out.resize(start + BLOCK_HEADER_BYTES, 0);
        let mut first = 0;
        let mut name_at = 0u32;
        for (&end, &group) in ends.iter().zip(&order) {
            let length = self.name(group).len() as u32;
            for number in [name_at, length, first, end - first] {
                out.extend_from_slice(&number.to_le_bytes());
            }
            name_at += length;
            first = end;
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
        let text_at = out.len();
        for entry in &entries {
            decimal::push(out, entry.number);
            let from = entry.text as usize;
            out.extend_from_slice(
                self.text
                    .get(from..from + entry.text_length as usize)
                    .unwrap_or_default(),
            );
        }
        self.clear();
        parts::close(out, (start, text_at), |header, length| {
            let (groups, entries) = (order.len() as u32, entries.len() as u32);
            put_header(header, length, groups, entries, name_at);
        });
    }
}

/// Sorts rows by group and number, in one pass: the numbers of a group come in ascending order, except those of late articles. Also
/// returns where each group ends.
fn by_group(entries: &[Entry], groups: usize) -> (Vec<Entry>, Vec<u32>) {
    let mut ends = vec![0u32; groups];
    for entry in entries {
        if let Some(count) = ends.get_mut(entry.group as usize) {
            *count += 1;
        }
    }
    let mut total = 0;
    for end in &mut ends {
        // Where the group begins, and, after its rows are placed, where it ends.
        total += std::mem::replace(end, total);
    }
    let mut sorted = vec![Entry::default(); entries.len()];
    for entry in entries {
        if let Some(end) = ends.get_mut(entry.group as usize)
            && let Some(place) = sorted.get_mut(*end as usize)
        {
            *place = *entry;
            *end += 1;
        }
    }
    let key = |entry: &Entry| (entry.group, entry.number);
    if !sorted.is_sorted_by_key(key) {
        sorted.sort_unstable_by_key(key);
    }
    (sorted, ends)
}

fn hash_of(hasher: &DefaultHashBuilder, name: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    state.write(name);
    state.finish()
}

fn digits(number: u64) -> u32 {
    number.checked_ilog10().unwrap_or(0) + 1
}

pub fn put_header(block: &mut [u8], length: u64, groups: u32, entries: u32, names: u32) {
    put_u32(block, 0, MAGIC);
    put_u64(block, 8, length);
    put_u32(block, 16, groups);
    put_u32(block, 20, entries);
    put_u32(block, 24, names);
}
