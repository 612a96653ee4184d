//! The fetch of one article, which any thread may run.

use std::sync::Arc;

use crate::log::relocation_cache::Tables;
use crate::log::segments::{SegmentFile, Segments};
use crate::offload::cache;
use crate::read::open_segments::{open_art, place_in_file};
use crate::{Error, Position};

/// Brings one article into the local cache of the object store.
#[derive(Debug)]
pub struct Fetch {
    segments: Segments,
    tables: Arc<Tables>,
    base: u64,
    position: Position,
}

impl Fetch {
    pub(crate) fn new(
        mut segments: Segments,
        tables: Arc<Tables>,
        (base, position): (u64, Position),
    ) -> Fetch {
        segments.set_may_fetch(true);
        Fetch {
            segments,
            tables,
            base,
            position,
        }
    }

    /// Fetches it; waits for the store.
    ///
    /// # Errors
    /// [`Error::ObjectStore`] if the store does not answer; [`Error::Damaged`] if it has lost the article; [`Error::NoArticle`] if the article is gone.
    pub fn run(&self) -> Result<(), Error> {
        let (base, position) = (self.base, self.position);
        let (_, moved) = open_art((&self.segments, &self.tables), base, position)?;
        let place = place_in_file(moved.as_deref(), position.0.saturating_sub(base));
        let path = self.segments.path(base, SegmentFile::Art);
        let place = place.map_err(|missing| missing.error(&path, position))?;
        cache::fetch(&self.segments, base, (position, place))
    }
}
