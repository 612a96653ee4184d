//! The log up to a commit: its segments, how far they may be read, and the rule that an article is visible.

use std::sync::Arc;

use crate::error::is_unreadable;
use crate::expiry::state::ExpiryState;
use crate::expiry::visibility::Visibility;
use crate::history::cancels::Cancels;
use crate::index::watermark::Watermark;
use crate::io::disk::File;
use crate::io::growing_map::GrowingMap;
use crate::io::map::MapRef;
use crate::log::relocation_cache::Tables;
use crate::log::segments::{self, REMAKE, SegmentFile, Segments};
use crate::{Error, Position, overview};

/// The log as a snapshot sees it.
#[derive(Debug, Clone)]
pub struct LogView {
    pub segments: Segments,
    pub mark: Watermark,
    /// The bases of the segments, ascending; the last is the current one.
    pub bases: Vec<u64>,
    pub tables: Arc<Tables>,
    pub expired: Arc<ExpiryState>,
    pub cancelled: Arc<Cancels>,
}

/// The rows of a segment.
struct OverviewFile {
    file: Box<dyn File>,
    /// How far it may be looked at.
    end: u64,
    /// More may come.
    grows: bool,
}

impl LogView {
    /// The bases of the segments up to the current one.
    pub fn bases(segments: &Segments, mark: &Watermark) -> Result<Vec<u64>, Error> {
        let mut bases = segments.bases()?;
        if bases.is_empty() && segments.is_empty()? {
            return Err(segments.none_error());
        }
        bases.retain(|&base| base <= mark.base);
        Ok(bases)
    }

    /// The rule that an article is visible.
    pub fn visibility(&self) -> Visibility<'_> {
        Visibility {
            expired: &self.expired,
            cancelled: &self.cancelled,
        }
    }

    /// The end of the log.
    pub fn end(&self) -> Position {
        Position(self.mark.base + self.mark.art_end)
    }

    /// The base of the segment that a position belongs to.
    ///
    /// # Errors
    /// [`Error::NoArticle`] if the position lies before all segments.
    pub fn base_of(&self, position: Position) -> Result<u64, Error> {
        segments::base_of(&self.bases, position.0).ok_or(Error::NoArticle(position))
    }

    /// Why there is no article at a position: expire has removed it ([`Error::NoArticle`]), or its segment is lost.
    pub fn why_gone(&self, position: Position) -> Error {
        let lost = self.segments.lost().unwrap_or_default();
        let is_of = |base: &u64| {
            let after = self.bases.iter().find(|later| *later > base);
            *base <= position.0 && after.is_none_or(|after| position.0 < *after)
        };
        match lost.iter().rfind(|base| is_of(base)) {
            Some(base) => self.segments.lost_error(*base),
            None => Error::NoArticle(position),
        }
    }

    /// The end of a segment's articles if it is the current one.
    pub fn art_end(&self, base: u64) -> Option<u64> {
        (base == self.mark.base).then_some(self.mark.art_end)
    }

    /// Maps the rows of a segment; an empty map if expire has removed it.
    pub fn overview_map(&self, base: u64) -> Result<MapRef, Error> {
        let Some(rows) = self.overview_file(base)? else {
            return Ok(MapRef::default());
        };
        let path = self.segments.path(base, SegmentFile::Ovr);
        let at = |source| Error::io(REMAKE, &path, source);
        rows.file.map(rows.end).map_err(at)
    }

    /// As [`LogView::overview_map`], mapped for long: it grows with the segment.
    pub fn growing_overview(&self, base: u64) -> Result<GrowingMap, Error> {
        let Some(rows) = self.overview_file(base)? else {
            return Ok(GrowingMap::default());
        };
        let map = match rows.grows {
            true => GrowingMap::append(rows.file, rows.end),
            false => GrowingMap::whole(&*rows.file, rows.end),
        };
        let path = self.segments.path(base, SegmentFile::Ovr);
        map.map_err(|source| Error::io(REMAKE, &path, source))
    }

    /// `None`: the segment is gone.
    fn overview_file(&self, base: u64) -> Result<Option<OverviewFile>, Error> {
        let opened = self.segments.open_derived(base, SegmentFile::Ovr)?;
        let Some(file) = opened else {
            return Ok(None);
        };
        let path = self.segments.path(base, SegmentFile::Ovr);
        let at = |source| Error::io(REMAKE, &path, source);
        let (length, end) = (file.length().map_err(at)?, self.mark.ovr_end);
        let mut head = [0; overview::BLOCK_HEADER_BYTES];
        match file.read_at(&mut head, 0) {
            // Its rows are left out and reported.
            Err(error) if is_unreadable(&error) => {}
            read => drop(read.map_err(at)?),
        }
        // Sealed since the snapshot was taken: all rows lie in one block now, which may be longer than all there were then.
        let is_merged = end > 0 && overview::block_bytes(&head) > end;
        let grows = base == self.mark.base && !is_merged && length >= end;
        let end = if grows { end } else { length };
        Ok(Some(OverviewFile { file, end, grows }))
    }
}
