//! The right low marks of active, as C News's upact found them: the lowest article that is there, and for an
//! empty group one more than its high mark.

use std::collections::HashMap;

use groups::Active;

use crate::log::segments::SegmentFile;
use crate::{Error, Position, Snapshot, overview};

/// The right low mark of one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LowMark {
    /// The group, as it stands in active.
    pub group: Vec<u8>,
    /// The mark in active.
    pub was: u64,
    /// The lowest number that is there; in an empty group one more than `high`.
    pub lowest: u64,
    /// The highest number given when this was found.
    pub high: u64,
    /// Nothing is there.
    pub is_empty: bool,
}

impl Snapshot {
    /// The low marks of all groups of an active table, in its order. Looks at the first living row of each group only.
    ///
    /// The table must be a [`crate::Spool`]'s of before this was opened, so that all articles it counts are seen here. Who sets
    /// the mark of an empty group must look that its high mark is still the same.
    ///
    /// # Errors
    /// A view of a segment cannot be read.
    pub fn low_marks(&self, active: &Active) -> Result<Vec<LowMark>, Error> {
        let mut found: HashMap<Vec<u8>, Numbers> = HashMap::new();
        for &base in self.segments() {
            // Nothing is there any more where expire has removed the segment since.
            let map = self.log.overview_map(base)?;
            let segments = &self.log.segments;
            let is_sound = overview::has_sound_tables(map.bytes());
            for rows in overview::blocks(map.bytes()).flat_map(|block| block.groups()) {
                let numbers = match found.get_mut(rows.name) {
                    Some(numbers) => numbers,
                    None => found.entry(rows.name.to_vec()).or_default(),
                };
                numbers.high = numbers.high.max(rows.last_number());
                // Usually numbers grow from segment to segment, and the first found is the lowest; not those of late articles.
                let below = numbers.lowest.map_or(u64::MAX, |lowest| lowest - 1);
                let is_there = |number, record: u32| {
                    let position = Position(base.saturating_add(u64::from(record)));
                    self.is_alive_in(rows.name, number, position)
                };
                let mut living = rows.range(1, below);
                let first = living.find(|row| is_there(row.number, row.record));
                numbers.lowest = first.map(|row| row.number).or(numbers.lowest);
            }
            if let Some(offset) = map.unreadable_from() {
                let path = segments.path(base, SegmentFile::Ovr);
                return Err(Error::unreadable(&path, offset));
            }
            if !is_sound {
                return Err(overview::damaged(segments, base));
            }
        }
        let marks = active.ids().map(|id| {
            let name = active.name(id);
            let numbers = found.get(name).copied().unwrap_or_default();
            // Where segments are gone, the cut tells what numbers were given.
            let cut = self.expired().cut(name).saturating_sub(1);
            let high = active.high(id).max(numbers.high).max(cut);
            LowMark {
                group: name.to_vec(),
                was: active.low(id),
                lowest: numbers.lowest.unwrap_or(high.saturating_add(1)),
                high,
                is_empty: numbers.lowest.is_none(),
            }
        });
        Ok(marks.collect())
    }
}

/// The result of reading the rows of one group.
#[derive(Debug, Clone, Copy, Default)]
struct Numbers {
    lowest: Option<u64>,
    high: u64,
}
