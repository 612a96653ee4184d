//! A search through the overview rows of all groups, in one walk.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::overview::{self, GroupRows, Row};
use crate::read::visible_rows::PositionFinder;
use crate::{Error, Position, Snapshot};

/// Threads of one search.
const THREADS_MAX: usize = 16;

/// The hits of a segment, or of the whole search: each article once, in the order of the log.
type Hits<T> = Vec<(Position, T)>;

impl Snapshot {
    /// Calls `test` for the rows of visible articles at or after a position, in groups whose name passes `is_wanted`, and returns the results
    /// that are not `None`, in the order of the log. An article in several groups has one result: that of the first such group by name. Threads
    /// share the segments.
    ///
    /// # Errors
    /// An overview file cannot be read, or has a damaged block: the hits come with the error of the first such segment.
    pub fn search_rows<T: Send>(
        &self,
        from: Position,
        is_wanted: impl Fn(&[u8]) -> bool + Sync,
        test: impl Fn(&[u8], Row<'_>) -> Option<T> + Sync,
    ) -> (Vec<(Position, T)>, Result<(), Error>) {
        let bases = &self.log.bases;
        let first = bases.partition_point(|base| *base <= from.0);
        let bases = bases.get(first.saturating_sub(1)..).unwrap_or_default();
        let next = AtomicUsize::new(0);
        let found = Mutex::new(Vec::new());
        let work = || {
            while let Some(&base) = bases.get(next.fetch_add(1, Ordering::Relaxed)) {
                let mut hits = Vec::new();
                let searched = self.search_segment(base, from, (&is_wanted, &test), &mut hits);
                let mut found = found
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner);
                found.push((base, hits, searched));
            }
        };
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = processors.min(THREADS_MAX).min(bases.len());
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        let mut found = found
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        found.sort_unstable_by_key(|(base, ..)| *base);
        let mut result = Ok(());
        let mut all = Vec::new();
        for (_, hits, searched) in found {
            all.extend(hits);
            result = result.and(searched);
        }
        (all, result)
    }

    fn search_segment<T>(
        &self,
        base: u64,
        from: Position,
        (is_wanted, test): (
            &impl Fn(&[u8]) -> bool,
            &impl Fn(&[u8], Row<'_>) -> Option<T>,
        ),
        hits: &mut Hits<T>,
    ) -> Result<(), Error> {
        let map = self.log.growing_overview(base)?;
        let mut length = 0;
        let mut is_sound = true;
        for block in overview::blocks(map.bytes()) {
            length += block.bytes.len();
            if !block.is_sound() {
                is_sound = false;
                continue;
            }
            for rows in block.groups().filter(|rows| is_wanted(rows.name)) {
                self.search_group((base, from), &rows, test, hits);
            }
        }
        // Stable: of an article in several groups the first by name stays.
        hits.sort_by_key(|(position, _)| *position);
        hits.dedup_by_key(|(position, _)| *position);
        match is_sound && length == map.bytes().len() {
            true => Ok(()),
            false => Err(overview::damaged(&self.log.segments, base)),
        }
    }

    fn search_group<T>(
        &self,
        (base, from): (u64, Position),
        rows: &GroupRows<'_>,
        test: &impl Fn(&[u8], Row<'_>) -> Option<T>,
        hits: &mut Hits<T>,
    ) {
        let mut finder = PositionFinder::new(&self.log, rows.name);
        for place in 0..rows.len() {
            let position = finder.position(base, rows, place);
            if let Some(position) = position.filter(|position| *position >= from)
                && let Some(row) = rows.row(place)
                && let Some(hit) = test(rows.name, row)
            {
                hits.push((position, hit));
            }
        }
    }

    /// The position of the first article that arrived at a time (seconds since 1970) or later; `None`: none did.
    ///
    /// # Errors
    /// A history file cannot be read.
    pub fn first_position_since(&self, seconds: i64) -> Result<Option<Position>, Error> {
        let mut first = None;
        self.filed_since(seconds, None, usize::MAX, |found| {
            first = Some(found.position);
            std::ops::ControlFlow::Break(())
        })?;
        Ok(first)
    }
}
