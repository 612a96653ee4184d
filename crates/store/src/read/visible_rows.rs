//! Stretches of rows whose articles are all alive, ready to be sent.

use std::sync::Arc;

use crate::Position;
use crate::expiry::state::InGroup;
use crate::expiry::visibility::Visibility;
use crate::history::cancels::Cancels;
use crate::io::growing_map::GrowingMap;
use crate::io::map::{MapRef, is_unreadable};
use crate::overview::{GroupRows, Row};
use crate::read::log_view::LogView;

/// Neighbouring rows of one group in one block, all alive; or none, where rows are dead.
pub struct VisibleRows<'c> {
    /// The file they are in.
    pub live: &'c GrowingMap,
    /// The segment.
    pub base: u64,
    /// All rows of the group in this block.
    pub rows: GroupRows<'c>,
    /// Where the text of the block's rows begins in the file.
    pub text_at: usize,
    /// The first of these, and the one behind the last.
    pub places: (usize, usize),
    /// As far as was looked.
    pub next: usize,
}

/// Rows of one group as OVER sends them (RFC 3977, 8.3), ascending by number without a gap between them in the file. Keeps the map,
/// so it may be sent long after.
#[derive(Debug, Clone)]
pub struct Run {
    map: Arc<MapRef>,
    from: usize,
    to: usize,
    /// The first number.
    pub first: u64,
    /// The last number.
    pub last: u64,
    /// How many rows.
    pub rows: u64,
}

impl Run {
    /// False when the disk could not read some of these rows when they were read the last time: zeros were read instead.
    pub fn is_readable(&self) -> bool {
        !is_unreadable(self.bytes())
    }

    /// The text of the rows, with the CRLF of each.
    pub fn bytes(&self) -> &[u8] {
        let text = self.map.bytes().get(self.from..self.to);
        text.unwrap_or_default()
    }
}

impl AsRef<[u8]> for Run {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl VisibleRows<'_> {
    /// Their numbers and where their articles are.
    pub fn articles(&self) -> impl Iterator<Item = (u64, Position)> {
        let (from, to) = self.places;
        (from..to).filter_map(|place| {
            let record = self.rows.record_at(place)?;
            let position = Position(self.base + u64::from(record));
            Some((self.rows.number_at(place), position))
        })
    }

    /// Each row, until one fails.
    pub fn each_row<E>(&self, each: impl FnMut(Row<'_>) -> Result<(), E>) -> Result<(), E> {
        let (from, to) = self.places;
        (from..to)
            .filter_map(|place| self.rows.row(place))
            .try_for_each(each)
    }

    /// How many rows were looked at, dead ones included.
    pub fn looked_at(&self) -> usize {
        self.next - self.places.0
    }

    /// As many of these rows, from the first on, as have no more bytes than that; one at least where `one` says so.
    pub fn run(&self, bytes_max: usize, one: bool) -> Option<Run> {
        let (from, to) = self.places;
        let start = self.rows.text_start(from);
        let fits = |place: usize| self.rows.text_start(place).saturating_sub(start) <= bytes_max;
        let (mut low, mut high) = (from, to);
        while low < high {
            let middle = high - (high - low) / 2;
            if fits(middle) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        let end = if one { low.max(from + 1).min(to) } else { low };
        (end > from).then(|| Run {
            map: self.live.map().clone(),
            from: self.text_at.saturating_add(start),
            to: self.text_at.saturating_add(self.rows.text_start(end)),
            first: self.rows.number_at(from),
            last: self.rows.number_at(end - 1),
            rows: (end - from) as u64,
        })
    }

    /// The last number.
    pub fn last(&self) -> Option<u64> {
        let (from, to) = self.places;
        (to > from).then(|| self.rows.number_at(to - 1))
    }

    /// The number to go on with when as much was looked at as is here.
    pub fn next_number(&self) -> u64 {
        let before = self.next.saturating_sub(1);
        self.rows.number_at(before).saturating_add(1)
    }
}

/// Tells the living rows of one group from the dead ones.
pub struct PositionFinder<'a> {
    in_group: InGroup<'a>,
    cancelled: &'a Cancels,
    /// Between these two positions nothing was cancelled, nor at the first.
    free: (u64, u64),
    /// Where the log ends.
    end: u64,
}

impl<'a> PositionFinder<'a> {
    /// Of a group. Rows that were written since the snapshot was taken, and are seen because their segment was sealed, are not for it.
    pub fn new(log: &'a LogView, group: &[u8]) -> PositionFinder<'a> {
        let Visibility { expired, cancelled } = log.visibility();
        PositionFinder {
            in_group: expired.in_group(group),
            cancelled,
            free: (0, 0),
            end: log.end().0,
        }
    }

    /// Where the article of a row is, if it is alive.
    pub fn position(&mut self, base: u64, rows: &GroupRows<'_>, place: usize) -> Option<Position> {
        let record = rows.record_at(place)?;
        let is_alive = self.has(base, rows, place);
        is_alive.then(|| Position(base + u64::from(record)))
    }

    /// Whether the first of some rows is alive, and the place of the first for which that is not the same; the end if there is none.
    pub fn stretch(
        &mut self,
        base: u64,
        rows: &GroupRows<'_>,
        (from, to): (usize, usize),
    ) -> (bool, usize) {
        let is_alive = self.has(base, rows, from);
        let next = (from + 1..to).find(|place| self.has(base, rows, *place) != is_alive);
        (is_alive, next.unwrap_or(to))
    }

    fn has(&mut self, base: u64, rows: &GroupRows<'_>, place: usize) -> bool {
        let position = base + rows.record_at(place).map_or(0, u64::from);
        position < self.end
            && self.in_group.keeps(rows.number_at(place))
            && !self.is_cancelled(position)
    }

    fn is_cancelled(&mut self, position: u64) -> bool {
        let (from, until) = self.free;
        if position < from || position >= until {
            // One search for all that lie in front of the next one.
            let next = self.cancelled.next_from(Position(position));
            self.free = (position, next.map_or(u64::MAX, |next| next.0));
        }
        position == self.free.1
    }
}
