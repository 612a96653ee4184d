//! Reading without the lock: articles by id or number, overview rows, history lines.

mod refresh;
mod segment_files;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use groups::Active;

use crate::error::is_unreadable;
use crate::expiry::state::ExpiryState;
use crate::expiry::visibility::Visibility;
use crate::history::HistoryLine;
use crate::history::cancels::Cancels;
use crate::history::compacted::History;
use crate::history::lookup::{self, Histories};
use crate::history::sealed::SealedHistory;
use crate::index::watermark::Watermark;
use crate::index::{self, Index};
use crate::io::disk::{Disk, Open, RealDisk};
use crate::io::growing_map::GrowingMap;
use crate::log::relocation_cache::Tables;
use crate::log::segments::{REMAKE, SegmentFile, Segments};
use crate::read::stored_record::{StoredRecord, read_record};
use crate::spool::Spool;
use crate::spool::active_file::read_table;
use crate::spool::options::Options;
use crate::{Error, Position};

/// A news directory as it was published when this was opened.
#[derive(Debug)]
pub struct Reader {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) segments: Segments,
    pub(crate) index: Index,
    pub(crate) mark: Watermark,
    /// Of the sealed segments.
    histories: SealedHistory,
    /// Of the current one; mapped when first asked for.
    history: OnceLock<GrowingMap>,
    pub(crate) bases: Vec<u64>,
    active: Active,
    cancelled: Cancels,
    expired: ExpiryState,
    pub(crate) tables: Tables,
    /// The file `expired` as it was read: changes when expire decides.
    expired_identity: Option<[u64; 3]>,
}

impl Reader {
    /// Opens a news directory. Where a crash left work to do and the lock is free, that is done first.
    pub fn open(dir: &Path) -> Result<Reader, Error> {
        Reader::open_on(Arc::new(RealDisk), dir)
    }

    /// As [`Reader::open`], on another disk.
    pub fn open_on(disk: Arc<dyn Disk>, dir: &Path) -> Result<Reader, Error> {
        let segments = Segments::find(&disk, dir)?;
        let known = Index::open_to_read(&*disk, dir, None)?
            // Also while a checkpoint is made, or after one failed: it can be read.
            .filter(|index| index.is_of(disk.boot_id()) && index.published().is_some())
            .filter(|index| is_reached(&segments, index));
        if let Some(index) = known
            && let Some(reader) = Reader::of_index(&disk, dir, index)?
        {
            return Ok(reader);
        }
        let options = Options {
            patience: None,
            ..Options::default()
        };
        Spool::open_on(disk.clone(), dir, options)?.mend_expired()?;
        Reader::open_published(disk, dir)
    }

    /// As [`Reader::open_on`], where somebody has the spool open: nothing is left to do after a crash.
    pub(crate) fn open_published(disk: Arc<dyn Disk>, dir: &Path) -> Result<Reader, Error> {
        let index = Index::open_to_read(&*disk, dir, None)?;
        let index = index.ok_or_else(|| missing(&dir.join(index::FILE)))?;
        Reader::of_index(&disk, dir, index)?.ok_or_else(|| Error::Damaged {
            path: dir.join("expired"),
            offset: 0,
            what: "it does not tell what has expired",
        })
    }

    /// `None`: what has expired is not told.
    fn of_index(disk: &Arc<dyn Disk>, dir: &Path, index: Index) -> Result<Option<Reader>, Error> {
        let segments = Segments::of(disk, dir);
        // Before it is read: what is decided meanwhile is looked at again.
        let expired_identity = identity(&**disk, &dir.join("expired"));
        let Some(expired) = ExpiryState::read(&**disk, dir)? else {
            return Ok(None);
        };
        let mark = index
            .published()
            .ok_or_else(|| missing(&dir.join(index::FILE)))?;
        let active_path = dir.join("active");
        let file = disk
            .open(&active_path, Open::Read)
            .map_err(|source| Error::io("open", &active_path, source))?;
        let active = read_table(&*file, &active_path)?;
        let bases = bases(&segments, &mark)?;
        let histories = SealedHistory::new(&segments, mark.base);
        let cancelled = read_cancels(&**disk, dir, mark.cancels_end)?;
        Ok(Some(Reader {
            disk: disk.clone(),
            segments,
            index,
            mark,
            histories,
            history: OnceLock::new(),
            bases,
            active,
            cancelled,
            expired,
            tables: Tables::default(),
            expired_identity,
        }))
    }

    /// The active table as it was when this was opened.
    pub fn active(&self) -> &Active {
        &self.active
    }

    /// Segments, bytes of the log in them, ids in the index (stale ones included).
    pub fn extent(&self) -> (usize, u64, u64) {
        let first = self.bases.first().copied().unwrap_or(self.mark.base);
        (
            self.bases.len(),
            self.mark.base + self.mark.art_end - first,
            self.index.used(),
        )
    }

    /// True when an id is known.
    pub(crate) fn has(&self, id: &[u8]) -> Result<bool, Error> {
        Ok(lookup::has(&self.index, self, id)?)
    }

    /// The history line of an id.
    pub fn find(&self, id: &[u8]) -> Result<Option<HistoryLine<'_>>, Error> {
        let line = lookup::find(&self.index, self, id)?;
        Ok(line.and_then(HistoryLine::parse))
    }

    /// The history of the current segment.
    fn current_history(&self) -> Result<&GrowingMap, Error> {
        if let Some(history) = self.history.get() {
            return Ok(history);
        }
        let (base, end) = (self.mark.base, self.mark.his_end);
        let opened = self.segments.open_derived(base, SegmentFile::His)?;
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
        let path = self.segments.path(base, SegmentFile::His);
        let live = map().map_err(|source| Error::io(REMAKE, &path, source))?;
        Ok(self.history.get_or_init(|| live))
    }

    /// The segments whose history is kept, ascending: the articles of some are gone.
    pub(crate) fn histories(&self) -> Result<impl DoubleEndedIterator<Item = u64>, Error> {
        Ok(self.histories.histories()?.chain([self.mark.base]))
    }

    /// The history of one of them, and how far its addresses are published.
    pub(crate) fn history(&self, base: u64) -> Result<(History<'_>, u64), Error> {
        if base == self.mark.base {
            let history = History::of(self.current_history()?.bytes());
            return Ok((history, self.mark.his_end));
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
            .each_line(|_, line| match self.expired.forgets_line(line) {
                true => Ok(()),
                false => each(line),
            })?;
        let (history, end) = self.history(self.mark.base)?;
        let lines = history.lines().take_while(|(offset, _)| *offset < end);
        let mut lines = lines.filter(|(_, line)| !self.expired.forgets_line(line));
        lines.try_for_each(|(_, line)| each(line))
    }

    /// The newest history line, if there is one in the current segment.
    pub fn newest_line(&self) -> Result<Option<Vec<u8>>, Error> {
        let text = History::of(self.current_history()?.bytes()).text();
        let Some(text) = text.strip_suffix(b"\n") else {
            return Ok(None);
        };
        let newest = text.rsplit(|&b| b == b'\n').next();
        Ok(newest.map(<[u8]>::to_vec))
    }

    /// True when an article can still be read: it was filed, has not expired in all its groups, and was not cancelled.
    pub fn is_alive(&self, line: &HistoryLine<'_>) -> bool {
        self.alive().has(line)
    }

    pub(crate) fn alive(&self) -> Visibility<'_> {
        Visibility {
            expired: &self.expired,
            cancelled: &self.cancelled,
        }
    }

    /// True when an article can still be read under a number in a group. All that ask whether an article is there ask this.
    pub fn is_alive_in(&self, group: &[u8], number: u64, position: Position) -> bool {
        self.alive().is_in(group, number, position)
    }

    /// True when the article at a position was cancelled.
    pub fn is_cancelled(&self, position: Position) -> bool {
        self.cancelled.contains(position)
    }

    /// What has expired.
    pub fn expired(&self) -> &ExpiryState {
        &self.expired
    }

    /// The article with an id, if it is alive.
    pub fn article(&self, id: &[u8]) -> Result<Option<StoredRecord>, Error> {
        match self.find(id)? {
            Some(line) if self.is_alive(&line) => line
                .position
                .map(|position| self.read(position))
                .transpose(),
            _ => Ok(None),
        }
    }

    /// The article with a number in a group, if it is alive.
    pub fn article_by_number(
        &self,
        group: &[u8],
        number: u64,
    ) -> Result<Option<StoredRecord>, Error> {
        match self.numbers().position(group, number)? {
            Some(position) => self.read(position).map(Some),
            None => Ok(None),
        }
    }

    /// The bases of the segments, ascending; the last is still being filed into.
    pub fn segments(&self) -> &[u64] {
        &self.bases
    }

    /// The record of an article at a position.
    pub fn read(&self, position: Position) -> Result<StoredRecord, Error> {
        match self.read_once(position) {
            // Expire may have punched a hole here between the reading of the header and of the rest.
            Err(Error::Damaged { .. }) => self.read_once(position),
            read => read,
        }
    }

    fn read_once(&self, position: Position) -> Result<StoredRecord, Error> {
        read_record(&self.segments, &self.bases, &self.tables, position)
    }
}

impl Histories for Reader {
    fn sealed(&self) -> &SealedHistory {
        &self.histories
    }

    fn text_at(&self, address: u64) -> Result<Option<&[u8]>, Error> {
        match address.checked_sub(self.mark.base) {
            None => self.histories.text_at(address),
            Some(offset) if offset < self.mark.his_end => {
                Ok(History::of(self.current_history()?.bytes()).text_at(offset))
            }
            Some(_) => Ok(None),
        }
    }

    fn is_forgotten(&self, text: &[u8]) -> Result<bool, Error> {
        Ok(self.expired.forgets_line(text))
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

/// The bases of the segments up to the current one.
fn bases(segments: &Segments, mark: &Watermark) -> Result<Vec<u64>, Error> {
    let mut bases = segments.bases()?;
    bases.retain(|&base| base <= mark.base);
    Ok(bases)
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

/// The cancels up to `end` of their file.
pub fn read_cancels(disk: &dyn Disk, dir: &Path, end: u64) -> Result<Cancels, Error> {
    let path = dir.join("cancels");
    if end == 0 {
        return Ok(Cancels::default());
    }
    let at = |source| Error::io("read", &path, source);
    let file = disk.open(&path, Open::Read).map_err(at)?;
    let mut text = vec![0; file.length().map_err(at)?.min(end) as usize];
    let got = file.read_at(&mut text, 0).map_err(at)?;
    text.truncate(got);
    Ok(Cancels::parse(&text))
}
