//! The one writer of the log.

pub(crate) mod active_file;
pub(crate) mod current;
pub(crate) mod edited_active;
pub(crate) mod recover;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use article::message_id;
use groups::{Active, Flag};

use crate::expiry::state::ExpiryStateFile;
use crate::history::cancels::Cancels;
use crate::history::sealed::SealedHistory;
use crate::history::{HistoryLine, Unreadable, has_unreadable_line, push_seen, sound_line};
use crate::index::watermark::Watermark;
use crate::index::{self, Index};
use crate::io::disk::Disk;
use crate::io::lock::Lock;
use crate::log::filing::Filing;
use crate::log::pending::SPILL_BYTES;
use crate::log::position::{POSITION_MAX, SegmentFile, segment_path};
use crate::log::record::{self, Commit, Kind};
use crate::log::relocation_cache::Tables;
use crate::log::segment::{self, SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::overview::row::push_row;
use crate::overview::{self, Block};
use crate::read::published::Publisher;
use crate::read::stored_record::{StoredRecord, read_record};
use crate::spool::active_file::ActiveFile;
use crate::spool::current::{Art, Derived, PAD_BYTES_MAX};
use crate::{Error, Expires, Position, check::repair};

/// When an article counts as filed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// After a commit of its own.
    Each,
    /// After the commit it belongs to: one fdatasync for many.
    #[default]
    Commit,
    /// When the system has it in core: a power cut may lose it, a killed program does not.
    None,
}

/// How the store works.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// When an article counts as filed.
    pub durability: Durability,
    /// A segment is sealed before it grows beyond this, bytes. 1 MiB to 2 GiB.
    pub segment_bytes: u64,
    /// Derived files are synced each time the log grew by this, bytes: bounds the replay after a power cut.
    pub checkpoint_bytes: u64,
    /// How long to wait for the lock; `None`: for ever.
    pub patience: Option<Duration>,
    /// Go on where articles were lost by damage, as `fsck --repair` does; else opening fails and says so.
    pub repair: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            durability: Durability::Commit,
            segment_bytes: 256 << 20,
            checkpoint_bytes: 64 << 20,
            patience: None,
            repair: false,
        }
    }
}

/// Smallest segment, bytes.
pub const SEGMENT_BYTES_MIN: u64 = 1 << 20;
/// Largest segment, bytes: offsets in it are 32 bits.
pub const SEGMENT_BYTES_MAX: u64 = 2 << 30;
/// An index with fewer ids doubles when it is full.
pub const SMALL_IDS: u64 = 500_000;
/// An index with no more slots is never made smaller.
const SMALL_SLOTS: u64 = 8 * crate::index::BUCKETS_MIN;
/// Longest `active` that is logged as one record at the start of a segment, as a part of the segment.
pub(crate) const SNAPSHOT_PART: u64 = 4;

/// What one commit made durable.
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
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) dir: PathBuf,
    pub(crate) options: Options,
    pub(crate) boot: [u64; 2],
    pub(crate) active: ActiveFile,
    pub(crate) index: Index,
    pub(crate) art: Art,
    pub(crate) derived: Derived,
    pub(crate) sealed: SealedHistory,
    pub(crate) expired: ExpiryStateFile,
    pub(crate) commit_sequence: u64,
    pub(crate) checkpointed: u64,
    pub(crate) is_poisoned: bool,
    pub(crate) notices: Vec<String>,
    pub(crate) taken_up: u64,
    pub(crate) lock: Lock,
    pub(crate) publisher: Option<Publisher>,
}

impl Spool {
    /// Takes the lock and opens the news directory; after a crash, replays what the derived files lack.
    pub fn open(dir: &Path, options: Options) -> Result<Spool, Error> {
        Spool::open_on(Arc::new(crate::io::disk::RealDisk), dir, options)
    }

    /// As [`Spool::open`], on another disk.
    pub fn open_on(disk: Arc<dyn Disk>, dir: &Path, options: Options) -> Result<Spool, Error> {
        if !dir.join("segments").is_dir() {
            return Err(Error::NotANewsDirectory(dir.to_owned()));
        }
        let lock = Lock::take(dir, options.patience)?;
        recover::open(disk, dir, options, lock)
    }

    /// As [`Spool::open`], with the lock taken already: by the daemon, which takes it without asking anybody.
    ///
    /// # Errors
    /// As [`Spool::open`].
    pub fn open_with(lock: Lock, dir: &Path, options: Options) -> Result<Spool, Error> {
        if !dir.join("segments").is_dir() {
            return Err(Error::NotANewsDirectory(dir.to_owned()));
        }
        let mut spool = recover::open(Arc::new(crate::io::disk::RealDisk), dir, options, lock)?;
        spool.mend_expired()?;
        Ok(spool)
    }

    /// Makes a damaged `expired` again from the log; who only reads cannot.
    pub(crate) fn mend_expired(&mut self) -> Result<(), Error> {
        self.expired.state()?;
        if self.expired.flush()? {
            self.notices
                .push("expired was damaged: made again from the log".into());
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

    /// What opening found and mended, in sentences for the administrator.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Articles that opening took up again from the log.
    pub fn taken_up(&self) -> u64 {
        self.taken_up
    }

    /// The news directory.
    pub fn dir(&self) -> &Path {
        &self.dir
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

    /// The article at a position; what waits for a commit is committed first. `None`: it is gone.
    pub fn read(&mut self, position: Position) -> Result<Option<StoredRecord>, Error> {
        if position.0 >= self.art.header.base + self.art.append.end {
            self.commit()?;
        }
        let segments = self.dir.join("segments");
        let bases = segment::list(&*self.disk, &segments)?;
        match read_record(&*self.disk, &segments, &bases, &Tables::default(), position) {
            Err(Error::NoArticle(_)) => Ok(None),
            read => read.map(Some),
        }
    }

    /// The cancelled articles.
    pub fn cancelled(&self) -> &Cancels {
        &self.derived.cancelled
    }

    /// The history line of an id, in_flight ones included.
    pub fn find(&self, id: &[u8]) -> Result<Option<HistoryLine<'_>>, Error> {
        Ok(self
            .text_of(id)?
            .and_then(first_line)
            .and_then(HistoryLine::parse))
    }

    /// True when an id was seen, filed or not.
    pub fn has(&self, id: &[u8]) -> Result<bool, Error> {
        match self.text_of(id) {
            Ok(found) => Ok(found.is_some()),
            Err(error) => has_unreadable_line(error),
        }
    }

    /// The history from the line of an id on.
    fn text_of(&self, id: &[u8]) -> Result<Option<&[u8]>, Error> {
        let mut found = None;
        let mut fault = None;
        let looked_up = self.index.find(id, |address| match self.text_at(address) {
            Ok(text) => {
                found = match sound_line(text, id) {
                    Ok(line) => line,
                    Err(Unreadable) => {
                        fault = Some(self.unreadable_line(address));
                        return true;
                    }
                };
                match found.map(|text| self.is_forgotten(text)) {
                    Some(Ok(true)) => found = None,
                    Some(Err(error)) => fault = Some(error),
                    _ => {}
                }
                found.is_some()
            }
            Err(error) => {
                fault = Some(error);
                true
            }
        });
        if matches!(looked_up, Err(Error::Damaged { .. })) {
            // Missing, it is made again when the spool is opened the next time.
            repair::remove_index(&*self.disk, &self.dir)?;
        }
        looked_up?;
        fault.map_or(Ok(found), Err)
    }

    /// Which line it is that cannot be read.
    fn unreadable_line(&self, address: u64) -> Error {
        let base = match address < self.art.header.base {
            true => self.sealed.base_of(address),
            false => self.art.header.base,
        };
        let path = segment_path(&self.dir.join("segments"), base, SegmentFile::His);
        Error::unreadable(&path, address - base)
    }

    /// True when expire lets the id of the first line of a text be forgotten: it may come again.
    pub(crate) fn is_forgotten(&self, text: &[u8]) -> Result<bool, Error> {
        let expired = self.expired.state()?;
        if expired.forget_before() == i64::MIN {
            return Ok(false);
        }
        let line = first_line(text).and_then(HistoryLine::parse);
        Ok(line.is_some_and(|line| expired.forgets(&line)))
    }

    pub(crate) fn text_at(&self, address: u64) -> Result<Option<&[u8]>, Error> {
        match address.checked_sub(self.art.header.base) {
            Some(offset) => Ok(self.derived.text_at(offset)),
            None => self.sealed.text_at(address),
        }
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
        if self.art.has_room(bytes) {
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
        if self.art.has_room(bytes) {
            return Ok(());
        }
        Err(Error::TooLarge {
            bytes,
            segment_bytes: self.art.header.span,
        })
    }

    /// Files an article: its record waits for the next commit, its id is known from now on.
    pub fn append(&mut self, filing: &Filing<'_>) -> Result<Position, Error> {
        self.make_room(filing.record_bytes_max())?;
        let commit = self.commit_of_record();
        let position = self.art.next_position();
        let offset = self.art.next() as u32;
        let laid = filing.push_record(self.art.pending.out(), position, commit);
        let line = self.art.pending.piece(laid.line_start, laid.line_length);
        let address = self.art.header.base + self.derived.next_line();
        self.derived
            .push_filed(line, filing.arrival, filing.expires);
        self.derived
            .rows
            .add(offset, filing.links.iter().copied(), |out| {
                push_row(out, &filing.overview, laid.bytes, u64::from(laid.lines));
            });
        if let Some(publisher) = &mut self.publisher {
            publisher.note(&self.active.table, filing.links.iter().copied());
        }
        self.remember_address(filing.id, address)?;
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
        self.make_room((id.len() + 256) as u64)?;
        let commit = self.commit_of_record();
        let mut line = Vec::with_capacity(id.len() + 32);
        push_seen(&mut line, id, (arrival, expires));
        record::push_text(self.art.pending.out(), Kind::Seen, commit, &line);
        let address = self.art.header.base + self.derived.next_line();
        self.derived.push_line(&line);
        self.remember_address(id, address)
    }

    /// Cancels the article at a position: it is no longer shown; its history line stays (C News's cancel).
    pub fn cancel(&mut self, position: Position, id: &[u8]) -> Result<(), Error> {
        self.make_room((id.len() + 256) as u64)?;
        let commit = self.commit_of_record();
        let mut text = Vec::with_capacity(id.len() + 32);
        Cancels::push_line(&mut text, position, id);
        record::push_text(self.art.pending.out(), Kind::Cancel, commit, &text);
        self.derived.push_cancel(position, id);
        Ok(())
    }

    /// Adds a group, or changes its flag. Waits for the next commit.
    pub fn set_group(&mut self, name: &[u8], flag: Flag<'_>) -> Result<(), Error> {
        self.set_groups(&[(name, flag)])
    }

    /// As [`Spool::set_group`] for several groups: what lies on the disk is looked through once for all of them.
    pub fn set_groups(&mut self, groups: &[(&[u8], Flag<'_>)]) -> Result<(), Error> {
        let is_fresh = |name: &[u8]| self.active.table.find(name).is_none();
        let mut highs: Vec<(&[u8], u64)> = groups
            .iter()
            .filter(|(name, _)| is_fresh(name))
            .map(|(name, _)| (*name, 0))
            .collect();
        if !highs.is_empty() {
            // They may have been there before: their numbers are not given again.
            self.commit()?;
            self.each_block(|block| {
                for (name, high) in &mut highs {
                    let rows = block.find(name);
                    *high = rows.map_or(*high, |rows| rows.last_number().max(*high));
                }
            })?;
        }
        for (name, flag) in groups {
            let known = highs.iter().find(|(fresh, _)| fresh == name);
            let high = match known {
                Some((_, high)) => self.expired.state()?.highest(name).max(*high),
                None => 0,
            };
            self.log_group(name, *flag, high)?;
        }
        Ok(())
    }

    fn log_group(&mut self, name: &[u8], flag: Flag<'_>, high: u64) -> Result<(), Error> {
        self.make_room((name.len() + 512) as u64)?;
        recover::apply_group(&mut self.active.table, name, (high, 1), Some(flag))?;
        let table = &self.active.table;
        let Some(id) = table.find(name) else {
            return Ok(());
        };
        let mut text = [b"+ ", name, b" "].concat();
        article::decimal::push(&mut text, table.high(id));
        text.push(b' ');
        article::decimal::push(&mut text, table.low(id));
        text.push(b' ');
        flag.push(&mut text);
        text.push(b'\n');
        self.log_text(Kind::Group, &text);
        Ok(())
    }

    /// Removes a group from active. Its articles stay until they expire. Waits for the next commit.
    pub fn remove_group(&mut self, name: &[u8]) -> Result<(), Error> {
        self.make_room((name.len() + 512) as u64)?;
        recover::apply_group(&mut self.active.table, name, (0, 1), None)?;
        self.log_text(Kind::Group, &[b"- ", name, b"\n"].concat());
        Ok(())
    }

    /// Every block of overview rows of every segment. Rows that wait for a commit are not among them.
    pub(crate) fn each_block(&self, mut each: impl FnMut(&Block<'_>)) -> Result<(), Error> {
        let segments = self.dir.join("segments");
        for base in segment::list(&*self.disk, &segments)? {
            let Some(file) = segment::open_view(&*self.disk, &segments, base, SegmentFile::Ovr)?
            else {
                continue;
            };
            let path = segment_path(&segments, base, SegmentFile::Ovr);
            let at = |source| Error::io(segment::REMAKE, &path, source);
            let map = file
                .length()
                .and_then(|length| file.map(length))
                .map_err(at)?;
            overview::blocks(map.bytes()).for_each(|block| each(&block));
            if let Some(offset) = map.unreadable_from() {
                return Err(Error::unreadable(&path, offset));
            }
        }
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

    /// Logs the whole active file, so that a rebuild need not go back beyond this segment.
    pub(crate) fn log_active(&mut self) {
        if !self.active.table.bad_lines().is_empty() {
            // The last good copy is what a repair needs.
            return;
        }
        let image = self.active.table.image().to_vec();
        if (image.len() as u64) < self.art.header.span / SNAPSHOT_PART {
            self.log_text(Kind::Active, &image);
        }
    }

    pub(crate) fn remember_address(&mut self, id: &[u8], address: u64) -> Result<(), Error> {
        let oldest = self.oldest_for_insert();
        if self.index.insert(id, address, oldest)? {
            return Ok(());
        }
        // The new line is among the waiting ones, so growing puts it in. Where it cannot, the id would not be found.
        let grown = self.grow_index();
        self.is_poisoned |= grown.is_err();
        grown
    }

    fn oldest_for_insert(&self) -> u64 {
        // Listing the segments is put off until something else needs it; slots are re-used from then on.
        self.sealed.oldest_if_known()
    }

    /// Makes a larger index from the history lines.
    pub(crate) fn grow_index(&mut self) -> Result<(), Error> {
        // By two fifths: from 16 bytes an id down to 11, then again. A small one doubles: growing reads every
        // history line, and a few megabytes do not matter.
        let used = self.index.used();
        let expected = if used < SMALL_IDS {
            used * 2
        } else {
            used / 5 * 7
        };
        let mut fresh = self.build_index(expected)?;
        if fresh.used() * 4 < fresh.slots() && fresh.slots() > SMALL_SLOTS {
            // Most were forgotten, or of segments that are gone.
            fresh = self.build_index(fresh.used() * 2)?;
        }
        self.take_index(fresh)
    }

    /// Goes on with a larger index, or one made anew.
    fn take_index(&mut self, mut fresh: Index) -> Result<(), Error> {
        fresh.inherit(&self.index);
        // While this one is being made others must not see it, nor the next.
        if self.index.is_placed() {
            fresh.publish(&*self.disk)?;
        }
        self.index = fresh;
        self.publish_files();
        Ok(())
    }

    fn build_index(&self, expected: u64) -> Result<Index, Error> {
        let key = *self.index.key()?;
        // After damage the current segment's file may end before the mark, and no further is its map looked at. Its lines are put in
        // when it is made again.
        let is_whole = self.derived.his.length()? >= self.derived.his.end;
        let path = self.dir.join(index::FILE);
        Index::of_lines(&*self.disk, &path, (key, expected), |put| {
            let mut put = |address, line: &[u8]| match self.is_forgotten(line)? {
                true => Ok(()),
                false => put(address, line),
            };
            self.sealed.each_line(&mut put)?;
            if is_whole {
                for (offset, line) in self.derived.lines() {
                    put(self.art.header.base + offset, line)?;
                }
            }
            Ok(())
        })
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
        if self.expired.flush()? {
            self.publish_files();
        }
        self.index
            .set_active_identity(self.active.identity()?, self.active.table.checksum());
        self.index
            .set_synced(self.options.durability != Durability::None);
        self.index.set_applied(&self.mark(), self.boot);
        self.publish_commit();
        Ok(())
    }

    fn mark(&self) -> Watermark {
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
        if self.options.durability == Durability::None {
            self.art.append.sync()?;
        }
        self.derived.sync()?;
        self.active.sync()?;
        self.index.set_checkpoint(&self.mark())?;
        self.checkpointed = self.art.append.end;
        Ok(())
    }

    /// Ends the current segment and begins the next. Nothing may wait for a commit.
    pub fn seal(&mut self) -> Result<(), Error> {
        self.is_poisoned = true;
        self.derived.merge_overview(&*self.disk)?;
        self.checkpoint()?;
        let old = self.art.header;
        let header = SegmentHeader::plain(old.base + old.span, self.options.segment_bytes);
        if header.base + header.span > POSITION_MAX {
            return Err(Error::TooLarge {
                bytes: header.base,
                segment_bytes: header.span,
            });
        }
        let segments = self.dir.join("segments");
        segment::create(&*self.disk, &segments, header)?;
        self.enter(&segments, header)?;
        self.is_poisoned = false;
        self.log_state()
    }

    /// Makes a freshly made segment the current one.
    fn enter(&mut self, segments: &Path, header: SegmentHeader) -> Result<(), Error> {
        let mark = Watermark {
            base: header.base,
            art_end: SEGMENT_HEADER_BYTES,
            his_end: 0,
            ovr_end: 0,
            exp_end: 0,
            newest: 0,
            ..self.mark()
        };
        self.art = Art::open(&self.disk, segments, header.base, mark.art_end)?;
        self.derived = Derived::open(&*self.disk, &self.dir, header, &mark)?;
        self.sealed = SealedHistory::new(self.disk.clone(), segments, header.base);
        self.checkpointed = mark.art_end;
        self.index.set_applied(&self.mark(), self.boot);
        self.publish_commit();
        Ok(())
    }

    /// How full the index is: slots used, slots in all, bytes of its file.
    pub fn index_size(&self) -> (u64, u64, u64) {
        (
            self.index.used(),
            self.index.slots(),
            self.index.file_bytes(),
        )
    }

    /// Throws the index away and makes it again from the history lines.
    pub fn rebuild_index(&mut self) -> Result<u64, Error> {
        let fresh = self.build_index(self.index.used())?;
        let ids = fresh.used();
        self.take_index(fresh)?;
        self.publish_commit();
        Ok(ids)
    }
}

/// True when a text begins with the line of `id`. The id ends at the first tab.
pub(crate) fn is_line_of(text: &[u8], id: &[u8]) -> bool {
    text.get(id.len()) == Some(&b'\t')
        && text
            .get(..id.len())
            .is_some_and(|told| message_id::same(told, id))
}

/// The first line of a text, without its newline.
pub(crate) fn first_line(text: &[u8]) -> Option<&[u8]> {
    text.get(..memchr::memchr(b'\n', text).unwrap_or(text.len()))
}
