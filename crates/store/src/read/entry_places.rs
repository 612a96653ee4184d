//! A node of a cluster: where the entries of the shared log end in the log here, found by the records that tell that an entry is applied.
//!
//! Each segment begins with a copy of the place, so that a search looks at the heads of some segments, and walks along one.

use std::ops::ControlFlow;

use crate::io::disk::Open;
use crate::io::salvage::{self, PASSED_BYTES_MAX};
use crate::log::record::Kind;
use crate::log::segments::{SegmentFile, base_of};
use crate::log::walk::Step;
use crate::read::snapshot::Snapshot;
use crate::state::applied_entry::AppliedEntry;
use crate::state::state_file::LogState;
use crate::{Error, Position};

/// The end of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntryEnd {
    /// Behind the record that tells that it is applied. Nothing of a later entry lies before it.
    pub position: Position,
    /// Its sequence number.
    pub sequence: u64,
}

impl Snapshot {
    /// The last entry that lies wholly before a position. `None`: there is none, as far as the segments reach. `known` saves a walk along the
    /// part of the log before it: an earlier result.
    ///
    /// # Errors
    /// A segment cannot be read.
    pub fn entry_before(
        &self,
        position: Position,
        known: Option<EntryEnd>,
    ) -> Result<Option<EntryEnd>, Error> {
        let known = known.filter(|known| known.position <= position);
        let mut until = position;
        loop {
            let Some(base) = base_before(self.segments(), until) else {
                return Ok(known);
            };
            let from = Position(base).max(known.map_or(Position(0), |known| known.position));
            let mut found = None;
            let _ = self.each_end((base, from, until), |end| {
                found = Some(end);
                ControlFlow::<()>::Continue(())
            })?;
            if found.is_some() || from > Position(base) {
                return Ok(found.or(known));
            }
            until = Position(base);
        }
    }

    /// The position behind an entry and before everything of the next one. If the segments do not reach back to it, that is where they begin.
    /// The entry must be applied here.
    ///
    /// # Errors
    /// A segment cannot be read.
    pub fn behind_entry(&self, sequence: u64) -> Result<Position, Error> {
        let bases = self.segments();
        // The last segment that begins before the end of the entry: the first one in it that is not earlier is the end of the entry itself, and
        // not a copy.
        let (mut low, mut high) = (0, bases.len());
        while low < high {
            let middle = low.midpoint(high);
            let base = bases.get(middle).copied().unwrap_or_default();
            match self.first_end(base)? {
                Some(first) if first.sequence >= sequence => high = middle,
                _ => low = middle + 1,
            }
        }
        let mut behind = self.oldest();
        for &base in bases.get(low.saturating_sub(1)..).unwrap_or_default() {
            let reach = (base, Position(base), Position(u64::MAX));
            let flow = self.each_end(reach, |end| {
                if end.sequence <= sequence {
                    behind = end.position;
                }
                match end.sequence >= sequence {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            })?;
            if flow.is_break() {
                break;
            }
        }
        Ok(behind)
    }

    fn first_end(&self, base: u64) -> Result<Option<EntryEnd>, Error> {
        let reach = (base, Position(base), Position(u64::MAX));
        let flow = self.each_end(reach, ControlFlow::Break)?;
        Ok(flow.break_value())
    }

    /// Calls `each` for every end of an entry in `from..until` of a segment, until it breaks. Damage is passed over: then an earlier end is
    /// found.
    fn each_end<B>(
        &self,
        (base, from, until): (u64, Position, Position),
        mut each: impl FnMut(EntryEnd) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Error> {
        let segments = self.segment_files();
        let path = segments.path(base, SegmentFile::Art);
        let at = |source| Error::io("read", &path, source);
        let file = match segments.open(base, SegmentFile::Art, Open::Read) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(ControlFlow::Continue(()));
            }
            opened => salvage::over(opened.map_err(at)?, PASSED_BYTES_MAX),
        };
        let mut walk = self.walk_from(&*file, &path, base, from.0.saturating_sub(base))?;
        while let Some(step) = walk.next().map_err(at)? {
            let Step::Record(offset, record) = step else {
                continue;
            };
            let position = Position(base + offset + u64::from(record.head.length));
            if position > until {
                break;
            }
            if record.head.kind != Kind::Applied || position < from {
                continue;
            }
            let mut place = AppliedEntry::default();
            place.apply(record.line());
            if !place.log.is_empty() {
                let end = EntryEnd {
                    position,
                    sequence: place.sequence,
                };
                if let ControlFlow::Break(told) = each(end) {
                    return Ok(ControlFlow::Break(told));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// The base of the last segment that begins before a position.
fn base_before(bases: &[u64], position: Position) -> Option<u64> {
    base_of(bases, position.0.checked_sub(1)?)
}
