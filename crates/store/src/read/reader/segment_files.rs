//! The files of single segments, as readers of all of their lines or rows want them.

use crate::Error;
use crate::error::is_unreadable;
use crate::expiry::survey::Survey;
use crate::history::compacted::History;
use crate::io::disk::{File, Open};
use crate::io::growing_map::GrowingMap;
use crate::io::map::MapRef;
use crate::log::segments::{REMAKE, SegmentFile};
use crate::overview;
use crate::read::reader::Reader;

/// The rows of a segment.
struct OverviewFile {
    file: Box<dyn File>,
    /// How far it may be looked at.
    end: u64,
    /// More may come.
    grows: bool,
}

impl Reader {
    /// How long the file of a segment's articles is, and how many bytes of the disk it takes up: fewer when it has holes.
    /// Nothing when it is gone.
    pub fn art_bytes(&self, base: u64) -> (u64, u64) {
        let opened = self.segments.open(base, SegmentFile::Art, Open::Read);
        let told = opened.and_then(|file| {
            let length = file.length()?;
            Ok((length, file.allocated()?))
        });
        told.unwrap_or_default()
    }

    /// True when every id in the history of a segment may be forgotten; false when that has no history.
    pub(crate) fn forgets_all(&self, base: u64) -> Result<bool, Error> {
        let path = self.segments.path(base, SegmentFile::His);
        let at = |source| Error::io("read", &path, source);
        let file = match self.segments.open(base, SegmentFile::His, Open::Read) {
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            opened => opened.map_err(at)?,
        };
        let map = file
            .length()
            .and_then(|length| file.map(length))
            .map_err(at)?;
        let forgets = |(_, line)| self.expired.forgets_line(line);
        Ok(crate::history::lines(History::of_map(&map).text()).all(forgets))
    }

    /// What expire looks at in one segment.
    pub fn survey(&self, base: u64) -> Result<Survey, Error> {
        let map = |view, end: u64| {
            let path = self.segments.path(base, view);
            let at = |source| Error::io(REMAKE, &path, source);
            let file = self.segments.open(base, view, Open::Read).map_err(at)?;
            let length = file.length().map_err(at)?.min(end);
            Ok::<_, Error>((file.map(length).map_err(at)?, length as usize))
        };
        let is_current = base == self.mark.base;
        let until = |end| if is_current { end } else { u64::MAX };
        let his = map(SegmentFile::His, until(self.mark.his_end))?;
        let (exp, _) = map(SegmentFile::Exp, until(self.mark.exp_end))?;
        Ok(Survey::new(
            &self.segments,
            base,
            his,
            self.overview_map(base)?,
            exp,
        ))
    }

    pub(crate) fn overview_map(&self, base: u64) -> Result<MapRef, Error> {
        let Some(rows) = self.overview_file(base)? else {
            return Ok(MapRef::default());
        };
        let path = self.segments.path(base, SegmentFile::Ovr);
        let at = |source| Error::io(REMAKE, &path, source);
        rows.file.map(rows.end).map_err(at)
    }

    /// The rows of a segment, mapped for long.
    pub(crate) fn live_overview(&self, base: u64) -> Result<GrowingMap, Error> {
        let Some(rows) = self.overview_file(base)? else {
            return Ok(GrowingMap::default());
        };
        let live = match rows.grows {
            true => GrowingMap::append(rows.file, rows.end),
            false => GrowingMap::whole(&*rows.file, rows.end),
        };
        let path = self.segments.path(base, SegmentFile::Ovr);
        live.map_err(|source| Error::io(REMAKE, &path, source))
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
            // Its rows are left out, and told of.
            Err(error) if is_unreadable(&error) => {}
            read => drop(read.map_err(at)?),
        }
        // Sealed since this was opened: all rows lie in one block now, which may be longer than all there were then.
        let is_merged = end > 0 && overview::block_bytes(&head) > end;
        let grows = base == self.mark.base && !is_merged && length >= end;
        let end = if grows { end } else { length };
        Ok(Some(OverviewFile { file, end, grows }))
    }
}
