//! Merges blocks of rows into one.

use std::path::Path;

use crate::Error;
use crate::io::disk::{Disk, Open};
use crate::io::replace::replace;
use crate::overview::parts::{PartSums, put_header_sum};
use crate::overview::rows::put_header;
use crate::overview::{BLOCK_HEADER_BYTES, GroupRows, Row, blocks};

/// Merges the blocks of a file into one and passes it to `write` piece by piece, the header last (at offset 0).
/// Memory: 24 bytes a group in each block, and one piece of 1 MiB.
pub fn merge<E>(bytes: &[u8], write: impl FnMut(u64, &[u8]) -> Result<(), E>) -> Result<u64, E> {
    merge_rows(
        blocks(bytes).flat_map(|block| block.groups()).collect(),
        write,
    )
}

/// Merges the blocks of an `.ovr` file into one, under a temporary name first, durably.
pub fn merge_file(disk: &dyn Disk, path: &Path, end: u64) -> Result<(), Error> {
    let at = |doing| move |source| Error::io(doing, path, source);
    let old = disk.open(path, Open::Read).map_err(at("open"))?;
    let map = old.map(end).map_err(at("map"))?;
    if blocks(map.bytes()).nth(1).is_none() {
        return Ok(());
    }
    let mut sound = 0;
    blocks(map.bytes())
        .take_while(|block| block.is_sound())
        .for_each(|block| sound += block.bytes.len() as u64);
    if sound != end {
        // What is damaged stays as it is, so that checksums tell, and fsck makes the file again from .art.
        return Ok(());
    }
    replace(disk, path, |fresh| {
        merge(map.bytes(), |offset, piece| fresh.write_at(piece, offset)).map(drop)
    })
}

/// As [`merge`], for some of the rows.
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
        sums: PartSums::default(),
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
    piece.flush()?;
    piece.sums.end_part();
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
    let (at, sums) = (piece.at, piece.sums.finish());
    if !sums.is_empty() {
        write(at, &sums)?;
    }
    let length = at + sums.len() as u64;
    let mut header = [0; BLOCK_HEADER_BYTES];
    put_header(&mut header, length, count, entries, names);
    put_header_sum(&mut header, &sums);
    write(0, &header)?;
    Ok(length)
}

/// Rows of a group, with the base of their segment if it matters.
pub type Placed<'a> = (u64, GroupRows<'a>);

/// Whether the numbers of a group's blocks increase from block to block. Those of late articles do not.
fn ascend(same: &[Placed<'_>]) -> bool {
    same.windows(2)
        .all(|two| matches!(two, [(_, a), (_, b)] if a.last_number() < b.number_at(0)))
}

/// The rows of one group with numbers in `low..=high`, from all its blocks, by number, each with the base of its segment.
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
    sums: PartSums,
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
        self.sums.add(&self.buffer);
        (self.write)(self.at, &self.buffer)?;
        self.at += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }
}
