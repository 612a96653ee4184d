//! Taking over what others committed, filed and decided since.

use std::path::Path;
use std::sync::OnceLock;

use super::{Reader, bases, identity, missing, read_cancels};
use crate::Error;
use crate::expiry::state::ExpiryState;
use crate::history::sealed::SealedHistory;
use crate::index::{self, Index};
use crate::io::disk::Open;
use crate::log::relocation_cache::Tables;
use crate::log::segments::SegmentFile;

impl Reader {
    /// Looks again: what was filed, cancelled and expired since this was opened, or refreshed, is known from then on. The active
    /// table stays as it was. True when there is anything new. Costs a few system calls where there is not.
    ///
    /// # Errors
    /// As [`Reader::open`]; what is new is then looked for again the next time.
    pub fn refresh(&mut self, dir: &Path) -> Result<bool, Error> {
        // With a new index other files may have been made anew, too.
        if !self.index.is_at(&*self.disk, &dir.join(index::FILE))
            || identity(&*self.disk, &dir.join("expired")) != self.expired_identity
        {
            self.look_again(dir)?;
            return Ok(true);
        }
        self.go_on(dir)
    }

    /// Takes over what was committed since, as the mapped index tells. True when there is anything new.
    pub(crate) fn go_on(&mut self, dir: &Path) -> Result<bool, Error> {
        let mark = self
            .index
            .published()
            .ok_or_else(|| missing(&dir.join(index::FILE)))?;
        if mark == self.mark {
            return Ok(false);
        }
        if mark.base != self.mark.base {
            self.bases = bases(&self.segments, &mark)?;
            self.histories.advance(mark.base)?;
            self.history = OnceLock::new();
        } else if let Some(history) = self.history.get_mut() {
            let path = self.segments.path(mark.base, SegmentFile::His);
            let grown = history.grow_to(mark.his_end);
            grown.map_err(|source| Error::io("map", &path, source))?;
        }
        if mark.cancels_end != self.mark.cancels_end {
            self.adopt_cancels(dir, mark.cancels_end)?;
        }
        self.mark = mark;
        Ok(true)
    }

    /// Opens everything anew: files may have taken the place of others.
    pub(crate) fn look_again(&mut self, dir: &Path) -> Result<(), Error> {
        let path = dir.join(index::FILE);
        let index = Index::open_to_read(&*self.disk, dir, self.index.key().ok().copied())?;
        let index = index.ok_or_else(|| missing(&path))?;
        let mark = index.published().ok_or_else(|| missing(&path))?;
        let expired_identity = identity(&*self.disk, &dir.join("expired"));
        let told = ExpiryState::read(&*self.disk, dir)?;
        let cancelled = read_cancels(&*self.disk, dir, mark.cancels_end)?;
        self.bases = bases(&self.segments, &mark)?;
        // Half written anew after a crash: the next time.
        if let Some(told) = told {
            self.expired = told;
            self.expired_identity = expired_identity;
        }
        self.cancelled = cancelled;
        self.histories = SealedHistory::new(&self.segments, mark.base);
        self.history = OnceLock::new();
        self.tables = Tables::default();
        self.index = index;
        self.mark = mark;
        Ok(())
    }

    /// Reads what was added to the cancels, or all of them where the file is another.
    fn adopt_cancels(&mut self, dir: &Path, end: u64) -> Result<(), Error> {
        let from = self.mark.cancels_end;
        let path = dir.join("cancels");
        let at = |source| Error::io("read", &path, source);
        if from > 0 && end > from {
            // One byte more: the end of the last line that is known.
            let mut text = vec![0; (end - from + 1) as usize];
            let file = self.disk.open(&path, Open::Read).map_err(at)?;
            let got = file.read_at(&mut text, from - 1).map_err(at)?;
            if got == text.len()
                && let Some(added) = text.strip_prefix(b"\n")
            {
                self.cancelled.add(added);
                return Ok(());
            }
        }
        self.cancelled = read_cancels(&*self.disk, dir, end)?;
        Ok(())
    }
}
