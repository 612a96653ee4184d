//! Punches holes: returns the space of long runs of dead records to the file system, and leaves the segment in its place.

use crate::expiry::visibility::Visibility;
use crate::io::disk::{BLOCK_BYTES, File};
use crate::log::record::{HEADER_BYTES, hole};
use crate::log::walk::{Step, Walk};
use crate::reclaim::repack::is_gone;

/// Shortest hole, bytes: one costs 60 to 140 µs, whatever its length.
pub const HOLE_BYTES_MIN: u64 = 64 << 10;
/// Shortest hole on a full disk, where each block counts, bytes.
pub const HOLE_BYTES_MIN_ON_FULL_DISK: u64 = BLOCK_BYTES as u64;

const SECTOR_BYTES: u64 = 512;

/// The result of punching.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Punched {
    /// Number of holes.
    pub holes: u64,
    /// Number of runs that stay because the file system does not support holes.
    pub refused: u64,
}

/// Punches the runs of dead records that are worth a hole of `least` bytes, between two records of a segment's file, given by their offsets. First it
/// writes the header of a hole over the first record of each run, durably: a walk never finds zeros
/// or half an article.
pub fn punch(
    file: &dyn File,
    (from, to): (u64, u64),
    least: u64,
    alive: Visibility<'_>,
) -> std::io::Result<Punched> {
    let mut told = Punched::default();
    let runs = dead_runs(file, (from, to), least, alive)?;
    for &(start, end) in &runs {
        file.write_at(&hole((end - start) as u32), start)?;
    }
    if !runs.is_empty() {
        file.sync()?;
    }
    for &(start, end) in &runs {
        let (first, last) = whole_blocks(start, end);
        if file.punch(first, last.saturating_sub(first))? {
            told.holes += 1;
        } else {
            told.refused += 1;
        }
    }
    Ok(told)
}

/// Bytes that a hole in a run frees; 0 if they are fewer than `least`.
pub fn worth((start, end): (u64, u64), least: u64) -> u64 {
    let (first, last) = whole_blocks(start, end);
    let bytes = last.saturating_sub(first);
    if bytes < least { 0 } else { bytes }
}

fn whole_blocks(start: u64, end: u64) -> (u64, u64) {
    let block = BLOCK_BYTES as u64;
    let first = (start + HEADER_BYTES as u64).next_multiple_of(block);
    (first, end - end % block)
}

/// A disk writes a sector whole or not at all: a hole's header must not be torn.
fn is_in_one_sector(at: u64) -> bool {
    at % SECTOR_BYTES + HEADER_BYTES as u64 <= SECTOR_BYTES
}

/// Runs of removed records that are long enough for a hole and not one already.
fn dead_runs(
    file: &dyn File,
    (from, to): (u64, u64),
    least: u64,
    alive: Visibility<'_>,
) -> std::io::Result<Vec<(u64, u64)>> {
    let mut walk = Walk::as_it_lies(file, from, to)?;
    let mut runs = Vec::new();
    let mut run: Option<(u64, u64, u64)> = None;
    let mut close = |run: Option<(u64, u64, u64)>| {
        if let Some((start, end, records)) = run
            && records > 1
            && worth((start, end), least) > 0
        {
            runs.push((start, end));
        }
    };
    while let Some(step) = walk.next()? {
        match step {
            Step::Record(at, record)
                if is_gone(&record, alive) && (run.is_some() || is_in_one_sector(at)) =>
            {
                let end = at + u64::from(record.head.length);
                run = Some(match run {
                    Some((start, _, records)) => (start, end, records + 1),
                    // A single hole is done already; a single article may be long enough.
                    None => (
                        at,
                        end,
                        1 + u64::from(record.head.kind != crate::log::record::Kind::Hole),
                    ),
                });
            }
            // Damage among dead articles does not matter.
            Step::Gap { to, .. } if run.is_some() => {
                run = run.map(|(start, _, records)| (start, to, records));
            }
            Step::Record(..) | Step::Gap { .. } => close(run.take()),
        }
    }
    close(run);
    Ok(runs)
}
