//! The articles of a group, by number: numbers, positions, overview rows.

use std::ops::ControlFlow;

use groups::GroupId;

use crate::history::HistoryLine;
use crate::log::segments::SegmentFile;
use crate::overview::Row;
use crate::read::caches::Cache;
use crate::read::group_index::{Look, ROWS_AT_ONCE};
use crate::read::snapshot::Snapshot;
use crate::read::stretch::{self, Stretch};
use crate::read::visible_rows::{Run, VisibleRows};
use crate::{Error, Position};

/// Rows that one call looks at, when all of them are dead.
const ROWS_LOOKED_AT: usize = 1 << 16;

/// The result of [`Snapshot::rows`].
#[derive(Debug)]
pub struct RowsRead {
    /// The number to go on with; `None`: that was all.
    pub next: Option<u64>,
    /// Damaged rows that this reading, or one before it, left out.
    pub damage: Option<Error>,
}

impl Snapshot {
    #[inline]
    fn walk<B>(
        &self,
        group: &[u8],
        asked: ((u64, u64), usize, Look),
        each: impl FnMut(&VisibleRows<'_>) -> ControlFlow<B>,
    ) -> Result<Option<B>, Error> {
        let walked = self.caches.lend(|cache| {
            let articles = &mut cache.open_segments;
            let index = &mut cache.group_index;
            index.walk((&self.log, articles), group, asked, each)
        });
        Ok(walked?.break_value())
    }

    /// How many articles a group has, at least: cancelled ones may be counted. 0 only where there is none.
    ///
    /// # Errors
    /// The overview of a segment cannot be read.
    pub fn count(&self, group: GroupId) -> Result<u64, Error> {
        let name = self.active().name(group);
        if self.next(name, 0, u64::MAX)?.is_none() {
            return Ok(0);
        }
        let count = self
            .caches
            .lend(|cache| cache.group_index.count(&self.log, name))?;
        Ok(count.max(1))
    }

    /// Where the article with a number in a group is, if it is alive.
    ///
    /// # Errors
    /// As [`Snapshot::count`]; or the rows are damaged that would tell.
    pub fn position(&self, group: &[u8], number: u64) -> Result<Option<Position>, Error> {
        let found = self
            .caches
            .lend(|cache| cache.group_index.position(&self.log, group, number));
        match found {
            // A number that was not given yet has no row, whatever is damaged.
            Err(Error::Damaged { .. }) if !self.is_given(group, number) => Ok(None),
            found => found,
        }
    }

    fn is_given(&self, group: &[u8], number: u64) -> bool {
        let group = self.active().find(group);
        group.is_none_or(|group| number <= self.marks(group).1)
    }

    /// Damage of rows that was met since the last call of this, or of [`Snapshot::rows`].
    pub fn take_damage(&self) -> Option<Error> {
        self.caches.lend(|cache| cache.group_index.take_damage())
    }

    /// Checks that the history line of an article, which a row led to, names the number in the group.
    ///
    /// # Errors
    /// [`Error::Damaged`]: it is another article.
    pub fn check_number(
        &self,
        (group, number): (&[u8], u64),
        line: Option<HistoryLine<'_>>,
        position: Position,
    ) -> Result<(), Error> {
        if line.is_some_and(|line| line.is_in(group, number)) {
            return Ok(());
        }
        let base = self.log.base_of(position)?;
        Err(Error::Damaged {
            path: self.log.segments.path(base, SegmentFile::Ovr),
            offset: 0,
            what: "a row leads to an article that has another number: run `broadsheet fsck --repair'",
        })
    }

    /// Whether expire or a cancel removed the article with a number in a group. False where nothing says so: the article is visible, or
    /// lost, or there never was one.
    ///
    /// # Errors
    /// As [`Snapshot::count`].
    pub fn is_removed(&self, group: &[u8], number: u64) -> Result<bool, Error> {
        if !self.log.expired.keeps(group, number) {
            return Ok(true);
        }
        let filed = self.caches.lend(|cache| {
            let index = &mut cache.group_index;
            index.filed_position(&self.log, group, number)
        })?;
        Ok(filed.is_some_and(|position| self.is_cancelled(position)))
    }

    /// The first article above `after`, up to `high`, that is alive.
    ///
    /// # Errors
    /// As [`Snapshot::count`].
    pub fn next(
        &self,
        group: &[u8],
        after: u64,
        high: u64,
    ) -> Result<Option<(u64, Position)>, Error> {
        let range = (after.saturating_add(1), high);
        self.walk(group, (range, 1, Look::Numbers), |row| {
            match row.articles().next() {
                Some(article) => ControlFlow::Break(article),
                None => ControlFlow::Continue(()),
            }
        })
    }

    /// The last article below `before`, down to `low`, that is alive.
    ///
    /// # Errors
    /// As [`Snapshot::count`].
    pub fn previous(
        &self,
        group: &[u8],
        before: u64,
        low: u64,
    ) -> Result<Option<(u64, Position)>, Error> {
        self.caches.lend(|cache| {
            let index = &mut cache.group_index;
            index.previous(&self.log, group, (low, before))
        })
    }

    /// Appends the numbers in `low..=high` whose articles are alive, ascending, about `limit` of them at most. The number to go on
    /// with; `None`: that was all.
    ///
    /// # Errors
    /// As [`Snapshot::count`].
    pub fn numbers(
        &self,
        group: &[u8],
        range: (u64, u64),
        limit: usize,
        out: &mut Vec<u64>,
    ) -> Result<Option<u64>, Error> {
        self.collect(group, (range, limit), |(number, _)| number, out)
    }

    /// As [`Snapshot::numbers`], with the position of each article.
    ///
    /// # Errors
    /// As [`Snapshot::count`].
    pub fn articles(
        &self,
        group: &[u8],
        range: (u64, u64),
        limit: usize,
        out: &mut Vec<(u64, Position)>,
    ) -> Result<Option<u64>, Error> {
        self.collect(group, (range, limit), |article| article, out)
    }

    fn collect<T>(
        &self,
        group: &[u8],
        (range, limit): ((u64, u64), usize),
        of: impl Fn((u64, Position)) -> T,
        out: &mut Vec<T>,
    ) -> Result<Option<u64>, Error> {
        let (mut left, mut looked) = (limit.max(1), 0);
        let at_once = left.min(ROWS_AT_ONCE);
        self.walk(group, (range, at_once, Look::Numbers), |rows| {
            let had = out.len();
            out.extend(rows.articles().map(&of));
            left = left.saturating_sub(out.len() - had);
            looked += rows.looked_at();
            match left == 0 || looked > ROWS_LOOKED_AT.max(limit) {
                true => ControlFlow::Break(rows.next_number()),
                false => ControlFlow::Continue(()),
            }
        })
    }

    /// Hands on the overview rows of a group with numbers in `low..=high`, ascending, up to `bytes_max` bytes (but one row at least).
    /// Damaged rows are left out.
    ///
    /// # Errors
    /// As [`Snapshot::count`].
    pub fn rows(
        &self,
        group: &[u8],
        range: (u64, u64),
        bytes_max: usize,
        each: impl FnMut(Run),
    ) -> Result<RowsRead, Error> {
        self.caches.lend(|cache| {
            Ok(RowsRead {
                next: self.runs(cache, group, (range, bytes_max), each)?,
                damage: cache.group_index.take_damage(),
            })
        })
    }

    fn runs(
        &self,
        cache: &mut Cache,
        group: &[u8],
        (range, bytes_max): ((u64, u64), usize),
        mut each: impl FnMut(Run),
    ) -> Result<Option<u64>, Error> {
        let (mut left, mut looked, mut is_first) = (bytes_max, 0, true);
        let asked = (range, ROWS_AT_ONCE, Look::Text);
        let from = (&*self.log, &mut cache.open_segments);
        let walked = cache.group_index.walk(from, group, asked, |rows| {
            looked += rows.looked_at();
            if let Some(last) = rows.last() {
                let first = rows.articles().next().map_or(last, |(number, _)| number);
                let Some(run) = rows.run(left, is_first) else {
                    return ControlFlow::Break(first);
                };
                is_first = false;
                left = left.saturating_sub(run.bytes().len());
                let sent = run.last;
                each(run);
                if sent < last {
                    return ControlFlow::Break(sent.saturating_add(1));
                }
            } else if looked > ROWS_LOOKED_AT {
                return ControlFlow::Break(rows.next_number());
            }
            ControlFlow::Continue(())
        });
        Ok(walked?.break_value())
    }

    /// Calls `each` for every overview row of a group with a number in `low..=high`, ascending.
    ///
    /// # Errors
    /// As [`Snapshot::count`]; `each` failed; or some rows are damaged: the others were handed on.
    pub fn overview(
        &self,
        group: &[u8],
        range: (u64, u64),
        mut each: impl FnMut(Row<'_>) -> std::io::Result<()>,
    ) -> Result<(), Error> {
        let (walked, damage) = self.caches.lend(|cache| {
            let index = &mut cache.group_index;
            let asked = (range, ROWS_AT_ONCE, Look::Text);
            let from = (&*self.log, &mut cache.open_segments);
            let walked = index.walk(from, group, asked, |rows| match rows.each_row(&mut each) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            });
            (walked, index.take_damage())
        });
        match (walked?, damage) {
            (ControlFlow::Continue(()), None) => Ok(()),
            (ControlFlow::Continue(()), Some(damage)) => Err(damage),
            (ControlFlow::Break(source), _) => {
                let folder = self.log.segments.folder();
                Err(Error::io("write the rows of", folder, source))
            }
        }
    }

    /// Appends the overview row of an article, with the number 0 (RFC 3977, 8.3.2). False: it is not there.
    ///
    /// # Errors
    /// As [`Snapshot::find`] and [`Snapshot::count`].
    pub fn row_of(&self, id: &[u8], out: &mut Vec<u8>) -> Result<bool, Error> {
        let Some(found) = self.find(id)? else {
            return Ok(false);
        };
        for (group, number) in found.links() {
            let mut row = None;
            let asked = ((number, number), 0);
            self.caches
                .lend(|cache| self.runs(cache, group, asked, |run| row = Some(run)))?;
            if let Some(run) = row
                && let Some(tab) = memchr::memchr(b'\t', run.bytes())
            {
                out.push(b'0');
                out.extend_from_slice(run.bytes().get(tab..).unwrap_or_default());
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The article at a position as it lies in its file, for sendfile(2): some system calls, so for large ones. `None`: it is gone.
    ///
    /// # Errors
    /// [`Error::Damaged`], or the segment cannot be read.
    pub fn stretch(&self, position: Position) -> Result<Option<Stretch>, Error> {
        match stretch::stretch(&self.log, position) {
            Ok(stretch) => Ok(Some(stretch)),
            Err(Error::NoArticle(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
