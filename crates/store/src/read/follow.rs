//! Following the log: the articles filed from a position on, in their order, without the lock. Feeds go along it.

use std::ops::ControlFlow;
use std::path::Path;

use crate::history::{self, HistoryLine};
use crate::io::disk::{File, Open};
use crate::io::map::is_unreadable;
use crate::io::salvage::PASSED_BYTES_MAX;
use crate::log::record::{Kind, Record};
use crate::log::segments::{SegmentFile, base_of};
use crate::log::walk::{Step, Walk};
use crate::read::snapshot::Snapshot;
use crate::{Error, Position, io::salvage};

/// One article met on the way along the log.
#[derive(Debug, Clone, Copy)]
pub struct Logged<'a> {
    /// Where it is.
    pub position: Position,
    /// Where the record behind it begins, at the earliest.
    pub next: Position,
    /// The record; its checksum was found right.
    pub record: Record<'a>,
}

/// What a walk along the log meets.
#[derive(Debug, Clone, Copy)]
pub enum Met<'a> {
    /// An article.
    Article(Logged<'a>),
    /// An article that the disk cannot read. Only the history tells of it: no record says which sites get it.
    Unreadable {
        /// Its position.
        position: Position,
        /// The position of the next article, or behind what cannot be read.
        next: Position,
        /// Its history line.
        line: HistoryLine<'a>,
    },
}

impl Snapshot {
    /// Where the oldest segment begins: no article lies before it.
    pub fn oldest(&self) -> Position {
        Position(
            self.log
                .bases
                .first()
                .copied()
                .unwrap_or(self.log.mark.base),
        )
    }

    /// Where the log ends, as far as this snapshot reaches.
    pub fn end(&self) -> Position {
        self.log.end()
    }

    /// Where the segment of a position begins, or the oldest there is.
    pub fn base_of(&self, position: Position) -> Position {
        base_of(&self.log.bases, position.0).map_or(self.oldest(), Position)
    }

    /// Calls `each` for every article whose position is in `from..until`, ascending, until it breaks. Whether an article is
    /// still alive ([`Snapshot::is_alive`]) is not asked. Damaged records and segments that are gone are passed over: `broadsheet fsck`
    /// tells of them.
    ///
    /// # Errors
    /// A segment cannot be read.
    pub fn each_article<B>(
        &self,
        reach: (Position, Position),
        mut each: impl FnMut(Logged<'_>) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Error> {
        self.each_met(reach, |met| match met {
            Met::Article(logged) => each(logged),
            Met::Unreadable { .. } => ControlFlow::Continue(()),
        })
    }

    /// As [`Snapshot::each_article`], also for articles that the disk cannot read.
    ///
    /// # Errors
    /// A segment cannot be read, or the history of one with a part that cannot be read.
    pub fn each_met<B>(
        &self,
        (from, until): (Position, Position),
        mut each: impl FnMut(Met<'_>) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Error> {
        let first = self.log.bases.partition_point(|&base| base <= from.0);
        let bases = self.log.bases.get(first.saturating_sub(1)..);
        for &base in bases.unwrap_or_default() {
            if base >= until.0 {
                break;
            }
            let reach = (from, until);
            if let ControlFlow::Break(told) = self.each_in_segment(base, reach, &mut each)? {
                return Ok(ControlFlow::Break(told));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// A walk along a segment from the first record at `place` or behind it on, as far as this snapshot reaches.
    pub(crate) fn walk_from<'f>(
        &self,
        file: &'f dyn File,
        path: &Path,
        base: u64,
        place: u64,
    ) -> Result<Walk<'f>, Error> {
        let end = self.log.art_end(base).unwrap_or(u64::MAX);
        let start = self.log.tables.at_or_behind(file, path, place)?;
        Walk::from_within(file, start, end).map_err(|source| Error::io("read", path, source))
    }

    fn each_in_segment<B>(
        &self,
        base: u64,
        (from, until): (Position, Position),
        each: &mut impl FnMut(Met<'_>) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Error> {
        let path = self.log.segments.path(base, SegmentFile::Art);
        let at = |source| Error::io("read", &path, source);
        let file = match self.log.segments.open(base, SegmentFile::Art, Open::Read) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(ControlFlow::Continue(()));
            }
            // What lies on a bad sector is passed over, as other damage is.
            opened => salvage::over(opened.map_err(at)?, PASSED_BYTES_MAX),
        };
        let mut walk = self.walk_from(&*file, &path, base, from.0.saturating_sub(base))?;
        while let Some(step) = walk.next().map_err(at)? {
            let (offset, record) = match step {
                Step::Record(offset, record) => (offset, record),
                Step::Gap { from: gap, to, .. } if file.was_unreadable(gap..to) => {
                    let gap = walk.positions((gap, to));
                    let flow = self.each_in_gap(base, gap, (from, until), each)?;
                    if flow.is_break() {
                        return Ok(flow);
                    }
                    continue;
                }
                Step::Gap { .. } => continue,
            };
            let position = Position(base + offset);
            if position >= until {
                break;
            }
            if record.head.kind != Kind::Article || position < from {
                continue;
            }
            let next = Position(position.0 + u64::from(record.head.length));
            let logged = Logged {
                position,
                next,
                record,
            };
            if let ControlFlow::Break(told) = each(Met::Article(logged)) {
                return Ok(ControlFlow::Break(told));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Calls `each` for the articles that lie at these positions of a segment, as its history tells.
    fn each_in_gap<B>(
        &self,
        base: u64,
        gap: (u64, u64),
        (from, until): (Position, Position),
        each: &mut impl FnMut(Met<'_>) -> ControlFlow<B>,
    ) -> Result<ControlFlow<B>, Error> {
        let (history, _) = self.history(base)?;
        let text = history.text();
        if is_unreadable(text) {
            let path = self.log.segments.path(base, SegmentFile::His);
            return Err(Error::unreadable(&path, 0));
        }
        let lines = history::lines(text).filter_map(|(_, line)| HistoryLine::parse(line));
        let lines = lines.filter_map(|line| {
            let position = line.position?;
            let offset = position.0.checked_sub(base)?;
            let is_there = (gap.0..gap.1).contains(&offset) && (from..until).contains(&position);
            is_there.then_some((position, line))
        });
        let mut lines: Vec<_> = lines.collect();
        lines.sort_unstable_by_key(|(position, _)| *position);
        let next_base = self.log.bases.iter().find(|later| **later > base);
        let end = next_base.map_or(self.end(), |base| Position(*base));
        let behind = Position(base.saturating_add(gap.1)).min(end);
        let next = lines.iter().skip(1).map(|(position, _)| *position);
        let next: Vec<_> = next.chain([behind]).collect();
        for ((position, line), next) in lines.into_iter().zip(next) {
            let met = Met::Unreadable {
                position,
                next,
                line,
            };
            if let ControlFlow::Break(told) = each(met) {
                return Ok(ControlFlow::Break(told));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}
