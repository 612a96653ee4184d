//! The index: message-id to history line, one mapped hash table, derived from the `.his` files.
//!
//! A slot is 8 bytes: 16 bits of the id's hash and 48 bits of the *address* of its history line (the base of
//! its segment plus the offset in `.his`; see docs/formats/index.md). Eight slots, one cache line, make a
//! bucket; a full bucket overflows into the next ones. No slot is ever emptied: a slot whose
//! address is below the oldest remaining history is stale and is used again. A hit is only a hint, accepted after
//! the line's id compares equal.
//!
//! A secret key ([`crate::index::key`]) hashes the ids, so that strangers cannot choose ids that fill one bucket. Even with a
//! crowded bucket, the table grows only when it is full as a whole: its size depends on the number of ids only.

pub mod key;
pub(crate) mod removal;
pub(crate) mod watermark;

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use article::message_id::HashKey;

use crate::io::disk::{Disk, File, Open, RunId};
use crate::io::map::{MapWords, is_unreadable};
use crate::io::replace::fresh_path;
use crate::{Error, index::watermark::Watermark};

/// The file in the news directory.
pub const FILE: &str = "index";
/// Slots in a bucket: a cache line of 64 bytes.
pub const BUCKET_SLOTS: u64 = 8;
/// Buckets of a new table: 256 KiB, room for 24,000 ids.
pub const BUCKETS_MIN: u64 = 4096;
/// The table grows when this many of 100 slots are used. Above it the runs of full buckets grow long.
pub const LOAD_PERCENT_MAX: u64 = 75;
/// Fill of a new table with the expected ids, percent.
const LOAD_PERCENT_EXPECTED: u64 = 70;

const HEADER_WORDS: usize = 512;
const MAGIC: u64 = u64::from_le_bytes(*b"BSindex1");
const ADDRESS_BITS: u32 = 48;
const ADDRESS_MASK: u64 = (1 << ADDRESS_BITS) - 1;

// Words of the header.
const WORD_MAGIC: usize = 0;
const WORD_BUCKETS: usize = 1;
const WORD_CHECK: usize = 2;
const WORD_USED: usize = 3;
const WORD_BOOT: usize = 4;
const WORD_ACTIVE: usize = 6;
const WORD_SYNCED: usize = 9;
const WORD_DOUBT: usize = 10;
const WORD_ACTIVE_SUM: usize = 11;
const WORD_MOUNTS: usize = 12;
const WORD_REPLAYED: usize = 14;
const WORD_APPLIED: usize = 16;
const WORD_CHECKPOINT: usize = 32;
const WORD_KEY_CHECK: usize = HEADER_WORDS - 1;
/// Attempts to read a watermark that the writer does not change meanwhile: writing one takes nanoseconds, and commits are rarer.
const MARK_READS_MAX: u32 = 1_000;

/// The hash of an id with the key of the index: computed once, for the look-up and for the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IdHash(u64);

impl IdHash {
    /// Hashes an id.
    pub fn new(key: &HashKey, id: &[u8]) -> IdHash {
        IdHash(key.hash(id))
    }
}

/// The mapped table.
#[derive(Debug)]
pub struct Index {
    path: PathBuf,
    file: Box<dyn File>,
    map: MapWords,
    buckets: u64,
    /// It has its final name, so that other programs may open it.
    placed: bool,
    /// `None` if this user may not read it, or it was not read yet.
    key: Option<HashKey>,
}

impl Index {
    /// Makes a table of history lines under a temporary name; [`Index::publish`] gives it its final name. `each_line` calls its argument
    /// for each line with its address. Without a number of expected ids, the lines are counted first. After an error it removes the table.
    pub fn of_lines(
        disk: &dyn Disk,
        path: &Path,
        (key, ids_expected): (HashKey, Option<u64>),
        each_line: impl Fn(&mut dyn FnMut(u64, &[u8]) -> Result<(), Error>) -> Result<(), Error>,
    ) -> Result<Index, Error> {
        let mut ids_expected = match ids_expected {
            Some(expected) => expected,
            None => {
                let mut lines = 0;
                each_line(&mut |_, _| {
                    lines += 1;
                    Ok(())
                })?;
                lines
            }
        };
        let mut make = || loop {
            let fresh = Index::create(disk, path, key, ids_expected)?;
            let mut full = false;
            each_line(&mut |address, line| {
                if let Some(id) = line.split(|&b| b == b'\t').next() {
                    full = full || !fresh.insert(id, address, 0)?;
                }
                Ok(())
            })?;
            if !full {
                return Ok(fresh);
            }
            ids_expected = ids_expected.saturating_mul(2).max(fresh.slots());
        };
        unfinished_removed(disk, path, make())
    }

    /// Creates an empty table under a temporary name.
    fn create(
        disk: &dyn Disk,
        path: &Path,
        key: HashKey,
        ids_expected: u64,
    ) -> Result<Index, Error> {
        let slots = ids_expected.saturating_mul(100) / LOAD_PERCENT_EXPECTED;
        let buckets = (slots / BUCKET_SLOTS + 1).max(BUCKETS_MIN);
        let fresh = fresh_path(path);
        let at = |doing| move |source| Error::io(doing, path, source);
        // A table that was begun before may still be mapped by this program.
        match disk.remove(&fresh) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(at("make")(error));
            }
            _ => {}
        }
        let file = disk.open(&fresh, Open::Truncate).map_err(at("make"))?;
        let length = file_length(buckets);
        file.allocate(length).map_err(at("extend"))?;
        let map = file.map_words(length).map_err(at("map"))?;
        let index = Index {
            path: path.to_owned(),
            file,
            map,
            buckets,
            placed: false,
            key: Some(key),
        };
        index.set(WORD_BUCKETS, buckets);
        index.set(WORD_CHECK, header_check(buckets));
        index.set(WORD_KEY_CHECK, key::check(&key));
        index.set(WORD_MAGIC, MAGIC);
        Ok(index)
    }

    /// Gives a table made by [`Index::of_lines`] its final name, durably.
    pub fn publish(&mut self, disk: &dyn Disk) -> Result<(), Error> {
        let path = &self.path;
        let at = |doing| move |source| Error::io(doing, path, source);
        let placed = self.file.sync().map_err(at("sync")).and_then(|()| {
            disk.rename(&fresh_path(path), path)
                .map_err(at("put in place"))
        });
        unfinished_removed(disk, path, placed)?;
        self.placed = true;
        let parent = path.parent().unwrap_or(Path::new("."));
        disk.sync_directory(parent)
            .map_err(at("sync the directory of"))
    }

    /// Removes the file of a table without its final name, after an error.
    pub fn abandon(&self, disk: &dyn Disk) {
        if !self.placed {
            let _ = disk.remove(&fresh_path(&self.path));
        }
    }

    /// Opens the table for look-ups. The key is the `known` one if the table was made with it, else that of the news directory;
    /// if this user may not read it, only look-ups of ids fail. Returns `None` if the table must be made again.
    pub fn open_to_read(
        disk: &dyn Disk,
        dir: &Path,
        known: Option<HashKey>,
    ) -> Result<Option<Index>, Error> {
        let Some(mut index) = Index::open(disk, &dir.join(FILE), Open::Read)? else {
            return Ok(None);
        };
        index.key = match known.filter(|key| index.is_made_with(key)) {
            Some(key) => Some(key),
            None => match key::read(disk, dir) {
                Err(Error::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
                    return Ok(Some(index));
                }
                key => key?.filter(|key| index.is_made_with(key)),
            },
        };
        Ok(Some(index).filter(|index| index.key.is_some()))
    }

    /// Opens the table. Look-ups work when it [has its key](Index::set_key). Returns `None` if it is missing or its header is damaged, so that it must be made again.
    pub fn open(disk: &dyn Disk, path: &Path, how: Open) -> Result<Option<Index>, Error> {
        let at = |doing| move |source| Error::io(doing, path, source);
        let file = match disk.open(path, how) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(at("open")(error)),
        };
        let length = file.length().map_err(at("read"))?;
        if length < file_length(BUCKETS_MIN) || !length.is_multiple_of(64) {
            return Ok(None);
        }
        let buckets = (length - (HEADER_WORDS as u64) * 8) / 64;
        let map = file.map_words(length).map_err(at("map"))?;
        let index = Index {
            path: path.to_owned(),
            file,
            map,
            buckets,
            placed: true,
            key: None,
        };
        let sound = index.get(WORD_MAGIC) == MAGIC
            && index.get(WORD_BUCKETS) == buckets
            && index.get(WORD_CHECK) == header_check(buckets)
            && index.used() <= index.slots();
        Ok(sound.then_some(index))
    }

    /// Whether it has its final name: other programs may open it.
    pub fn is_placed(&self) -> bool {
        self.placed
    }

    /// Whether the ids in the table were hashed with this key.
    pub fn is_made_with(&self, key: &HashKey) -> bool {
        self.get(WORD_KEY_CHECK) == key::check(key)
    }

    /// Sets its key.
    pub fn set_key(&mut self, key: HashKey) {
        self.key = Some(key);
    }

    /// Its key.
    ///
    /// # Errors
    /// This user may not read it.
    pub fn key(&self) -> Result<&HashKey, Error> {
        self.key.as_ref().ok_or_else(|| {
            let dir = self.path.parent().unwrap_or(Path::new("."));
            let denied = ErrorKind::PermissionDenied.into();
            Error::io("read", &key::path(dir), denied)
        })
    }

    /// Whether the file with that name is this one: a larger index may have replaced it.
    pub fn is_at(&self, disk: &dyn Disk, path: &Path) -> bool {
        let inode = |file: &dyn File| file.identity().map(|[.., inode]| inode);
        let there = disk.open(path, Open::Read).and_then(|file| inode(&*file));
        matches!((there, inode(&*self.file)), (Ok(there), Ok(here)) if there == here)
    }

    fn words(&self) -> &[AtomicU64] {
        self.map.words()
    }

    fn get(&self, word: usize) -> u64 {
        self.words()
            .get(word)
            .map_or(0, |w| w.load(Ordering::Acquire))
    }

    fn set(&self, word: usize, value: u64) {
        if let Some(place) = self.words().get(word) {
            place.store(value, Ordering::Release);
        }
    }

    fn bucket(&self, number: u64) -> &[AtomicU64] {
        let start = HEADER_WORDS + (number * BUCKET_SLOTS) as usize;
        self.words()
            .get(start..start + BUCKET_SLOTS as usize)
            .unwrap_or_default()
    }

    fn probe(&self, hash: u64) -> impl Iterator<Item = &[AtomicU64]> {
        let first = ((u128::from(hash) * u128::from(self.buckets)) >> 64) as u64;
        (0..self.buckets).map(move |step| {
            let number = first + step;
            self.bucket(if number < self.buckets {
                number
            } else {
                number - self.buckets
            })
        })
    }

    /// Checks the addresses that may belong to an id; usually none or one. `believe` returns whether the line there has the id.
    ///
    /// # Errors
    /// This user may not read the key, or the disk cannot read the bucket.
    pub fn find(&self, id: &[u8], believe: impl FnMut(u64) -> bool) -> Result<Option<u64>, Error> {
        self.find_hashed(self.hash(id)?, believe)
    }

    /// The hash of an id.
    ///
    /// # Errors
    /// This user may not read the key.
    pub fn hash(&self, id: &[u8]) -> Result<IdHash, Error> {
        Ok(IdHash::new(self.key()?, id))
    }

    /// As [`Index::find`], for an id that was hashed already.
    ///
    /// # Errors
    /// The disk cannot read the bucket.
    pub fn find_hashed(
        &self,
        IdHash(hash): IdHash,
        believe: impl FnMut(u64) -> bool,
    ) -> Result<Option<u64>, Error> {
        match self.find_hash(hash, believe) {
            None if self.is_unreadable(hash) => {
                let offset = self.map.unreadable_from().unwrap_or(0);
                Err(Error::unreadable(&self.path, offset))
            }
            found => Ok(found),
        }
    }

    fn find_hash(&self, hash: u64, mut believe: impl FnMut(u64) -> bool) -> Option<u64> {
        let tag = hash & 0xffff;
        for bucket in self.probe(hash) {
            for slot in bucket {
                let value = slot.load(Ordering::Relaxed);
                // Slots are filled in order and never emptied: after a free one all are free.
                if value == 0 {
                    return None;
                }
                if value >> ADDRESS_BITS == tag && believe(value & ADDRESS_MASK) {
                    return Some(value & ADDRESS_MASK);
                }
            }
        }
        None
    }

    /// Whether the disk cannot read the place of this hash: then the result of a look-up or insertion is invalid. Call it
    /// afterwards.
    fn is_unreadable(&self, hash: u64) -> bool {
        if self.map.unreadable_from().is_none() {
            return false;
        }
        for bucket in self.probe(hash) {
            if is_unreadable(bucket) {
                return true;
            }
            if bucket.iter().any(|slot| slot.load(Ordering::Relaxed) == 0) {
                break;
            }
        }
        false
    }

    /// Inserts the address of an id. `oldest`: addresses below it are stale. Returns false if the table must grow first.
    ///
    /// # Errors
    /// As [`Index::find`].
    pub fn insert(&self, id: &[u8], address: u64, oldest: u64) -> Result<bool, Error> {
        Ok(self.insert_hashed(self.hash(id)?, address, oldest))
    }

    /// As [`Index::insert`], for an id that was hashed already.
    pub fn insert_hashed(&self, IdHash(hash): IdHash, address: u64, oldest: u64) -> bool {
        // An unreadable bucket cannot store anything either.
        self.insert_hash(hash, address, oldest) && !self.is_unreadable(hash)
    }

    fn insert_hash(&self, hash: u64, address: u64, oldest: u64) -> bool {
        let used = self.get(WORD_USED);
        if used * 100 >= self.buckets * BUCKET_SLOTS * LOAD_PERCENT_MAX {
            return false;
        }
        let fresh = (hash << ADDRESS_BITS) | (address & ADDRESS_MASK);
        for bucket in self.probe(hash) {
            for slot in bucket {
                let value = slot.load(Ordering::Relaxed);
                if value == 0 || (value & ADDRESS_MASK) < oldest {
                    slot.store(fresh, Ordering::Relaxed);
                    if value == 0 {
                        self.set(WORD_USED, used + 1);
                    }
                    return true;
                }
                if value == fresh {
                    return true;
                }
            }
        }
        false
    }

    /// Slots in use, including stale ones.
    pub fn used(&self) -> u64 {
        self.get(WORD_USED)
    }

    /// Total number of slots.
    pub fn slots(&self) -> u64 {
        self.buckets * BUCKET_SLOTS
    }

    /// Bytes of the file.
    pub fn file_bytes(&self) -> u64 {
        file_length(self.buckets)
    }

    /// The applied watermark of this run of the machine: how far the derived files reach. `None` if it was not set since the boot, and
    /// since the mount.
    pub fn applied(&self, run: RunId) -> Option<Watermark> {
        let is_known = self.is_of(run) && !self.is_doubted(run);
        is_known.then(|| self.mark(WORD_APPLIED))?
    }

    /// Whether the applied watermark was set in this run of the machine, and since the mount.
    pub fn is_of(&self, run: RunId) -> bool {
        self.is_of_boot(run) && self.pair(WORD_MOUNTS) == run.mounts
    }

    /// Whether the applied watermark was set in this run of the machine, perhaps before the mount.
    pub fn is_of_boot(&self, run: RunId) -> bool {
        run.boot != [0, 0] && self.pair(WORD_BOOT) == run.boot
    }

    fn pair(&self, word: usize) -> [u64; 2] {
        [self.get(word), self.get(word + 1)]
    }

    /// Whether a sync of the derived files, of which this is one, failed or was interrupted in this run of the machine: its
    /// data may be readable and never reach the disk.
    pub fn is_doubted(&self, run: RunId) -> bool {
        self.is_of_boot(run) && self.get(WORD_DOUBT) == 1
    }

    /// Records whether the derived files are in doubt.
    pub fn set_doubted(&self, is_doubted: bool) {
        self.set(WORD_DOUBT, u64::from(is_doubted));
    }

    /// The first end of the log that a replay left since [`Index::forget_replay`], as a position.
    pub fn replayed_to(&self) -> Option<u64> {
        Some(self.get(WORD_REPLAYED)).filter(|&end| end != 0)
    }

    /// Records that a replay left the log with this end.
    pub fn note_replay(&self, end: u64) {
        let first = self.replayed_to().map_or(end, |before| before.min(end));
        self.set(WORD_REPLAYED, first);
    }

    /// Forgets the replays: what reaches beyond the end was moved back to it.
    pub fn forget_replay(&self) {
        self.set(WORD_REPLAYED, 0);
    }

    /// How far readers may read: the applied watermark, whatever the boot.
    pub fn published(&self) -> Option<Watermark> {
        self.mark(WORD_APPLIED)
    }

    /// How far `.art` is known to be on the disk, whatever the boot.
    pub fn synced(&self) -> Option<Watermark> {
        self.checkpoint()
            .into_iter()
            .chain(self.published().filter(|_| self.get(WORD_SYNCED) == 1))
            .max_by_key(|mark| (mark.base, mark.art_end))
    }

    /// Records whether `.art` is synced before the applied watermark is set, from now on.
    pub fn set_synced(&self, is_synced: bool) {
        self.set(WORD_SYNCED, u64::from(is_synced));
    }

    /// How far the derived files are known to be on the disk.
    pub fn checkpoint(&self) -> Option<Watermark> {
        self.mark(WORD_CHECKPOINT)
    }

    fn mark(&self, word: usize) -> Option<Watermark> {
        let read = || {
            let mut words = [0; 2 * Watermark::WORDS];
            for (value, offset) in words.iter_mut().zip(word..) {
                *value = self.get(offset);
            }
            words
        };
        // Two places are written alternately, so one of them is always complete. But while one was read, the writer may have begun the
        // next mark in the other: only when nothing has changed is the newer one of the two the newest.
        let mut words = read();
        for _ in 0..MARK_READS_MAX {
            let again = read();
            if again == words {
                break;
            }
            words = again;
        }
        let (places, _) = words.as_chunks();
        let marks = places.iter().filter_map(Watermark::from_words);
        marks.max_by_key(|mark| mark.sequence)
    }

    fn set_mark(&self, word: usize, mark: &Watermark) {
        let sequence = self.mark(word).map_or(0, |mark| mark.sequence) + 1;
        let place = word + (sequence as usize % 2) * Watermark::WORDS;
        // The check word is written last.
        for (offset, value) in (place..).zip(Watermark { sequence, ..*mark }.to_words()) {
            self.set(offset, value);
        }
    }

    /// Publishes the applied watermark.
    pub fn set_applied(&self, mark: &Watermark, RunId { boot, mounts }: RunId) {
        self.set_mark(WORD_APPLIED, mark);
        for (word, [first, second]) in [(WORD_BOOT, boot), (WORD_MOUNTS, mounts)] {
            self.set(word, first);
            self.set(word + 1, second);
        }
    }

    /// Records that everything up to `mark` is on the disk: syncs the table before and after.
    pub fn set_checkpoint(&self, mark: &Watermark) -> Result<(), Error> {
        let sync = || {
            self.file
                .sync()
                .map_err(|source| Error::io("sync", &self.path, source))
        };
        sync()?;
        self.set_mark(WORD_CHECKPOINT, mark);
        sync()
    }

    /// The identity of active after the last write by this program.
    pub fn active_identity(&self) -> [u64; 3] {
        [
            self.get(WORD_ACTIVE),
            self.get(WORD_ACTIVE + 1),
            self.get(WORD_ACTIVE + 2),
        ]
    }

    /// Whether the text of active had this checksum after the last write by this program.
    pub fn had_active_sum(&self, sum: u64) -> bool {
        self.get(WORD_ACTIVE_SUM) == (sum | 1)
    }

    /// Records the identity of active after a write, and the checksum of its text.
    pub fn set_active_identity(&self, identity: [u64; 3], sum: u64) {
        for (word, value) in (WORD_ACTIVE..).zip(identity) {
            self.set(word, value);
        }
        self.set(WORD_ACTIVE_SUM, sum | 1);
    }

    /// Copies everything except the slots from an older table.
    pub fn inherit(&self, sealed: &Index) {
        for word in WORD_BOOT..WORD_KEY_CHECK {
            self.set(word, sealed.get(word));
        }
    }
}

/// Removes the file of a failed creation: the disk may be full because of it. The next start removes a remaining one.
fn unfinished_removed<T>(disk: &dyn Disk, path: &Path, done: Result<T, Error>) -> Result<T, Error> {
    if done.is_err() {
        let _ = disk.remove(&fresh_path(path));
    }
    done
}

fn file_length(buckets: u64) -> u64 {
    HEADER_WORDS as u64 * 8 + buckets * BUCKET_SLOTS * 8
}

fn header_check(buckets: u64) -> u64 {
    u64::from(crc32c::crc32c(&buckets.to_le_bytes())) | (1 << 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: RunId = RunId {
        boot: [1, 1],
        mounts: [3, 3],
    };
    use crate::io::disk::RealDisk;

    fn spread(n: u64) -> u64 {
        let mut x = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn key() -> HashKey {
        HashKey::new([7; HashKey::BYTES])
    }

    fn table() -> (tempfile::TempDir, Index) {
        let dir = tempfile::tempdir().unwrap();
        let index = Index::create(&RealDisk, &dir.path().join(FILE), key(), 0).unwrap();
        (dir, index)
    }

    #[test]
    fn holds_what_it_is_given_until_it_is_full() {
        let (_dir, index) = table();
        let mut count = 0;
        while index.insert_hash(spread(count), count + 4096, 0) {
            count += 1;
        }
        assert_eq!(count, index.slots() * LOAD_PERCENT_MAX / 100);
        for n in 0..count {
            assert_eq!(
                index.find_hash(spread(n), |address| address == n + 4096),
                Some(n + 4096)
            );
        }
        assert_eq!(index.find_hash(spread(count + 1), |_| false), None);
    }

    #[test]
    fn a_reader_never_sees_an_older_mark_than_was_published() {
        let (_dir, index) = table();
        let published = AtomicU64::new(0);
        let last = 300_000;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for art_end in 1..=last {
                    let mark = Watermark {
                        sequence: 0,
                        base: 4096,
                        art_end,
                        his_end: 0,
                        ovr_end: 0,
                        cancels_end: 0,
                        exp_end: 0,
                        newest: 0,
                    };
                    index.set_applied(&mark, RUN);
                    published.store(art_end, Ordering::Release);
                }
            });
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut sure = 0;
                    while sure < last {
                        sure = published.load(Ordering::Acquire);
                        let seen = index.published().map_or(0, |mark| mark.art_end);
                        assert!(seen >= sure, "{seen} {sure}");
                    }
                });
            }
        });
    }

    #[test]
    fn equal_hashes_spill_and_the_table_stays_as_it_is() {
        let (_dir, index) = table();
        for n in 0..10_000 {
            assert!(index.insert_hash(7 << 40, n + 4096, 0), "{n}");
        }
        for n in (0..10_000).step_by(97) {
            let found = index.find_hash(7 << 40, |address| address == n + 4096);
            assert_eq!(found, Some(n + 4096));
        }
        // Below half of its load it takes more of any kind.
        assert!(index.used() * 2 < index.slots());
        assert!(index.insert_hash(u64::MAX, 1, 0) && index.insert_hash(u64::MAX, 2, 0));
        assert_eq!(index.find_hash(u64::MAX, |address| address == 2), Some(2));
    }

    #[test]
    fn without_the_key_no_id_is_found_and_it_is_said_why() {
        let (dir, mut index) = table();
        index.publish(&RealDisk).unwrap();
        let path = dir.path().join(FILE);
        let mut index = Index::open(&RealDisk, &path, Open::Write).unwrap().unwrap();
        let error = index.find(b"<1@a>", |_| true).unwrap_err();
        assert!(error.to_string().contains("index.key"), "{error}");
        assert!(index.is_made_with(&key()));
        assert!(!index.is_made_with(&HashKey::new([8; HashKey::BYTES])));
        index.set_key(key());
        assert!(index.insert(b"<1@a>", 4096, 0).unwrap());
        assert_eq!(index.find(b"<1@A>", |_| true).unwrap(), Some(4096));
        assert_eq!(index.find(b"<2@a>", |_| true).unwrap(), None);
    }

    #[test]
    fn what_fails_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        let made = Index::of_lines(&RealDisk, &path, (key(), Some(9)), |_| Err(Error::Stopped));
        assert!(made.is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn stale_slots_are_used_again() {
        let (_dir, index) = table();
        for n in 0..20_000 {
            assert!(index.insert_hash(spread(n), n + 4096, 0));
        }
        let used = index.used();
        for n in 20_000..24_000 {
            assert!(index.insert_hash(spread(n), n + 4096, 4096 + 20_000));
        }
        assert!(index.used() < used + 1000, "{} {used}", index.used());
        for n in 20_000..24_000 {
            assert!(
                index
                    .find_hash(spread(n), |address| address == n + 4096)
                    .is_some()
            );
        }
    }

    #[test]
    fn a_damaged_header_is_noticed() {
        let (dir, mut index) = table();
        index.publish(&RealDisk).unwrap();
        let path = dir.path().join(FILE);
        assert!(
            Index::open(&RealDisk, &path, Open::Write)
                .unwrap()
                .is_some()
        );
        index.set(WORD_BUCKETS, 5);
        assert!(
            Index::open(&RealDisk, &path, Open::Write)
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn marks_are_whole_or_not_there() {
        let (_dir, index) = table();
        assert_eq!(index.applied(RUN), None);
        let mark = Watermark {
            sequence: 0,
            base: 4096,
            art_end: 64,
            his_end: 1,
            ovr_end: 2,
            cancels_end: 3,
            exp_end: 4,
            newest: 5,
        };
        index.set_applied(&mark, RUN);
        index.set_applied(
            &Watermark {
                art_end: 128,
                ..mark
            },
            RUN,
        );
        assert_eq!(index.applied(RUN).unwrap().art_end, 128);
        let booted = RunId {
            boot: [1, 2],
            ..RUN
        };
        assert!(index.applied(booted).is_none() && !index.is_of_boot(booted));
        let mounted = RunId {
            mounts: [3, 4],
            ..RUN
        };
        assert!(index.applied(mounted).is_none() && index.is_of_boot(mounted));
        // The newer one torn: the older one counts.
        index.set(WORD_APPLIED + 2, 999);
        assert_eq!(index.applied(RUN).unwrap().art_end, 64);
    }
}
