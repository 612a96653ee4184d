//! Live reading in the process of the writer: what was committed is seen at the cost of an atomic load.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use groups::{Active, GroupId};

use crate::expiry::state::ExpiryState;
use crate::history::HistoryLine;
use crate::io::disk::{Disk, RealDisk};
use crate::log::record::Record;
use crate::read::group_index::{GroupIndex, Look, ROWS_AT_ONCE};
use crate::read::published::{Groups, Published};
use crate::read::reader::Reader;
use crate::read::record_reader::RecordReader;
use crate::read::stretch::{self, Stretch};
use crate::read::visible_rows::Run;
use crate::{Error, Position};

/// Segments whose articles one reader keeps mapped. The current one takes a descriptor, the others none.
const SEGMENTS_MAPPED: usize = 512;
/// Rows that one call looks at, when all of them are dead.
const ROWS_LOOKED_AT: usize = 1 << 16;

/// What one network thread reads from. It sees what was committed when it last caught up.
#[derive(Debug)]
pub struct LiveReader {
    dir: PathBuf,
    published: Arc<Published>,
    /// The board as it was then: turn, files, tables.
    seen: (u64, u64, u64),
    groups: Arc<Groups>,
    reader: Reader,
    group_index: GroupIndex,
    articles: RecordReader,
}

/// An article that is alive, as its history line tells of it.
#[derive(Debug, Clone, Copy)]
pub struct Found<'a> {
    /// Where it is.
    pub position: Position,
    /// Its line.
    pub line: HistoryLine<'a>,
    expired: &'a ExpiryState,
}

impl<'a> Found<'a> {
    /// The groups in which it can still be read, each with its number there.
    pub fn links(&self) -> impl Iterator<Item = (&'a [u8], u64)> + use<'a> {
        let expired = self.expired;
        let links = self.line.links();
        links.filter(move |(group, number)| expired.keeps(group, *number))
    }
}

impl LiveReader {
    /// Opens a news directory whose [`crate::Spool`] announces on this board. Takes no lock.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn open(dir: &Path, published: Arc<Published>) -> Result<LiveReader, Error> {
        LiveReader::open_on(Arc::new(RealDisk), dir, published)
    }

    /// As [`LiveReader::open`], on another disk.
    ///
    /// # Errors
    /// As [`LiveReader::open`].
    pub fn open_on(
        disk: Arc<dyn Disk>,
        dir: &Path,
        published: Arc<Published>,
    ) -> Result<LiveReader, Error> {
        let seen = (published.sequence(), published.files(), published.tables());
        let reader = Reader::open_published(disk, dir)?;
        let groups = match published.groups() {
            Some(groups) => groups,
            None => Arc::new(Groups::of(reader.active().clone())),
        };
        Ok(LiveReader {
            dir: dir.to_owned(),
            published,
            seen,
            groups,
            reader,
            group_index: GroupIndex::default(),
            articles: RecordReader::new(SEGMENTS_MAPPED),
        })
    }

    /// Sees what was committed since: one atomic load where nothing was. True when there is anything new. Due before each batch of
    /// commands.
    ///
    /// # Errors
    /// A file cannot be read; what is new is looked for again the next time.
    pub fn catch_up(&mut self) -> Result<bool, Error> {
        let sequence = self.published.sequence();
        if sequence == self.seen.0 {
            return Ok(false);
        }
        let (files, tables) = (self.published.files(), self.published.tables());
        if tables != self.seen.2 {
            self.groups = self
                .published
                .groups()
                .unwrap_or_else(|| self.groups.clone());
        }
        if files != self.seen.1 {
            self.reader.look_again(&self.dir)?;
            self.group_index.clear();
            self.articles.clear();
        } else {
            self.reader.go_on(&self.dir)?;
        }
        self.seen = (sequence, files, tables);
        Ok(true)
    }

    /// True when an id is known, whether or not its article is still there.
    ///
    /// # Errors
    /// A history file cannot be read.
    pub fn seen(&self, id: &[u8]) -> Result<bool, Error> {
        self.reader.has(id)
    }

    /// The article with an id, if it is alive.
    ///
    /// # Errors
    /// A history file cannot be read.
    pub fn find(&self, id: &[u8]) -> Result<Option<Found<'_>>, Error> {
        let line = self.reader.find(id)?;
        Ok(line.and_then(|line| self.found(line)))
    }

    pub(crate) fn found<'a>(&'a self, line: HistoryLine<'a>) -> Option<Found<'a>> {
        let position = line.position.filter(|_| self.reader.is_alive(&line))?;
        Some(Found {
            position,
            line,
            expired: self.reader.expired(),
        })
    }

    /// The groups. Their high marks are those of [`LiveReader::marks`].
    pub fn active(&self) -> &Active {
        &self.groups.active
    }

    /// As [`LiveReader::active`], to be kept: it stays as it is while others change.
    pub fn active_shared(&self) -> Arc<Active> {
        self.groups.active.clone()
    }

    /// The low and the high mark of a group (RFC 3977, 6.1.1.2); of an empty one the low mark is one more. The high mark is that of this
    /// moment: the article is there for who catches up.
    pub fn marks(&self, group: GroupId) -> (u64, u64) {
        let active = &self.groups.active;
        let high = self.groups.high(group);
        let expired = self.reader.expired().low(active.name(group));
        let low = expired.max(active.low(group)).max(1);
        (low.min(high.saturating_add(1)), high)
    }

    /// How many articles a group has, at least: cancelled ones may be counted. 0 only where there is none.
    ///
    /// # Errors
    /// The overview of a segment cannot be read.
    pub fn count(&mut self, group: GroupId) -> Result<u64, Error> {
        let groups = self.groups.clone();
        let name = groups.active.name(group);
        if self.next(name, 0, u64::MAX)?.is_none() {
            return Ok(0);
        }
        let count = self.group_index.count(&self.reader, name)?;
        Ok(count.max(1))
    }

    /// Where the article with a number in a group is, if it is alive.
    ///
    /// # Errors
    /// As [`LiveReader::count`].
    pub fn position(&mut self, group: &[u8], number: u64) -> Result<Option<Position>, Error> {
        self.group_index.position(&self.reader, group, number)
    }

    /// The first article above `after`, up to `high`, that is alive.
    ///
    /// # Errors
    /// As [`LiveReader::count`].
    pub fn next(
        &mut self,
        group: &[u8],
        after: u64,
        high: u64,
    ) -> Result<Option<(u64, Position)>, Error> {
        let range = (after.saturating_add(1), high);
        let walked = self.group_index.walk(
            &self.reader,
            group,
            (range, 1, Look::Numbers),
            |row| match row.articles().next() {
                Some(article) => ControlFlow::Break(article),
                None => ControlFlow::Continue(()),
            },
        )?;
        Ok(walked.break_value())
    }

    /// The last article below `before`, down to `low`, that is alive.
    ///
    /// # Errors
    /// As [`LiveReader::count`].
    pub fn previous(
        &mut self,
        group: &[u8],
        before: u64,
        low: u64,
    ) -> Result<Option<(u64, Position)>, Error> {
        self.group_index
            .previous(&self.reader, group, (low, before))
    }

    /// Appends the numbers in `low..=high` whose articles are alive, ascending, about `limit` of them at most. The number to go on
    /// with; `None`: that was all.
    ///
    /// # Errors
    /// As [`LiveReader::count`].
    pub fn numbers(
        &mut self,
        group: &[u8],
        range: (u64, u64),
        limit: usize,
        out: &mut Vec<u64>,
    ) -> Result<Option<u64>, Error> {
        let (mut left, mut looked) = (limit.max(1), 0);
        let at_once = left.min(ROWS_AT_ONCE);
        let walked = self.group_index.walk(
            &self.reader,
            group,
            (range, at_once, Look::Numbers),
            |rows| {
                let had = out.len();
                out.extend(rows.articles().map(|(number, _)| number));
                left = left.saturating_sub(out.len() - had);
                looked += rows.looked_at();
                match left == 0 || looked > ROWS_LOOKED_AT.max(limit) {
                    true => ControlFlow::Break(rows.next_number()),
                    false => ControlFlow::Continue(()),
                }
            },
        )?;
        Ok(walked.break_value())
    }

    /// Hands on the overview rows of a group with numbers in `low..=high`, ascending, up to `bytes_max` bytes (but one row at least). The
    /// number to go on with; `None`: that was all.
    ///
    /// # Errors
    /// As [`LiveReader::count`].
    pub fn rows(
        &mut self,
        group: &[u8],
        range: (u64, u64),
        bytes_max: usize,
        mut each: impl FnMut(Run),
    ) -> Result<Option<u64>, Error> {
        let (mut left, mut looked, mut is_first) = (bytes_max, 0, true);
        let walked = self.group_index.walk(
            &self.reader,
            group,
            (range, ROWS_AT_ONCE, Look::Text),
            |rows| {
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
            },
        )?;
        Ok(walked.break_value())
    }

    /// Damage of overview rows that was met since this was asked for the last time: what is damaged is left out of answers.
    pub fn take_damage(&mut self) -> Option<Error> {
        self.group_index.take_damage()
    }

    /// Appends the overview row of an article, with the number 0 (RFC 3977, 8.3.2). False: it is not there.
    ///
    /// # Errors
    /// As [`LiveReader::find`] and [`LiveReader::count`].
    pub fn row_of(&mut self, id: &[u8], out: &mut Vec<u8>) -> Result<bool, Error> {
        let links: Vec<(Vec<u8>, u64)> = match self.find(id)? {
            Some(found) => found
                .links()
                .map(|(group, number)| (group.to_vec(), number))
                .collect(),
            None => return Ok(false),
        };
        for (group, number) in links {
            let mut row = None;
            self.rows(&group, (number, number), 0, |run| row = Some(run))?;
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

    /// The record of the article at a position, a copy with its checksum found right. `None`: it is gone.
    ///
    /// # Errors
    /// [`Error::Damaged`], or the segment cannot be read.
    pub fn record(&mut self, position: Position) -> Result<Option<Record<'_>>, Error> {
        match self.articles.record(&self.reader, position) {
            Ok(record) => Ok(Some(record)),
            Err(Error::NoArticle(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The record that [`LiveReader::record`] lent last, without a second copy; an empty one where it lent none.
    pub fn lent(&self) -> Record<'_> {
        self.articles.lent()
    }

    /// The article at a position as it lies in its file, for sendfile(2): some system calls, so for large ones. `None`: it is gone.
    ///
    /// # Errors
    /// [`Error::Damaged`], or the segment cannot be read.
    pub fn stretch(&self, position: Position) -> Result<Option<Stretch>, Error> {
        match stretch::stretch(&self.reader, position) {
            Ok(stretch) => Ok(Some(stretch)),
            Err(Error::NoArticle(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Calls `each` for the articles that arrived then (epoch seconds) or later and are alive, in the order in which they came, and
    /// looks at `limit` lines at most, or as far as `each` goes on. Where to go on; `None`: that was all.
    ///
    /// # Errors
    /// A history file cannot be read.
    pub fn filed_since(
        &self,
        seconds: i64,
        from: Option<u64>,
        limit: usize,
        mut each: impl FnMut(Found<'_>) -> ControlFlow<()>,
    ) -> Result<Option<u64>, Error> {
        self.reader.lines_since(seconds, from, limit, |line| {
            let is_new = line.arrival.is_some_and(|arrival| arrival >= seconds);
            match self.found(line).filter(|_| is_new) {
                Some(found) => each(found),
                None => ControlFlow::Continue(()),
            }
        })
    }
}
