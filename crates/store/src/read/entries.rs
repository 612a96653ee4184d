//! All entries of the log, in their order.

use crate::io::disk::Open;
use crate::log::record::Record;
use crate::log::segment::SEGMENT_HEADER_BYTES;
use crate::log::segments::SegmentFile;
use crate::log::walk::{Step, Walk};
use crate::{Error, Snapshot};

impl Snapshot {
    /// Calls `each` for every sound record of the published log. Articles whose space was returned have none.
    pub fn each_entry(
        &self,
        mut each: impl FnMut(&Record<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for &base in &self.log.bases {
            let path = self.log.segments.path(base, SegmentFile::Art);
            let at = |source| Error::io("read", &path, source);
            let file = self
                .log
                .segments
                .open(base, SegmentFile::Art, Open::Read)
                .map_err(at)?;
            let end = self.log.art_end(base).unwrap_or(u64::MAX);
            let mut walk = Walk::new(&*file, SEGMENT_HEADER_BYTES, end).map_err(at)?;
            while let Some(step) = walk.next().map_err(at)? {
                if let Step::Record(_, record) = step {
                    each(&record)?;
                }
            }
        }
        Ok(())
    }
}
