//! Positions in the log.

/// The place of a record in the log, in bytes from its beginning. It names an article for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position(pub u64);

/// Positions stop here: the index keeps 48 bits of an address (256 TiB of log).
pub const POSITION_MAX: u64 = (1 << 48) - 1;

/// The positions of one segment: from its base to the end of its span, or to the base of the next segment. Whatever names an article of the segment
/// by a position outside is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentRange {
    base: u64,
    end: u64,
}

impl SegmentRange {
    /// The positions from a base up to an end, which is not one of them.
    pub fn new(base: u64, end: u64) -> SegmentRange {
        SegmentRange {
            base,
            end: end.min(POSITION_MAX),
        }
    }

    /// The position of the segment's first byte.
    pub fn base(self) -> u64 {
        self.base
    }

    /// The position behind its last one.
    pub fn end(self) -> u64 {
        self.end
    }

    /// The offset in the segment of a position; `None` if the position is not one of its own.
    pub fn offset(self, Position(position): Position) -> Option<u64> {
        let is_own = (self.base..self.end).contains(&position);
        is_own.then(|| position - self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_of_other_segments_have_no_offset() {
        let range = SegmentRange::new(4096, 8192);
        let offsets = [0, 4095, 4096, 8191, 8192, 1 << 48, u64::MAX];
        let offsets = offsets.map(|position| range.offset(Position(position)));
        assert_eq!(offsets, [None, None, Some(0), Some(4095), None, None, None]);
        let last = SegmentRange::new(4096, u64::MAX);
        assert_eq!(last.offset(Position(u64::MAX - 1)), None);
    }
}
