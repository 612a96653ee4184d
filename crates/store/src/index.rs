//! The index: message-id to history line, one mapped hash table, derived from the `.his` files.
//!
//! A slot is 8 bytes: 16 bits of the id's hash and 48 bits of the *address* of its history line (the base of
//! its segment plus the offset in `.his`; see docs/formats/index.md). Eight slots, one cache line, make a
//! bucket; a full bucket overflows into the next ones, [`PROBES_MAX`] at most. Nothing is ever taken out: a slot whose
//! address lies below the oldest history kept is stale and is used again. A hit is only a hint, believed after
//! the line's id compares equal.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::disk::{Disk, File, Open};
use crate::map::{MapWords, is_unreadable};
use crate::{Error, mark::Mark};

/// Slots in a bucket: a cache line of 64 bytes.
pub const BUCKET_SLOTS: u64 = 8;
/// Buckets looked at for one id before the table counts as full.
pub const PROBES_MAX: u64 = 64;
/// Buckets of a new table: 256 KiB, room for 24,000 ids.
pub const BUCKETS_MIN: u64 = 4096;
/// The table grows when this many of 100 slots are used. Above it the runs of full buckets grow long.
pub const LOAD_PERCENT_MAX: u64 = 75;
/// A new table is made so that the ids expected fill this many of 100 slots.
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
const WORD_APPLIED: usize = 16;
const WORD_CHECKPOINT: usize = 32;

/// The mapped table.
#[derive(Debug)]
pub struct Index {
    path: PathBuf,
    file: Box<dyn File>,
    map: MapWords,
    buckets: u64,
    /// It has its own name, so that others may open it.
    placed: bool,
}

impl Index {
    /// Makes an empty table under a temporary name; [`Index::publish`] gives it its own.
    pub fn create(disk: &dyn Disk, path: &Path, ids_expected: u64) -> Result<Index, Error> {
        let slots = ids_expected.saturating_mul(100) / LOAD_PERCENT_EXPECTED;
        let buckets = (slots / BUCKET_SLOTS + 1).max(BUCKETS_MIN);
        let fresh = path.with_extension("new");
        let at = |doing| move |source| Error::io(doing, path, source);
        // What was begun before may be mapped still, by this program.
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
        };
        index.set(WORD_BUCKETS, buckets);
        index.set(WORD_CHECK, header_check(buckets));
        index.set(WORD_MAGIC, MAGIC);
        Ok(index)
    }

    /// Puts a table made by [`Index::create`] in its place, durably.
    pub fn publish(&mut self, disk: &dyn Disk) -> Result<(), Error> {
        let path = &self.path;
        let at = |doing| move |source| Error::io(doing, path, source);
        let fresh = path.with_extension("new");
        let placed = self
            .file
            .sync()
            .map_err(at("sync"))
            .and_then(|()| disk.rename(&fresh, path).map_err(at("put in place")));
        if placed.is_err() {
            let _ = disk.remove(&fresh);
            return placed;
        }
        self.placed = true;
        let parent = path.parent().unwrap_or(Path::new("."));
        disk.sync_directory(parent)
            .map_err(at("sync the directory of"))
    }

    /// Opens the table. `None`: missing or damaged in its header, so to be made again.
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
        };
        let sound = index.get(WORD_MAGIC) == MAGIC
            && index.get(WORD_BUCKETS) == buckets
            && index.get(WORD_CHECK) == header_check(buckets)
            && index.used() <= index.slots();
        Ok(sound.then_some(index))
    }

    /// True when it has its own name: others may open it.
    pub fn is_placed(&self) -> bool {
        self.placed
    }

    /// True while the file of that name is this one: a larger index may have taken its place.
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
        (0..PROBES_MAX).map(move |step| {
            let number = first + step;
            self.bucket(if number < self.buckets {
                number
            } else {
                number - self.buckets
            })
        })
    }

    /// Addresses that may belong to an id with this hash; most often none or one. `believe` tells whether
    /// the line there has the id.
    pub fn find(&self, hash: u64, mut believe: impl FnMut(u64) -> bool) -> Option<u64> {
        let tag = hash & 0xffff;
        for bucket in self.probe(hash) {
            for slot in bucket {
                let value = slot.load(Ordering::Relaxed);
                // Slots are filled in order and never emptied: behind a free one all are free.
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

    /// What is told of that.
    pub fn unreadable(&self) -> Error {
        Error::unreadable(&self.path, self.map.unreadable_from().unwrap_or(0))
    }

    /// True when the disk cannot read where this hash would lie: what was found, or put in, counts for nothing. To be asked
    /// afterwards.
    pub fn is_unreadable(&self, hash: u64) -> bool {
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

    /// Puts an address in. `oldest`: addresses below it are stale. False: the table must grow first.
    #[must_use]
    pub fn insert(&self, hash: u64, address: u64, oldest: u64) -> bool {
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

    /// Slots in use, stale ones included.
    pub fn used(&self) -> u64 {
        self.get(WORD_USED)
    }

    /// Slots in all.
    pub fn slots(&self) -> u64 {
        self.buckets * BUCKET_SLOTS
    }

    /// Bytes of the file.
    pub fn file_bytes(&self) -> u64 {
        file_length(self.buckets)
    }

    /// How far the derived files reach, as far as this run of the machine knows. `None`: not in this one.
    pub fn applied(&self, boot: [u64; 2]) -> Option<Mark> {
        let is_known = self.is_of(boot) && !self.is_doubted(boot);
        is_known.then(|| self.mark(WORD_APPLIED))?
    }

    /// True when the applied mark was set in this run of the machine.
    pub fn is_of(&self, boot: [u64; 2]) -> bool {
        boot != [0, 0] && [self.get(WORD_BOOT), self.get(WORD_BOOT + 1)] == boot
    }

    /// True when a sync of the derived files, of which this is one, failed in this run of the machine, or was cut short: what it
    /// should have written may read well and never reach the disk.
    pub fn is_doubted(&self, boot: [u64; 2]) -> bool {
        self.is_of(boot) && self.get(WORD_DOUBT) == 1
    }

    /// Says whether the derived files are in doubt.
    pub fn set_doubted(&self, is_doubted: bool) {
        self.set(WORD_DOUBT, u64::from(is_doubted));
    }

    /// How far readers may look: the applied mark whatever the boot.
    pub fn published(&self) -> Option<Mark> {
        self.mark(WORD_APPLIED)
    }

    /// How far `.art` is known to have been on the disk, whatever the boot.
    pub fn synced(&self) -> Option<Mark> {
        self.checkpoint()
            .into_iter()
            .chain(self.published().filter(|_| self.get(WORD_SYNCED) == 1))
            .max_by_key(|mark| (mark.base, mark.art_end))
    }

    /// Tells whether `.art` is synced before the applied mark is set, from now on.
    pub fn set_synced(&self, is_synced: bool) {
        self.set(WORD_SYNCED, u64::from(is_synced));
    }

    /// How far the derived files are known to be on the disk.
    pub fn checkpoint(&self) -> Option<Mark> {
        self.mark(WORD_CHECKPOINT)
    }

    fn mark(&self, word: usize) -> Option<Mark> {
        let read = |start: usize| {
            let mut words = [0; Mark::WORDS];
            for (value, offset) in words.iter_mut().zip(start..) {
                *value = self.get(offset);
            }
            Mark::from_words(&words)
        };
        // Two places are written in turn, so one of them is whole at any moment.
        let (a, b) = (read(word), read(word + Mark::WORDS));
        match (a, b) {
            (Some(a), Some(b)) => Some(if a.turn > b.turn { a } else { b }),
            (a, b) => a.or(b),
        }
    }

    fn set_mark(&self, word: usize, mark: &Mark) {
        let turn = self.mark(word).map_or(0, |mark| mark.turn) + 1;
        let place = word + (turn as usize % 2) * Mark::WORDS;
        // The check word goes last.
        for (offset, value) in (place..).zip(Mark { turn, ..*mark }.to_words()) {
            self.set(offset, value);
        }
    }

    /// Publishes how far the derived files reach.
    pub fn set_applied(&self, mark: &Mark, boot: [u64; 2]) {
        self.set_mark(WORD_APPLIED, mark);
        self.set(WORD_BOOT, boot[0]);
        self.set(WORD_BOOT + 1, boot[1]);
    }

    /// Records that everything up to `mark` is on the disk: the table is synced before and after.
    pub fn set_checkpoint(&self, mark: &Mark) -> Result<(), Error> {
        let sync = || {
            self.file
                .sync()
                .map_err(|source| Error::io("sync", &self.path, source))
        };
        sync()?;
        self.set_mark(WORD_CHECKPOINT, mark);
        sync()
    }

    /// The identity active had when we last wrote it.
    pub fn active_identity(&self) -> [u64; 3] {
        [
            self.get(WORD_ACTIVE),
            self.get(WORD_ACTIVE + 1),
            self.get(WORD_ACTIVE + 2),
        ]
    }

    /// Whether the text of active had this sum when we last wrote it; an older release did not say.
    pub fn had_active_sum(&self, sum: u64) -> bool {
        let known = self.get(WORD_ACTIVE_SUM);
        known == 0 || known == (sum | 1)
    }

    /// Remembers the identity of active as we leave it, and the sum of its text.
    pub fn set_active_identity(&self, identity: [u64; 3], sum: u64) {
        for (word, value) in (WORD_ACTIVE..).zip(identity) {
            self.set(word, value);
        }
        self.set(WORD_ACTIVE_SUM, sum | 1);
    }

    /// Takes over what is not slots from an older table.
    pub fn inherit(&self, older: &Index) {
        for word in WORD_BOOT..HEADER_WORDS {
            self.set(word, older.get(word));
        }
    }
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
    use crate::disk::RealDisk;

    fn spread(n: u64) -> u64 {
        let mut x = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn table() -> (tempfile::TempDir, Index) {
        let dir = tempfile::tempdir().unwrap();
        let index = Index::create(&RealDisk, &dir.path().join("index"), 0).unwrap();
        (dir, index)
    }

    #[test]
    fn holds_what_it_is_given_until_it_is_full() {
        let (_dir, index) = table();
        let mut count = 0;
        while index.insert(spread(count), count + 4096, 0) {
            count += 1;
        }
        assert_eq!(count, index.slots() * LOAD_PERCENT_MAX / 100);
        for n in 0..count {
            assert_eq!(
                index.find(spread(n), |address| address == n + 4096),
                Some(n + 4096)
            );
        }
        assert_eq!(index.find(spread(count + 1), |_| false), None);
    }

    #[test]
    fn stale_slots_are_used_again() {
        let (_dir, index) = table();
        for n in 0..20_000 {
            assert!(index.insert(spread(n), n + 4096, 0));
        }
        let used = index.used();
        for n in 20_000..24_000 {
            assert!(index.insert(spread(n), n + 4096, 4096 + 20_000));
        }
        assert!(index.used() < used + 1000, "{} {used}", index.used());
        for n in 20_000..24_000 {
            assert!(
                index
                    .find(spread(n), |address| address == n + 4096)
                    .is_some()
            );
        }
    }

    #[test]
    fn a_damaged_header_is_noticed() {
        let (dir, mut index) = table();
        index.publish(&RealDisk).unwrap();
        let path = dir.path().join("index");
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
        assert_eq!(index.applied([1, 1]), None);
        let mark = Mark {
            turn: 0,
            base: 4096,
            art_end: 64,
            his_end: 1,
            ovr_end: 2,
            cancels_end: 3,
            exp_end: 4,
            newest: 5,
        };
        index.set_applied(&mark, [1, 1]);
        index.set_applied(
            &Mark {
                art_end: 128,
                ..mark
            },
            [1, 1],
        );
        assert_eq!(index.applied([1, 1]).unwrap().art_end, 128);
        assert_eq!(index.applied([1, 2]), None);
        // The newer one torn: the older one counts.
        index.set(WORD_APPLIED + 2, 999);
        assert_eq!(index.applied([1, 1]).unwrap().art_end, 64);
    }
}
