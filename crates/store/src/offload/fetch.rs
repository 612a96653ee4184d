//! The fetch of one article, which any thread may run.

use std::io;
use std::sync::{Arc, OnceLock};

use crate::log::relocation_cache::Tables;
use crate::log::segments::{SegmentFile, Segments};
use crate::offload::cache;
use crate::read::open_segments::{open_art, place_in_file};
use crate::{Error, Position};

type FetchBy = Box<dyn Fn(Fetch) -> io::Result<Result<(), Error>> + Send + Sync>;

static FETCH_BY: OnceLock<FetchBy> = OnceLock::new();

/// Says how readers of this process that may wait fetch an article: `run` lets another thread run it, because theirs may not write the cache, and
/// returns its result, or why there is none. Called once, at the start of the program; a second call has no effect. Without it they do it themselves.
pub fn fetch_by(run: impl Fn(Fetch) -> io::Result<Result<(), Error>> + Send + Sync + 'static) {
    let _ = FETCH_BY.set(Box::new(run));
}

/// Brings the record at `place` into the cache, as [`fetch_by`] says.
pub fn bring(
    (segments, tables): (&Segments, &Arc<Tables>),
    base: u64,
    (position, place): (Position, u64),
) -> Result<(), Error> {
    match FETCH_BY.get() {
        None => cache::fetch(segments, base, (position, place)),
        Some(run) => {
            let fetch = Fetch::new(segments.clone(), tables.clone(), (base, position));
            let path = segments.path(base, SegmentFile::Art);
            run(fetch).map_err(|source| Error::io("fetch an article of", &path, source))?
        }
    }
}

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
    /// [`Error::ObjectStore`] if the store does not answer; [`Error::LostObject`] if it lacks the object; [`Error::NoArticle`] if the article is gone.
    pub fn run(&self) -> Result<(), Error> {
        let (base, position) = (self.base, self.position);
        let (_, moved) = open_art((&self.segments, &self.tables), base, position)?;
        let place = place_in_file(moved.as_deref(), position.0.saturating_sub(base));
        let path = self.segments.path(base, SegmentFile::Art);
        let place = place.map_err(|missing| missing.error(&path, position))?;
        cache::fetch(&self.segments, base, (position, place))
    }
}
