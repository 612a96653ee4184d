//! The bases of the segments, listed once: who asks for the segment of an article reads no directory.

use std::sync::{Mutex, PoisonError};

use crate::Error;
use crate::io::disk::Open;
use crate::log::segments::{SegmentFile, Segments, base_of};

/// The bases of the segments below the current one, from the first question on. The owner forgets them when a segment is sealed. Another program
/// may remove segments meanwhile: so a base counts only while its `.art` is there.
#[derive(Debug, Default)]
pub struct KnownBases(Mutex<Option<Vec<u64>>>);

impl KnownBases {
    /// The base of the segment with a position below the current segment; `None`: it lies before the oldest one.
    ///
    /// # Errors
    /// The segments cannot be listed.
    pub fn base_of(&self, segments: &Segments, position: u64) -> Result<Option<u64>, Error> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bases) = &*known {
            // A segment that was removed does not come back.
            let Some(base) = base_of(bases, position) else {
                return Ok(None);
            };
            let path = segments.path(base, SegmentFile::Art);
            if segments.disk().open(&path, Open::Read).is_ok() {
                return Ok(Some(base));
            }
        }
        let bases = known.insert(segments.bases()?);
        Ok(base_of(bases, position))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use super::*;
    use crate::io::disk::{Disk, RealDisk};

    #[test]
    fn removed_segments_are_noticed() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("segments")).unwrap();
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let segments = Segments::of(&disk, dir.path());
        let path = |base| segments.path(base, SegmentFile::Art);
        for base in [100, 200, 300] {
            std::fs::write(path(base), b"").unwrap();
        }
        let known = KnownBases::default();
        let found = |position| known.base_of(&segments, position).unwrap();
        assert_eq!(
            [99, 100, 250, 350].map(found),
            [None, Some(100), Some(200), Some(300)]
        );
        for base in [100, 200] {
            std::fs::remove_file(path(base)).unwrap();
            assert_eq!(found(250), base_of(&segments.bases().unwrap(), 250));
            assert_eq!(found(350), Some(300));
        }
        assert_eq!([250, 150].map(found), [None, None]);
    }
}
