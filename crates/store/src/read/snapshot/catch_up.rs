//! Taking over what others committed, filed and decided since.

use std::sync::{Arc, OnceLock};

use super::{Snapshot, identity, missing};
use crate::Error;
use crate::history::cancels::Cancels;
use crate::history::sealed::SealedHistory;
use crate::index::{self, Index};
use crate::io::disk::Open;
use crate::log::segments::SegmentFile;
use crate::read::log_view::LogView;

/// What changed in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    None,
    /// There are more articles.
    Filed,
    /// Articles may have been removed, too.
    Removed,
}

impl Snapshot {
    /// Sees from now on what was filed, cancelled and expired since. True when there is anything new. Where nothing is, that costs an
    /// atomic load if the writer publishes its commits in this process, and a few system calls otherwise; the groups stay as they were then.
    ///
    /// # Errors
    /// A file cannot be read; what is new is looked for again the next time.
    pub fn catch_up(&mut self) -> Result<bool, Error> {
        let Some((published, known)) = &self.published else {
            return self.catch_up_with_files();
        };
        if published.sequence() == known.sequence {
            return Ok(false);
        }
        let seen = published.seen();
        let has_new_files = seen.files != known.files;
        if seen.tables != known.tables
            && let Some(groups) = published.groups()
        {
            self.groups = groups;
        }
        match has_new_files {
            true => self.look_again()?,
            false => _ = self.catch_up_with_commits()?,
        }
        if let Some((_, known)) = &mut self.published {
            *known = seen;
        }
        Ok(true)
    }

    fn catch_up_with_files(&mut self) -> Result<bool, Error> {
        // Nobody tells when files are replaced to give space back, and maps hold the space of the old ones.
        self.caches = Arc::default();
        let disk = &**self.log.segments.disk();
        // With a new index other files may have been made anew, too.
        if !self.index.is_at(disk, &self.dir.join(index::FILE))
            || identity(disk, &self.dir.join("expired")) != self.expired_identity
        {
            self.look_again()?;
            return Ok(true);
        }
        Ok(self.catch_up_with_commits()? != Change::None)
    }

    /// Takes over what was committed since, as the mapped index tells: no system call where nothing was. Does not notice that a file took
    /// the place of another: a caller that is told so (by inotify, or by the writer in its process) calls [`Snapshot::catch_up`] then.
    ///
    /// # Errors
    /// As [`Snapshot::catch_up`].
    pub fn catch_up_with_commits(&mut self) -> Result<Change, Error> {
        let mark = self
            .index
            .published()
            .ok_or_else(|| missing(&self.dir.join(index::FILE)))?;
        if mark == self.log.mark {
            return Ok(Change::None);
        }
        if Arc::get_mut(&mut self.caches).is_none() {
            // The clones go on with them.
            self.caches = Arc::default();
        }
        let log = Arc::make_mut(&mut self.log);
        if mark.base != log.mark.base {
            log.bases = LogView::bases(&log.segments, &mark)?;
            match Arc::get_mut(&mut self.histories) {
                Some(histories) => histories.advance(mark.base)?,
                None => self.histories = Arc::new(SealedHistory::new(&log.segments, mark.base)),
            }
            self.history = OnceLock::new();
        } else if let Some(history) = self.history.get_mut() {
            let path = || log.segments.path(mark.base, SegmentFile::His);
            let grown = history.grow_to(mark.his_end);
            grown.map_err(|source| Error::io("map", &path(), source))?;
        }
        let mut change = Change::Filed;
        if mark.cancels_end != log.mark.cancels_end {
            self.adopt_cancels(mark.cancels_end)?;
            change = Change::Removed;
        }
        Arc::make_mut(&mut self.log).mark = mark;
        Ok(change)
    }

    /// Opens everything anew: files may have taken the place of others.
    fn look_again(&mut self) -> Result<(), Error> {
        let segments = self.log.segments.clone();
        let known_key = self.index.key().ok().copied();
        let index = Index::open_to_read(&**segments.disk(), &self.dir, known_key)?;
        let index = index.ok_or_else(|| missing(&self.dir.join(index::FILE)))?;
        if let Some(fresh) = Snapshot::of_index(segments, &self.dir, index, Some(self))? {
            *self = fresh;
        }
        Ok(())
    }

    /// Reads what was added to the cancels, or all of them where the file is another.
    fn adopt_cancels(&mut self, end: u64) -> Result<(), Error> {
        let log = Arc::make_mut(&mut self.log);
        let from = log.mark.cancels_end;
        let path = self.dir.join("cancels");
        let at = |source| Error::io("read", &path, source);
        let disk = &**log.segments.disk();
        if from > 0 && end > from {
            // One byte more: the end of the last line that is known.
            let mut text = vec![0; (end - from + 1) as usize];
            let file = disk.open(&path, Open::Read).map_err(at)?;
            let got = file.read_at(&mut text, from - 1).map_err(at)?;
            if got == text.len()
                && let Some(added) = text.strip_prefix(b"\n")
                && Cancels::first_bad(added).is_none()
            {
                Arc::make_mut(&mut log.cancelled).add(added);
                return Ok(());
            }
        }
        log.cancelled = Arc::new(Cancels::read(disk, &self.dir, end)?);
        Ok(())
    }
}
