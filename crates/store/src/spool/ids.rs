//! The ids that the writer knows: look-up, and an index that grows with them.

use crate::Error;
use crate::history::HistoryLine;
use crate::history::lookup::{self, Histories};
use crate::history::sealed::SealedHistory;
use crate::index::removal::remove_index;
use crate::index::{self, IdHash, Index};
use crate::spool::Spool;

/// An index with fewer ids doubles when it is full.
pub const SMALL_IDS: u64 = 500_000;
/// An index with no more slots is never made smaller.
const SMALL_SLOTS: u64 = 8 * crate::index::BUCKETS_MIN;

impl Spool {
    /// The history line of an id, uncommitted ones included.
    pub fn find(&self, id: &[u8]) -> Result<Option<HistoryLine<'_>>, Error> {
        let found = lookup::find(&self.index, self, id);
        Ok(self.looked_up(found)?.and_then(HistoryLine::parse))
    }

    /// The address in the index for an id, of those that `believe` accepts.
    pub(crate) fn address_of(
        &self,
        id: &[u8],
        believe: impl FnMut(u64) -> bool,
    ) -> Result<Option<u64>, Error> {
        self.index.find(id, believe)
    }

    /// Calls `each` for every history line, uncommitted ones included, with its address.
    pub(crate) fn each_history_line(
        &self,
        mut each: impl FnMut(u64, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.sealed.each_line(&mut each)?;
        let base = self.art.header.base;
        let mut lines = self.derived.lines();
        lines.try_for_each(|(offset, line)| each(base + offset, line))
    }

    /// True when an id was seen, filed or not.
    pub fn has(&self, id: &[u8]) -> Result<bool, Error> {
        let hash = self.hash(id)?;
        self.has_hashed(id, hash)
    }

    /// The hash of an id, for [`Spool::has_hashed`] and [`Spool::append_hashed`].
    ///
    /// # Errors
    /// This user may not read the key of the index.
    pub fn hash(&self, id: &[u8]) -> Result<IdHash, Error> {
        self.index.hash(id)
    }

    /// As [`Spool::has`], for an id that was hashed already.
    pub fn has_hashed(&self, id: &[u8], hash: IdHash) -> Result<bool, Error> {
        Ok(self.has_line_hashed(id, hash)?
            || match &self.seen_hashes {
                Some(seen) => seen.has(id, self.expired.state()?.forget_before()),
                None => false,
            })
    }

    /// Whether the history has a line of an id. Unlike [`Spool::has`], the ids that another system had seen do not count.
    ///
    /// # Errors
    /// As [`Spool::has`].
    pub fn has_line(&self, id: &[u8]) -> Result<bool, Error> {
        self.has_line_hashed(id, self.hash(id)?)
    }

    #[inline]
    fn has_line_hashed(&self, id: &[u8], hash: IdHash) -> Result<bool, Error> {
        self.looked_up(lookup::has_hashed(&self.index, self, id, hash))
    }

    #[inline]
    fn looked_up<T>(&self, found: Result<T, lookup::Failure>) -> Result<T, Error> {
        found.map_err(|failure| self.not_looked_up(failure))
    }

    #[cold]
    fn not_looked_up(&self, failure: lookup::Failure) -> Error {
        // Without a file it is made again when the spool is opened the next time.
        if matches!(failure, lookup::Failure::Index(Error::Damaged { .. }))
            && let Err(error) = remove_index(&*self.disk, &self.dir)
        {
            return error;
        }
        failure.into()
    }

    pub(crate) fn remember_address(&mut self, hash: IdHash, address: u64) -> Result<(), Error> {
        let oldest = self.oldest_for_insert();
        if self.index.insert_hashed(hash, address, oldest) {
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
        Index::of_lines(&*self.disk, &path, (key, Some(expected)), |put| {
            let put = |address, line: &[u8]| match self.is_forgotten(line)? {
                true => Ok(()),
                false => put(address, line),
            };
            match is_whole {
                true => self.each_history_line(put),
                false => self.sealed.each_line(put),
            }
        })
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

impl Histories for Spool {
    fn sealed(&self) -> &SealedHistory {
        &self.sealed
    }

    fn text_at(&self, address: u64) -> Result<Option<&[u8]>, Error> {
        match address.checked_sub(self.art.header.base) {
            Some(offset) => Ok(self.derived.text_at(offset)),
            None => self.sealed.text_at(address),
        }
    }

    fn is_forgotten(&self, text: &[u8]) -> Result<bool, Error> {
        Ok(self.expired.state()?.forgets_line(text))
    }
}
