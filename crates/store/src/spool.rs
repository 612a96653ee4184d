//! The one writer of the log.

pub(crate) mod active_file;
pub(crate) mod active_from_log;
mod apply_entry;
mod control_state;
pub(crate) mod derived;
pub(crate) mod edited_active;
pub(crate) mod erase;
mod expire;
pub(crate) mod filing;
pub(crate) mod follow_log;
pub(crate) mod free_numbers;
mod group_changes;
mod ids;
mod let_go;
mod open_snapshot;
pub(crate) mod options;
mod publish;
pub(crate) mod recover;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use groups::Active;

use crate::expiry::state::ExpiryStateFile;
use crate::expiry::visibility::Visibility;
use crate::history::HistoryLine;
use crate::history::cancels::{CancelLine, Cancels, RemovalNote};
use crate::history::push_seen;
use crate::history::sealed::SealedHistory;
use crate::history::seen_hashes::SeenHashes;
use crate::index::watermark::Watermark;
use crate::index::{IdHash, Index};
use crate::io::append_file::AppendFile;
use crate::io::disk::{Disk, RealDisk, RunId};
use crate::io::lock::Lock;
use crate::log::art::Art;
use crate::log::art::PAD_BYTES_MAX;
use crate::log::known_bases::KnownBases;
use crate::log::pending::SPILL_BYTES;
use crate::log::place::LogPlace;
use crate::log::position::POSITION_MAX;
use crate::log::record::{self, Commit, Kind, Record};
use crate::log::repack_reserve;
use crate::log::segment::{SEGMENT_HEADER_BYTES, SIZE_BYTES_MIN, SegmentHeader, size_for};
use crate::log::segments::Segments;
use crate::notice::Notice;
use crate::offload::cancel_locks;
use crate::overview::row::push_row;
use crate::read::open_segments::read_record;
use crate::read::published::Publisher;
use crate::read::snapshot::Snapshot;
use crate::spool::active_file::ActiveFile;
use crate::spool::derived::Derived;
use crate::spool::filing::Filing;
use crate::spool::free_numbers::UsedByGroup;
use crate::spool::options::{Durability, Options};
use crate::state::States;
use crate::{Error, Expires, Position};

/// Longest `active` that is logged as one record at the start of a segment, as a part of the segment.
pub(crate) const SNAPSHOT_PART: u64 = 4;

/// A segment that has its size is sealed at the first commit of a batch, and within a batch at most this often.
const SEAL_INTERVAL: Duration = Duration::from_secs(2);

/// The result of one commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committed {
    /// Bytes of the log.
    pub bytes: u64,
    /// Where the log ends now.
    pub end: Position,
}

/// The writer. There is one, because it holds the lock.
#[derive(Debug)]
pub struct Spool {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    segments: Segments,
    options: Options,
    run: RunId,
    active: ActiveFile,
    index: Index,
    art: Art,
    derived: Derived,
    sealed: SealedHistory,
    bases: KnownBases,
    expired: ExpiryStateFile,
    states: States,
    commit_sequence: u64,
    checkpointed: u64,
    is_poisoned: bool,
    notices: Vec<Notice>,
    taken_up: u64,
    /// The used numbers of all groups; collected for the first late article.
    used: Option<UsedByGroup>,
    /// Ids that another news system had seen.
    seen_hashes: Option<SeenHashes>,
    lock: Lock,
    publisher: Option<Publisher>,
    /// When a commit last compared the segment with its size. `None`: the first commit does.
    size_checked: Option<Instant>,
    /// Largest segment that is filed into without a pause, bytes; `None` before a segment has its size.
    without_pause_max: Option<u64>,
    /// The reserve for repacking suffices for a segment of so many bytes, as far as there was room.
    reserve: u64,
    /// Segments that are noted as such to reclaim, since the spool was opened.
    unreclaimed: BTreeSet<u64>,
    /// Segments with removals that wait for the next commit, and are not noted.
    removals: BTreeSet<u64>,
}

impl Spool {
    /// Takes the lock and opens the news directory; after a crash, replays what the derived files lack.
    pub fn open(dir: &Path, options: Options) -> Result<Spool, Error> {
        Spool::open_on(Arc::new(RealDisk), dir, options)
    }

    /// As [`Spool::open`], on another disk.
    pub fn open_on(disk: Arc<dyn Disk>, dir: &Path, options: Options) -> Result<Spool, Error> {
        let segments = Segments::find(&disk, dir)?;
        let lock = Lock::take(dir, options.patience)?;
        recover::open(&segments, dir, options, lock)
    }

    /// As [`Spool::open`], with the lock taken already: by the daemon, which takes it without asking anybody.
    ///
    /// # Errors
    /// As [`Spool::open`].
    pub fn open_with(lock: Lock, dir: &Path, options: Options) -> Result<Spool, Error> {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let segments = Segments::find(&disk, dir)?;
        let mut spool = recover::open(&segments, dir, options, lock)?;
        spool.mend_expired()?;
        Ok(spool)
    }

    /// Makes a damaged `expired` again from the log; who only reads cannot.
    pub(crate) fn mend_expired(&mut self) -> Result<(), Error> {
        self.expired.state()?;
        if self.expired.flush()? {
            let notice = "expired was damaged: made again from the log";
            self.notices.push(Notice::Other(notice.into()));
            self.publish_files();
        }
        Ok(())
    }

    /// Tells others whether nothing is being filed now, though the lock is held ([`Lock::is_held`]).
    ///
    /// # Errors
    /// Those of the file system.
    pub fn say_idle(&self, is_idle: bool) -> Result<(), Error> {
        self.lock.say_idle(is_idle)
    }

    /// The lines of active that count for nothing, in sentences for the administrator.
    pub fn bad_lines_of_active(&self) -> Vec<String> {
        let faults = self.active.table.bad_lines().iter();
        faults
            .map(|fault| format!("{fault}: mend it, or run `broadsheet fsck --repair`"))
            .collect()
    }

    /// Repairs made on opening, in sentences for the administrator.
    pub fn notices(&self) -> Vec<String> {
        self.notices.iter().map(Notice::to_string).collect()
    }

    /// The same as values.
    pub(crate) fn notice_values(&self) -> &[Notice] {
        &self.notices
    }

    /// Where the log ended after a replay, if there was one since [`Spool::forget_replay`], by this program or another: the power failed, or a
    /// program was killed. It may have ended later before. After several replays it is the first end.
    pub fn replayed_to(&self) -> Option<Position> {
        self.index.replayed_to().map(Position)
    }

    /// Forgets the replays: the caller has moved back to their end what refers to positions beyond it.
    pub fn forget_replay(&self) {
        self.index.forget_replay();
    }

    /// Articles that opening took up again from the log.
    pub fn taken_up(&self) -> u64 {
        self.taken_up
    }

    /// The news directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether it follows the log of a cluster.
    pub fn follows_log(&self) -> bool {
        self.options.follows_log
    }

    /// What is committed, for who has the spool open: [`Snapshot::open`] may wait for its lock.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn snapshot(&self) -> Result<Snapshot, Error> {
        Snapshot::open_recovered(&self.disk, &self.dir)
    }

    /// Where the log ends: what is committed lies before it.
    pub fn end(&self) -> Position {
        Position(self.art.header.base + self.art.append.end)
    }

    /// The active table.
    pub fn active(&self) -> &Active {
        &self.active.table
    }

    /// The active table, to take numbers from. Changes of groups go through [`Spool::set_group`].
    pub fn active_mut(&mut self) -> &mut Active {
        &mut self.active.table
    }

    /// Whether an article is filed no more: it was removed, or has expired.
    ///
    /// # Errors
    /// The expiry state cannot be read.
    pub fn is_gone(&self, line: &HistoryLine<'_>) -> Result<bool, Error> {
        Ok(self.visibility()?.is_dead(line))
    }

    /// Whether an article is visible. The answer is the same on all nodes of a cluster, whichever segments they have removed: the cancels of
    /// articles before the oldest segment are forgotten, and all of these articles are gone.
    ///
    /// # Errors
    /// The expiry state or the list of the segments cannot be read.
    pub fn is_visible(&self, line: &HistoryLine<'_>) -> Result<bool, Error> {
        if !self.visibility()?.has(line) {
            return Ok(false);
        }
        let Some(Position(position)) = line.position else {
            return Ok(false);
        };
        let is_current = position >= self.art.header.base;
        Ok(is_current || self.bases.base_of(&self.segments, position)?.is_some())
    }

    /// The Cancel-Lock header of the article at a position, also of one that waits for a commit; empty if it has none that counts
    /// ([`offload::CANCEL_LOCK_BYTES_MAX`](crate::offload::CANCEL_LOCK_BYTES_MAX)). `None`: it is gone.
    ///
    /// # Errors
    /// [`Error::Offloaded`] for an article in the object store whose Cancel-Lock is not here or damaged; on a node of a cluster, which
    /// must not decide otherwise than the others, [`Error::Damaged`]. Or the segment cannot be read.
    pub fn cancel_lock(&self, position: Position) -> Result<Option<Vec<u8>>, Error> {
        let mut buffer = Vec::new();
        let lock_of = |record: Record<'_>| cancel_locks::of_article(record.wire_article()).to_vec();
        if position.0 >= self.art.header.base {
            return Ok(self.record(position, &mut buffer)?.map(lock_of));
        }
        let Some(base) = self.bases.base_of(&self.segments, position.0)? else {
            return Ok(None);
        };
        let object = || -> Result<_, Error> {
            let header = self.segments.header(base)?;
            Ok(header.and_then(|header| header.object))
        };
        loop {
            let place = object()?;
            let found = match place {
                Some(_) => cancel_locks::find(&self.segments, base, position).map(Some),
                None => read_record(&self.segments, base, position, &mut buffer)
                    .map(|record| record.map(lock_of)),
            };
            // The segment may have moved to the object store, or back, while it was read.
            if !matches!(found, Ok(Some(_))) && object()? != place {
                continue;
            }
            return match found {
                Err(Error::Damaged { .. }) if place.is_some() && !self.options.follows_log => {
                    Err(Error::Offloaded(position))
                }
                found => found,
            };
        }
    }

    /// Copies the record of the article at a position into a buffer, also of one that waits for a commit. `None`: it is gone.
    ///
    /// # Errors
    /// [`Error::Offloaded`] for an article whose segment is in the object store; or the segment cannot be read.
    pub fn record<'b>(
        &self,
        position: Position,
        buffer: &'b mut Vec<u8>,
    ) -> Result<Option<Record<'b>>, Error> {
        let base = match position.0.checked_sub(self.art.header.base) {
            Some(offset) if offset >= self.art.append.end => {
                return self.art.waiting_record(offset, buffer);
            }
            Some(_) => Some(self.art.header.base),
            None => self.bases.base_of(&self.segments, position.0)?,
        };
        match base {
            // Whether the cache has it must not decide what the writer does.
            Some(base)
                if base != self.art.header.base
                    && self
                        .segments
                        .header(base)?
                        .is_some_and(|header| header.object.is_some()) =>
            {
                Err(Error::Offloaded(position))
            }
            Some(base) => read_record(&self.segments, base, position, buffer),
            None => Ok(None),
        }
    }

    /// Closes the spool, but keeps its lock.
    pub(crate) fn close(self) -> (Segments, PathBuf, Options, Lock) {
        (self.segments, self.dir, self.options, self.lock)
    }

    /// The segments.
    pub(crate) fn segments(&self) -> &Segments {
        &self.segments
    }

    /// The base of the current segment, and the end of the log in it.
    pub(crate) fn log_end(&self) -> LogPlace {
        LogPlace {
            base: self.current_base(),
            offset: self.art.append.end,
        }
    }

    /// The base of the current segment.
    pub(crate) fn current_base(&self) -> u64 {
        self.art.header.base
    }

    /// The rule that an article is visible.
    pub(crate) fn visibility(&self) -> Result<Visibility<'_>, Error> {
        Ok(Visibility {
            expired: self.expired.state()?,
            cancelled: &self.derived.cancelled,
        })
    }

    /// Writes `expired` anew.
    pub(crate) fn rewrite_expired(&mut self) -> Result<(), Error> {
        self.expired.state_mut()?;
        self.expired.flush().map(drop)
    }

    /// The file `cancels`.
    pub(crate) fn cancels_file(&self) -> &AppendFile {
        &self.derived.cancels
    }

    /// The cancelled articles.
    pub fn cancelled(&self) -> &Cancels {
        &self.derived.cancelled
    }

    fn commit_of_record(&mut self) -> Commit {
        if self.art.pending.is_empty() && self.art.pending.spilled() == 0 {
            // Never used before, even by a commit that failed and may have left traces on the disk.
            let now = SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |age| age.as_micros() as u64);
            self.commit_sequence = now.max(self.commit_sequence + 1);
            self.art.pending.restart(self.art.append.end);
        }
        Commit {
            commit_sequence: self.commit_sequence,
            start: self.art.pending.commit_start(),
        }
    }

    /// Whether an article of so many bytes surely fits into a segment, with what is added to it.
    pub fn surely_takes(&self, article_bytes: u64) -> bool {
        // As `Filing::record_bytes_max` has it: wire form at most doubles it, and groups and sites come to it.
        const ADDED: u64 = 64 << 10;
        let most = article_bytes.saturating_mul(2).saturating_add(ADDED);
        most.saturating_add(SEGMENT_HEADER_BYTES + PAD_BYTES_MAX) <= self.options.segment_bytes
    }

    pub(crate) fn make_room(&mut self, bytes: u64) -> Result<(), Error> {
        if self.is_poisoned {
            return Err(Error::Stopped);
        }
        // A segment must not begin in the middle of an entry: `reserve` looks before each.
        if !self.options.follows_log {
            self.seal_between_commits()?;
        }
        if self.art.has_room(bytes, self.options.segment_bytes) {
            return Ok(());
        }
        if SEGMENT_HEADER_BYTES + bytes + PAD_BYTES_MAX > self.options.segment_bytes {
            // A new segment would not help.
            return Err(Error::TooLarge {
                bytes,
                segment_bytes: self.options.segment_bytes,
            });
        }
        self.commit()?;
        self.seal()?;
        if self.art.has_room(bytes, self.options.segment_bytes) {
            return Ok(());
        }
        Err(Error::TooLarge {
            bytes,
            segment_bytes: self.art.header.span,
        })
    }

    pub(crate) fn seal_between_commits(&mut self) -> Result<(), Error> {
        match self.art.pending.is_empty() && self.art.pending.spilled() == 0 {
            true => self.seal_if_due(),
            false => Ok(()),
        }
    }

    fn without_pause_max(&mut self) -> u64 {
        let folder = self.segments.folder();
        *self
            .without_pause_max
            .get_or_insert_with(|| repack_reserve::without_pause_max(folder))
    }

    /// Before a commit, begins the next segment if the current one has its size. Sealing costs a dozen syncs, so fast filing, which would
    /// fill a small segment with each commit, makes larger ones; on a small disk not too large to be repacked there.
    fn seal_if_due(&mut self) -> Result<(), Error> {
        let is_early = |checked: Instant| checked.elapsed() < SEAL_INTERVAL;
        let end = self.art.append.end;
        if self.size_checked.is_some_and(is_early)
            && (end < self.art.header.size || end < self.without_pause_max())
        {
            return Ok(());
        }
        self.size_checked = Some(Instant::now());
        if end < SIZE_BYTES_MIN.min(self.options.segment_bytes) {
            return Ok(());
        }
        if end < self.art.header.size {
            return Ok(());
        }
        self.seal()
    }

    /// Files an article: its record waits for the next commit, its id is known from now on.
    pub fn append(&mut self, filing: &Filing<'_>) -> Result<Position, Error> {
        self.append_hashed(filing, self.index.hash(filing.id)?)
    }

    /// As [`Spool::append`], for an id that was [hashed](Spool::hash) already.
    pub fn append_hashed(&mut self, filing: &Filing<'_>, hash: IdHash) -> Result<Position, Error> {
        self.make_room(filing.record_bytes_max())?;
        let commit = self.commit_of_record();
        let position = self.art.next_position();
        let offset = self.art.next() as u32;
        let laid = filing.push_record(self.art.pending.out(), position, commit);
        let line = self.art.pending.piece(laid.line_start, laid.line_length);
        let address = self.art.header.base + self.derived.next_line();
        self.derived
            .push_filed(line, filing.arrival, (filing.expires, filing.is_late));
        self.derived
            .rows
            .add(offset, filing.links.iter().copied(), |out| {
                push_row(out, &filing.overview, laid.bytes, u64::from(laid.lines));
            });
        if let Some(publisher) = &mut self.publisher {
            publisher.note(&self.active.table, filing.links.iter().copied());
        }
        if let Some(used) = &mut self.used {
            used.note(filing.links.iter().copied());
        }
        self.remember_address(hash, address)?;
        if self.options.durability == Durability::Each {
            self.commit()?;
        } else if self.art.pending.len() >= SPILL_BYTES {
            self.is_poisoned = true;
            self.art.spill(self.goes_direct())?;
            self.is_poisoned = false;
        }
        Ok(position)
    }

    /// Remembers an id that was seen but not filed.
    pub fn remember(&mut self, id: &[u8], arrival: i64, expires: Expires<'_>) -> Result<(), Error> {
        let hash = self.index.hash(id)?;
        self.make_room((id.len() + 256) as u64)?;
        let commit = self.commit_of_record();
        let mut line = Vec::with_capacity(id.len() + 32);
        push_seen(&mut line, id, (arrival, expires));
        record::push_text(self.art.pending.out(), Kind::Seen, commit, &line);
        let address = self.art.header.base + self.derived.next_line();
        self.derived.push_line(&line);
        self.remember_address(hash, address)
    }

    /// Cancels the article at a position: it is no longer shown; its history line stays (C News's cancel).
    pub fn cancel(&mut self, position: Position, id: &[u8]) -> Result<(), Error> {
        self.log_cancel(&CancelLine {
            position,
            id,
            is_restored: false,
            note: None,
        })
    }

    /// Removes the article at a position, as [`Spool::cancel`], and records when, why, and until when it can be restored. Waits for
    /// the next commit.
    ///
    /// # Errors
    /// Those of filing.
    pub fn remove(
        &mut self,
        position: Position,
        id: &[u8],
        note: RemovalNote<'_>,
    ) -> Result<(), Error> {
        self.log_cancel(&CancelLine {
            position,
            id,
            is_restored: false,
            note: Some(note),
        })
    }

    /// Restores a removed article: it is shown again under its numbers. Waits for the next commit.
    ///
    /// # Errors
    /// Those of filing.
    pub fn restore(&mut self, position: Position, id: &[u8]) -> Result<(), Error> {
        self.log_cancel(&CancelLine {
            position,
            id,
            is_restored: true,
            note: None,
        })
    }

    /// Logs and applies a line of `cancels`.
    pub(crate) fn log_cancel(&mut self, line: &CancelLine<'_>) -> Result<(), Error> {
        if !self.derived.cancelled.is_changed_by(line) {
            return Ok(());
        }
        if !line.is_restored {
            self.removes_at(line.position)?;
        }
        let mut text = Vec::with_capacity(line.id.len() + 64);
        line.push(&mut text);
        self.make_room(text.len() as u64 + 256)?;
        let commit = self.commit_of_record();
        record::push_text(self.art.pending.out(), Kind::Cancel, commit, &text);
        self.derived.push_cancel(line);
        Ok(())
    }

    pub(crate) fn log_text(&mut self, kind: Kind, text: &[u8]) {
        if let Some(publisher) = &mut self.publisher {
            // Low marks are in the table, too.
            publisher.note_groups();
        }
        let commit = self.commit_of_record();
        record::push_text(self.art.pending.out(), kind, commit, text);
    }

    /// Bytes that wait for the next commit.
    pub fn pending_bytes(&self) -> usize {
        (self.art.next() - self.art.append.end) as usize + self.derived.pending_bytes()
    }

    /// Makes everything appended so far durable: one write and one fdatasync. After an error nothing more is
    /// accepted; what earlier commits made durable stays.
    pub fn commit(&mut self) -> Result<Committed, Error> {
        if self.is_poisoned {
            return Err(Error::Stopped);
        }
        let bytes = self.art.next() - self.art.append.end;
        if !self.removals.is_empty() {
            self.note_removals()?;
        }
        if bytes > 0 {
            self.is_poisoned = true;
            let began = Instant::now();
            self.art
                .write_pending(self.goes_direct(), self.commit_sequence)?;
            if self.options.durability != Durability::None {
                // After a failed sync the state on the disk is unknown, and asking again would not tell:
                // the next start writes it again past the page cache, or cuts it off.
                self.art.append.sync()?;
            }
            if let Some(publisher) = &mut self.publisher {
                let index = (self.index.used(), self.index.slots());
                publisher.count(bytes, began.elapsed(), index);
            }
            self.publish()?;
            if self.art.append.end > self.reserve {
                // Where there is no room, the next new segment and the next run of expire try again.
                self.reserve = repack_reserve::size_for(self.art.append.end);
                repack_reserve::make(&self.segments, self.reserve);
            }
            if self.art.append.end.saturating_sub(self.checkpointed)
                >= self.options.checkpoint_bytes
            {
                self.checkpoint()?;
            }
            self.is_poisoned = false;
        }
        Ok(Committed {
            bytes,
            end: Position(self.art.header.base + self.art.append.end),
        })
    }

    fn goes_direct(&self) -> bool {
        self.options.durability != Durability::None
    }

    /// Writes the derived files and tells readers how far they may look.
    pub(crate) fn publish(&mut self) -> Result<(), Error> {
        self.derived.flush()?;
        self.active.flush()?;
        self.states.flush()?;
        if self.expired.flush()? {
            self.publish_files();
        }
        self.index
            .set_active_identity(self.active.identity()?, self.active.table.checksum());
        self.index
            .set_synced(self.options.durability != Durability::None);
        self.index.set_applied(&self.mark(), self.run);
        self.publish_commit();
        Ok(())
    }

    pub(crate) fn mark(&self) -> Watermark {
        Watermark {
            sequence: 0,
            base: self.art.header.base,
            art_end: self.art.append.end,
            his_end: self.derived.his.end,
            ovr_end: self.derived.ovr.end,
            cancels_end: self.derived.cancels.end,
            exp_end: self.derived.exp.end,
            newest: self.derived.newest(),
        }
    }

    /// Syncs the derived files, so that a replay after a power cut begins here.
    pub fn checkpoint(&mut self) -> Result<(), Error> {
        // What a failed sync should have written may never be, and the next one would not tell: the next start makes
        // these files anew, also where this program is killed while the disk does not answer.
        self.index.set_doubted(true);
        let done = self.sync_all();
        match &done {
            Ok(()) => self.index.set_doubted(false),
            Err(_) => self.is_poisoned = true,
        }
        done
    }

    fn sync_all(&mut self) -> Result<(), Error> {
        // In a cluster another program may have written without a sync.
        if self.options.durability == Durability::None || self.options.follows_log {
            self.art.append.sync()?;
        }
        self.derived.sync()?;
        self.active.sync()?;
        self.states.sync()?;
        self.index.set_checkpoint(&self.mark())?;
        self.checkpointed = self.art.append.end;
        Ok(())
    }

    /// Ends the current segment and begins the next. Nothing may wait for a commit.
    pub fn seal(&mut self) -> Result<(), Error> {
        self.is_poisoned = true;
        self.derived.merge_overview(&*self.disk)?;
        self.begin_segment()
    }

    /// As [`Spool::seal`], but leaves the overview rows in their blocks.
    pub(crate) fn begin_segment(&mut self) -> Result<(), Error> {
        self.is_poisoned = true;
        self.checkpoint()?;
        let old = self.art.header;
        let header = SegmentHeader {
            size: self.segment_size()?,
            ..SegmentHeader::plain(old.base + old.span, self.options.segment_bytes)
        };
        if header.base + header.span > POSITION_MAX {
            return Err(Error::TooLarge {
                bytes: header.base,
                segment_bytes: header.span,
            });
        }
        self.segments.create(header)?;
        self.enter(header)?;
        self.is_poisoned = false;
        self.log_state()
    }

    /// The size of a segment that begins now.
    pub(crate) fn segment_size(&self) -> Result<u64, Error> {
        let (spool, copies) = (self.segments.articles_bytes()?, self.copies_bytes()?);
        Ok(size_for(spool, copies, self.options.segment_bytes))
    }

    /// Makes a freshly made segment the current one.
    fn enter(&mut self, header: SegmentHeader) -> Result<(), Error> {
        let mark = Watermark {
            base: header.base,
            art_end: SEGMENT_HEADER_BYTES,
            his_end: 0,
            ovr_end: 0,
            exp_end: 0,
            newest: 0,
            ..self.mark()
        };
        self.art = Art::open(&self.segments, header.base, mark.art_end)?;
        self.derived = Derived::open(&self.segments, &self.dir, header, &mark)?;
        self.sealed = SealedHistory::new(&self.segments, header.base);
        self.bases = KnownBases::default();
        self.checkpointed = mark.art_end;
        self.reserve = 0;
        self.index.set_applied(&self.mark(), self.run);
        self.publish_commit();
        Ok(())
    }
}
