//! A snapshot of the news directory: the one way to read articles, overview rows and history lines, without the lock.

pub(crate) mod catch_up;
mod segment_files;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use groups::{Active, GroupId};

use crate::error::is_unreadable;
use crate::expiry::state::ExpiryState;
use crate::expiry::visibility::Visibility;
use crate::history::HistoryLine;
use crate::history::cancels::Cancels;
use crate::history::compacted::History;
use crate::history::lookup::{self, Histories};
use crate::history::sealed::SealedHistory;
use crate::history::seen_hashes::SeenHashes;
use crate::index::watermark::Watermark;
use crate::index::{self, IdHash, Index};
use crate::io::disk::{Disk, Open, RealDisk};
use crate::io::growing_map::GrowingMap;
use crate::log::record::Record;
use crate::log::segments::{REMAKE, SegmentFile, Segments};
use crate::offload::Fetch;
use crate::read::caches::Caches;
use crate::read::log_view::LogView;
use crate::read::open_segments::copied_record;
use crate::read::published::{Groups, Published, Seen, read_active};
use crate::{Error, Position};

/// How often damaged cancels are read again, and the interval.
const CANCELS_ATTEMPTS: u32 = 10;
const CANCELS_PAUSE: Duration = Duration::from_millis(5);

/// The news directory as of one commit. Every thread may read from it; a clone shares its files and caches. It stays as it is until
/// [`Snapshot::catch_up`].
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(super) dir: Arc<Path>,
    /// The publications of this process's writer, and how much of them is taken over.
    published: Option<(Arc<Published>, Seen)>,
    groups: Arc<Groups>,
    index: Arc<Index>,
    /// Ids that another news system had seen.
    seen_hashes: Option<SeenHashes>,
    /// Of the sealed segments.
    histories: Arc<SealedHistory>,
    /// Of the current one; mapped when first asked for.
    history: OnceLock<GrowingMap>,
    pub(super) log: Arc<LogView>,
    /// The identity of the file `expired` as it was read: changes when expire decides.
    pub(super) expired_identity: Option<[u64; 3]>,
    pub(super) caches: Arc<Caches>,
    /// The notices of the writer's opening; none if there was no such opening.
    notices: Vec<String>,
}

/// A visible article, as its history line tells of it.
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

/// The published mark, and the cancels up to it. The writer shortens the file a moment before it publishes the new end, so the file counts
/// as damaged only if it stays so.
fn cancelled_so_far(
    disk: &dyn Disk,
    dir: &Path,
    index: &Index,
) -> Result<(Watermark, Cancels), Error> {
    let mut attempts = CANCELS_ATTEMPTS;
    loop {
        let mark = index
            .published()
            .ok_or_else(|| missing(&dir.join(index::FILE)))?;
        match Cancels::read(disk, dir, mark.cancels_end) {
            Err(Error::Damaged { .. }) if attempts > 0 => {
                attempts -= 1;
                std::thread::sleep(CANCELS_PAUSE);
            }
            read => return Ok((mark, read?)),
        }
    }
}

impl Snapshot {
    /// Opens a news directory that no crash left work in. `None`: the writer must open it first.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn open_as_left(segments: Segments, dir: &Path) -> Result<Option<Snapshot>, Error> {
        let known = Index::open_to_read(&**segments.disk(), dir, None)?
            // Also while a checkpoint is made, or after one failed: it can be read.
            .filter(|index| index.is_of(segments.run_id()) && index.published().is_some())
            .filter(|index| is_reached(&segments, index));
        let Some(index) = known else {
            return Ok(None);
        };
        match Snapshot::of_index(segments, dir, index, None) {
            // The log tells what is missing or damaged.
            Err(Error::Damaged { .. }) => Ok(None),
            Err(Error::Io { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
            opened => opened,
        }
    }

    /// The same snapshot with the notices of the writer's opening.
    pub(crate) fn with_notices(self, notices: Vec<String>) -> Snapshot {
        Snapshot { notices, ..self }
    }

    /// Opens a news directory whose [`crate::Spool`] publishes its commits in this process: [`Snapshot::catch_up`] costs an atomic load then where
    /// nothing was committed. Takes no lock.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn open_live(dir: &Path, published: Arc<Published>) -> Result<Snapshot, Error> {
        let seen = published.seen();
        let mut snapshot = Snapshot::open_recovered(&(Arc::new(RealDisk) as Arc<dyn Disk>), dir)?;
        if let Some(groups) = published.groups() {
            snapshot.groups = groups;
        }
        snapshot.published = Some((published, seen));
        Ok(snapshot)
    }

    /// As [`Snapshot::open_on`], where somebody has the spool open: nothing is left to do after a crash.
    pub(crate) fn open_recovered(disk: &Arc<dyn Disk>, dir: &Path) -> Result<Snapshot, Error> {
        let index = Index::open_to_read(&**disk, dir, None)?;
        let index = index.ok_or_else(|| Error::Damaged {
            path: dir.join(index::FILE),
            offset: 0,
            what: "it is not there: wait if another program makes it again (`history rebuild', `fsck --repair')",
        })?;
        let snapshot = Snapshot::of_index(Segments::of(disk, dir), dir, index, None)?;
        snapshot.ok_or_else(|| Error::Damaged {
            path: dir.join("expired"),
            offset: 0,
            what: "it does not tell what has expired",
        })
    }

    /// The news directory with this index; what no file tells stays as an earlier snapshot knows it. `None`: nothing tells what has expired.
    fn of_index(
        segments: Segments,
        dir: &Path,
        index: Index,
        known: Option<&Snapshot>,
    ) -> Result<Option<Snapshot>, Error> {
        let disk = &**segments.disk();
        // Before it is read: what is decided meanwhile is looked at again.
        let identity = identity(disk, &dir.join("expired"));
        let (expired, expired_identity) = match (ExpiryState::read(disk, dir)?, known) {
            (Some(expired), _) => (Arc::new(expired), identity),
            // Half written anew after a crash: the next time.
            (None, Some(known)) => (known.log.expired.clone(), known.expired_identity),
            (None, None) => return Ok(None),
        };
        let (mark, cancelled) = cancelled_so_far(disk, dir, &index)?;
        let groups = match known {
            Some(known) => known.groups.clone(),
            None => Arc::new(Groups::of(read_active(disk, dir)?)),
        };
        let seen_hashes = SeenHashes::open(disk, dir)?;
        let log = LogView {
            bases: LogView::bases(&segments, &mark)?,
            mark,
            tables: Arc::default(),
            expired,
            cancelled: Arc::new(cancelled),
            segments,
        };
        Ok(Some(Snapshot {
            dir: dir.into(),
            published: known.and_then(|known| known.published.clone()),
            groups,
            index: Arc::new(index),
            seen_hashes,
            histories: Arc::new(SealedHistory::new(&log.segments, mark.base)),
            history: OnceLock::new(),
            log: Arc::new(log),
            expired_identity,
            caches: Arc::default(),
            notices: Vec::new(),
        }))
    }

    /// Notices for the administrator: those of the writer's opening ([`crate::Spool::notices`]) that mended what a crash left; else none.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// The groups. Their high marks are those of [`Snapshot::marks`].
    pub fn active(&self) -> &Active {
        &self.groups.active
    }

    /// As [`Snapshot::active`], to be kept: it stays as it is while others change.
    pub fn active_shared(&self) -> Arc<Active> {
        self.groups.active.clone()
    }

    /// The low and the high mark of a group (RFC 3977, 6.1.1.2); of an empty one the low mark is one more. The high mark is the newest that
    /// the writer published: its article is there after [`Snapshot::catch_up`].
    pub fn marks(&self, group: GroupId) -> (u64, u64) {
        let active = &self.groups.active;
        let high = self.groups.high(group);
        let floor = active.low(group).max(1);
        let low = self.log.expired.low_from(active.name(group), floor);
        let low = low.max(floor);
        (low.min(high.saturating_add(1)), high)
    }

    /// Bytes of the log on the disk: without the holes that expire made, and the unused positions between segments.
    pub fn log_bytes(&self) -> u64 {
        let segments = self.log.bases.iter();
        let sizes = segments.map(|base| self.log.segments.art_bytes(*base));
        sizes.map(|(length, on_disk)| length.min(on_disk)).sum()
    }

    /// Ids in the index, stale ones included.
    pub fn ids(&self) -> u64 {
        self.index.used()
    }

    /// True when an id is known, whether or not its article is still there.
    ///
    /// # Errors
    /// A history file cannot be read.
    pub fn has(&self, id: &[u8]) -> Result<bool, Error> {
        self.has_hashed(id, self.hash(id)?)
    }

    /// The hash of an id.
    ///
    /// # Errors
    /// This user may not read the key of the index.
    pub fn hash(&self, id: &[u8]) -> Result<IdHash, Error> {
        self.index.hash(id)
    }

    /// As [`Snapshot::has`], for an id that was hashed already.
    ///
    /// # Errors
    /// As [`Snapshot::has`].
    pub fn has_hashed(&self, id: &[u8], hash: IdHash) -> Result<bool, Error> {
        let seen = self.seen_hashes.as_ref();
        Ok(lookup::has_hashed(&self.index, self, id, hash)?
            || seen.is_some_and(|seen| seen.has(id, self.log.expired.forget_before())))
    }

    /// The history line of an id.
    ///
    /// # Errors
    /// As [`Snapshot::has`].
    pub fn history_line(&self, id: &[u8]) -> Result<Option<HistoryLine<'_>>, Error> {
        let line = lookup::find(&self.index, self, id)?;
        Ok(line.and_then(HistoryLine::parse))
    }

    /// The article with an id, if it is visible.
    ///
    /// # Errors
    /// As [`Snapshot::has`].
    pub fn find(&self, id: &[u8]) -> Result<Option<Found<'_>>, Error> {
        let line = self.history_line(id)?;
        Ok(line.and_then(|line| self.found(line)))
    }

    pub(super) fn found<'a>(&'a self, line: HistoryLine<'a>) -> Option<Found<'a>> {
        let position = line.position.filter(|_| self.is_alive(&line))?;
        Some(Found {
            position,
            line,
            expired: &self.log.expired,
        })
    }

    /// The history of the current segment.
    fn current_history(&self) -> Result<&GrowingMap, Error> {
        if let Some(history) = self.history.get() {
            return Ok(history);
        }
        let (base, end) = (self.log.mark.base, self.log.mark.his_end);
        let opened = self.log.segments.open_derived(base, SegmentFile::His)?;
        let Some(file) = opened else {
            return Ok(self.history.get_or_init(GrowingMap::default));
        };
        let map = || {
            let length = file.length()?;
            let mut first = [0];
            match file.read_at(&mut first, 0) {
                // What lies there is told of line by line.
                Err(error) if is_unreadable(&error) => {}
                read => drop(read?),
            }
            // Thinned by expire, or lost in part, since this segment was the current one.
            if length < end || first == *b"\t" {
                GrowingMap::whole(&*file, length)
            } else {
                GrowingMap::append(file, end)
            }
        };
        let path = self.log.segments.path(base, SegmentFile::His);
        let live = map().map_err(|source| Error::io(REMAKE, &path, source))?;
        Ok(self.history.get_or_init(|| live))
    }

    /// The segments whose history is kept, ascending: the articles of some are gone.
    pub(crate) fn histories(&self) -> Result<impl DoubleEndedIterator<Item = u64>, Error> {
        Ok(self.histories.histories()?.chain([self.log.mark.base]))
    }

    /// The history of one of them, and how far its addresses are published.
    pub(crate) fn history(&self, base: u64) -> Result<(History<'_>, u64), Error> {
        if base == self.log.mark.base {
            let history = History::of(self.current_history()?.bytes());
            return Ok((history, self.log.mark.his_end));
        }
        let history = self.histories.history(base)?;
        Ok((history.unwrap_or(History::of(b"")), u64::MAX))
    }

    /// Calls `each` for every history line, oldest first.
    pub fn each_history_line(
        &self,
        mut each: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.histories
            .each_line(|_, line| match self.log.expired.forgets_line(line) {
                true => Ok(()),
                false => each(line),
            })?;
        let (history, end) = self.history(self.log.mark.base)?;
        let lines = history.lines().take_while(|(offset, _)| *offset < end);
        let mut lines = lines.filter(|(_, line)| !self.log.expired.forgets_line(line));
        lines.try_for_each(|(_, line)| each(line))
    }

    /// The arrival in the newest history line, epoch seconds.
    pub fn newest_arrival(&self) -> Result<Option<i64>, Error> {
        // The current segment has none yet when it was begun a moment ago.
        for base in self.histories()?.rev() {
            let (history, _) = self.history(base)?;
            let mut lines = history.text().rsplit(|&b| b == b'\n');
            if let Some(arrival) = lines.find_map(|line| HistoryLine::parse(line)?.arrival) {
                return Ok(Some(arrival));
            }
        }
        Ok(None)
    }

    /// The arrival in the last history line of a segment, epoch seconds.
    pub(crate) fn newest_arrival_in(&self, base: u64) -> Result<Option<i64>, Error> {
        let (history, _) = self.history(base)?;
        let mut lines = history.text().rsplit(|&b| b == b'\n');
        Ok(lines.find_map(|line| HistoryLine::parse(line)?.arrival))
    }

    /// From now on articles in an object store are an error ([`Error::Offloaded`]): for threads that may not wait.
    pub fn never_fetch(&mut self) {
        Arc::make_mut(&mut self.log).segments.set_may_fetch(false);
    }

    /// Brings the article at a position into the local cache of the object store. Waits for the store.
    ///
    /// # Errors
    /// As [`Fetch::run`].
    pub fn fetch(&self, position: Position) -> Result<(), Error> {
        self.fetch_later(position)?.run()
    }

    /// The fetch of the article at a position, for another thread.
    ///
    /// # Errors
    /// [`Error::NoArticle`] if its segment is gone.
    pub fn fetch_later(&self, position: Position) -> Result<Fetch, Error> {
        let base = self.log.base_of(position)?;
        let (segments, tables) = (self.log.segments.clone(), self.log.tables.clone());
        Ok(Fetch::new(segments, tables, (base, position)))
    }

    /// True when an article can still be read: it was filed, has not expired in all its groups, and was not cancelled.
    pub fn is_alive(&self, line: &HistoryLine<'_>) -> bool {
        self.visibility().has(line)
    }

    pub(crate) fn visibility(&self) -> Visibility<'_> {
        self.log.visibility()
    }

    /// True when an article can still be read under a number in a group. All that ask whether an article is there ask this.
    pub fn is_alive_in(&self, group: &[u8], number: u64, position: Position) -> bool {
        self.visibility().is_in(group, number, position)
    }

    /// True when the article at a position was cancelled.
    pub fn is_cancelled(&self, position: Position) -> bool {
        self.log.cancelled.contains(position)
    }

    /// Number of cancelled articles whose records are still there.
    pub fn cancelled_count(&self) -> usize {
        self.log.cancelled.len()
    }

    /// The expiry state.
    pub fn expired(&self) -> &ExpiryState {
        &self.log.expired
    }

    /// The bases of the segments, ascending; the last is still being filed into.
    pub fn segments(&self) -> &[u64] {
        &self.log.bases
    }

    /// The files of the segments.
    pub(crate) fn segment_files(&self) -> &Segments {
        &self.log.segments
    }

    /// Copies the record of the article at a position into a buffer; its checksum is right. `None`: it is gone.
    ///
    /// # Errors
    /// [`Error::Damaged`], or the segment cannot be read.
    pub fn record<'b>(
        &self,
        position: Position,
        buffer: &'b mut Vec<u8>,
    ) -> Result<Option<Record<'b>>, Error> {
        let copied = self
            .caches
            .lend(|cache| cache.open_segments.copy(&self.log, position, buffer));
        copied_record(copied, buffer)
    }

    /// Appends to `out` what `push` makes of the record of the article at a position, without a copy of the record. `push` may be called
    /// twice, with bytes whose checksum is wrong, too: then its result is dropped. Returns false if the article is gone.
    ///
    /// # Errors
    /// As [`Snapshot::record`].
    pub fn push_record(
        &self,
        position: Position,
        out: &mut Vec<u8>,
        push: impl Fn(&mut Vec<u8>, &Record<'_>),
    ) -> Result<bool, Error> {
        let before = out.len();
        let pushed = self.caches.lend(|cache| {
            cache.open_segments.read(&self.log, position, |segment| {
                out.truncate(before);
                segment.convert(position, |record| push(out, record))
            })
        });
        if pushed.is_err() {
            out.truncate(before);
        }
        match pushed {
            Ok(()) => Ok(true),
            Err(Error::NoArticle(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Copies the history line of the article at a position into a buffer, without reading the article. `None`: it is gone. Of an article in
    /// an object store, or one that the disk cannot read, the line is that of the local history; only where that lacks it, the store is asked.
    ///
    /// # Errors
    /// [`Error::Damaged`], or the segment cannot be read.
    pub fn line_at<'b>(
        &self,
        position: Position,
        buffer: &'b mut Vec<u8>,
    ) -> Result<Option<HistoryLine<'b>>, Error> {
        let copy = |may_fetch, buffer: &mut Vec<u8>| {
            let at = (position, may_fetch);
            self.caches
                .lend(|cache| cache.open_segments.copy_line(&self.log, at, buffer))
        };
        let mut copied = copy(false, buffer);
        let is_unreadable = copied.as_ref().is_err_and(Error::is_unreadable);
        if is_unreadable || matches!(copied, Err(Error::Offloaded(_))) {
            let (history, _) = self.history(self.log.base_of(position)?)?;
            let line = history.line_of(position).filter(HistoryLine::is_intact);
            copied = match line {
                Some(line) => {
                    buffer.clear();
                    buffer.extend_from_slice(line.text);
                    Ok(())
                }
                None if is_unreadable => copied,
                None => copy(self.log.segments.may_fetch(), buffer),
            };
        }
        match copied {
            Ok(()) => Ok(HistoryLine::parse(buffer)),
            Err(Error::NoArticle(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Copies the record of the article with an id into a buffer. `None`: it is not visible.
    ///
    /// # Errors
    /// As [`Snapshot::find`] and [`Snapshot::record`].
    pub fn article<'b>(
        &self,
        id: &[u8],
        buffer: &'b mut Vec<u8>,
    ) -> Result<Option<Record<'b>>, Error> {
        match self.find(id)? {
            Some(found) => self.record(found.position, buffer),
            None => Ok(None),
        }
    }

    /// As [`Snapshot::article`], of the article with a number in a group.
    ///
    /// # Errors
    /// As [`Snapshot::position`] and [`Snapshot::record`].
    pub fn article_by_number<'b>(
        &self,
        group: &[u8],
        number: u64,
        buffer: &'b mut Vec<u8>,
    ) -> Result<Option<Record<'b>>, Error> {
        let Some(position) = self.position(group, number)? else {
            return Ok(None);
        };
        let record = self.record(position, buffer)?;
        if let Some(record) = &record {
            let line = HistoryLine::parse(record.line());
            self.check_number((group, number), line, position)?;
        }
        Ok(record)
    }
}

impl Histories for Snapshot {
    fn sealed(&self) -> &SealedHistory {
        &self.histories
    }

    fn text_at(&self, address: u64) -> Result<Option<&[u8]>, Error> {
        match address.checked_sub(self.log.mark.base) {
            None => self.histories.text_at(address),
            Some(offset) if offset < self.log.mark.his_end => {
                Ok(History::of(self.current_history()?.bytes()).text_at(offset))
            }
            Some(_) => Ok(None),
        }
    }

    fn is_forgotten(&self, text: &[u8]) -> Result<bool, Error> {
        Ok(self.log.expired.forgets_line(text))
    }
}

/// False when the current segment's history lines end before the mark: they are being made again after a crash, or that was
/// cut short.
fn is_reached(segments: &Segments, index: &Index) -> bool {
    index.published().is_none_or(|mark| {
        let length = segments.length(mark.base, SegmentFile::His);
        let is_short = length.is_ok_and(|length| length < mark.his_end);
        // Where it cannot be asked, reading will say so.
        !is_short
    })
}

fn identity(disk: &dyn Disk, path: &Path) -> Option<[u64; 3]> {
    disk.open(path, Open::Read).ok()?.identity().ok()
}

fn missing(path: &Path) -> Error {
    Error::Damaged {
        path: path.to_owned(),
        offset: 0,
        what: "it tells no end of the log",
    }
}
