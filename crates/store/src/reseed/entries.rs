//! Entries of the log of a cluster and positions of a news directory: nodes have the same entries, at positions of their own.

use std::path::Path;
use std::sync::Arc;

use crate::io::disk::{Disk, Open, RealDisk};
use crate::log::position::Position;
use crate::log::record::{Kind, Record};
use crate::log::segment::SEGMENT_HEADER_BYTES;
use crate::log::segments::{SegmentFile, Segments};
use crate::log::walk::{Step, Walk};
use crate::state::state_file::LogState;
use crate::{AppliedEntry, Error};

/// The last entry that ends at a position of a news directory, or before it. `None`: the segments do not reach back to one.
///
/// # Errors
/// A segment cannot be read.
pub fn entry_before(dir: &Path, position: Position) -> Result<Option<u64>, Error> {
    let segments = segments_of(dir);
    let bases = segments.bases()?;
    // A segment begins with a copy of the place, so that the one before is looked at for its beginning only.
    for &base in bases.iter().rev().filter(|base| **base < position.0) {
        let mut found = None;
        each_place(&segments, base, |end, sequence| {
            let is_before = end <= position.0;
            if is_before {
                found = Some(sequence);
            }
            is_before
        })?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The position behind an entry; the oldest one if the entry is not in the log any more.
///
/// # Errors
/// The segments cannot be read.
pub fn position_behind(dir: &Path, sequence: u64) -> Result<Position, Error> {
    let segments = segments_of(dir);
    let bases = segments.bases()?;
    for &base in bases.iter().rev() {
        let mut found = None;
        each_place(&segments, base, |end, told| {
            let is_before = told <= sequence;
            if is_before {
                found = Some(end);
            }
            is_before
        })?;
        if let Some(end) = found {
            return Ok(Position(end));
        }
    }
    let oldest = bases.first().copied().unwrap_or_default();
    Ok(Position(oldest + SEGMENT_HEADER_BYTES))
}

fn segments_of(dir: &Path) -> Segments {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    Segments::of(&disk, dir)
}

/// Calls `each` for the records of places of a segment, with the position of their ends, until it returns false.
fn each_place(
    segments: &Segments,
    base: u64,
    mut each: impl FnMut(u64, u64) -> bool,
) -> Result<(), Error> {
    let path = segments.path(base, SegmentFile::Art);
    let at = |source| Error::io("read", &path, source);
    let file = segments
        .open(base, SegmentFile::Art, Open::Read)
        .map_err(at)?;
    let mut walk = Walk::new(&*file, SEGMENT_HEADER_BYTES, u64::MAX).map_err(at)?;
    while let Some(step) = walk.next().map_err(at)? {
        if let Step::Record(offset, record) = step
            && let Some(sequence) = sequence_of(&record)
            && !each(base + offset + u64::from(record.head.length), sequence)
        {
            break;
        }
    }
    Ok(())
}

fn sequence_of(record: &Record<'_>) -> Option<u64> {
    let mut place = AppliedEntry::default();
    if record.head.kind == Kind::Applied {
        place.apply(record.line());
    }
    (!place.log.is_empty()).then_some(place.sequence)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use super::*;
    use crate::spool::Spool;
    use crate::spool::options::Options;
    use groups::Active;

    fn place(sequence: u64) -> AppliedEntry {
        AppliedEntry {
            log: "l".to_owned(),
            sequence,
            chain: "-".to_owned(),
            ..AppliedEntry::default()
        }
    }

    #[test]
    fn positions_and_entries_agree() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("segments")).unwrap();
        let active = Active::parse(b"a 0 1 y\n".to_vec()).unwrap();
        std::fs::write(dir.path().join("active"), active.image()).unwrap();
        let options = Options {
            follows_log: true,
            ..Options::default()
        };
        let mut spool = Spool::open(dir.path(), options).unwrap();
        spool.follow_from(&place(10)).unwrap();
        let mut ends = vec![(10, spool.end())];
        for sequence in 11..20 {
            spool.set_applied_entry(&place(sequence)).unwrap();
            spool.commit().unwrap();
            ends.push((sequence, spool.end()));
            if sequence == 15 {
                spool.seal_for_reclaim(true).unwrap();
            }
        }
        drop(spool);
        for (sequence, end) in ends {
            let found = position_behind(dir.path(), sequence).unwrap();
            // The copy at the start of the next segment is of the same entry.
            assert!(found == end || sequence == 15 && found > end, "{sequence}");
            assert_eq!(entry_before(dir.path(), end).unwrap(), Some(sequence));
            let before = entry_before(dir.path(), Position(end.0 - 1)).unwrap();
            assert!(before < Some(sequence), "{sequence} {before:?}");
        }
        // Before the first entry of a segment, the one before it counts.
        let bases = segments_of(dir.path()).bases().unwrap();
        let base = bases.iter().rev().find(|base| **base > 4096).unwrap();
        for position in [*base, base + 1, base + SEGMENT_HEADER_BYTES] {
            let before = entry_before(dir.path(), Position(position)).unwrap();
            assert_eq!(before, Some(15), "{bases:?} {position}");
        }
        assert_eq!(entry_before(dir.path(), Position(bases[0])).unwrap(), None);
        assert_eq!(position_behind(dir.path(), 3).unwrap(), Position(4096 + 64));
    }
}
