//! The files of single segments, as readers of all of their lines or rows want them.

use crate::Error;
use crate::expiry::survey::Survey;
use crate::history::compacted::History;
use crate::io::disk::Open;
use crate::log::segments::{REMAKE, SegmentFile};
use crate::read::snapshot::Snapshot;
use crate::state::unreclaimed::{self, NOW};

impl Snapshot {
    /// How long the file of a segment's articles is, and how many bytes of the disk it takes up: fewer when it has holes.
    /// Nothing when it is gone.
    pub fn art_bytes(&self, base: u64) -> (u64, u64) {
        self.log.segments.art_bytes(base)
    }

    /// The segments from which the last run of expire did not return the space, because of an error, or which lost articles since. All where the file
    /// that lists them is missing.
    pub fn unreclaimed(&self) -> Vec<u64> {
        let listed = unreclaimed::read(&**self.log.segments.disk(), &self.dir);
        let Ok(Some(listed)) = listed else {
            return self.segments().to_vec();
        };
        let due_now = listed.into_iter().filter(|(_, due)| *due == NOW);
        due_now.map(|(base, _)| base).collect()
    }

    /// True when every id in the history of a segment may be forgotten; false when that has no history.
    pub(crate) fn forgets_all(&self, base: u64) -> Result<bool, Error> {
        let path = self.log.segments.path(base, SegmentFile::His);
        let at = |source| Error::io("read", &path, source);
        let file = match self.log.segments.open(base, SegmentFile::His, Open::Read) {
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            opened => opened.map_err(at)?,
        };
        let map = file
            .length()
            .and_then(|length| file.map(length))
            .map_err(at)?;
        let forgets = |(_, line)| self.log.expired.forgets_line(line);
        Ok(crate::history::lines(History::of_map(&map).text()).all(forgets))
    }

    /// What expire looks at in one segment.
    pub fn survey(&self, base: u64) -> Result<Survey, Error> {
        let map = |view, end: u64| {
            let path = self.log.segments.path(base, view);
            let at = |source| Error::io(REMAKE, &path, source);
            let file = self.log.segments.open(base, view, Open::Read).map_err(at)?;
            let length = file.length().map_err(at)?.min(end);
            Ok::<_, Error>((file.map(length).map_err(at)?, length as usize))
        };
        let is_current = base == self.log.mark.base;
        let until = |end| if is_current { end } else { u64::MAX };
        let his = map(SegmentFile::His, until(self.log.mark.his_end))?;
        let (exp, _) = map(SegmentFile::Exp, until(self.log.mark.exp_end))?;
        Ok(Survey::new(
            &self.log.segments,
            base,
            his,
            self.log.overview_map(base)?,
            exp,
        ))
    }
}
