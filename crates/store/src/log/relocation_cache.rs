//! The tables of repacked segments, each read once.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::Error;
use crate::io::disk::File;
use crate::log::relocation::Relocation;
use crate::log::segment::SegmentHeader;

/// The tables met so far, by what tells their files apart.
#[derive(Debug, Default)]
pub struct Tables(Mutex<HashMap<[u64; 3], Arc<Relocation>>>);

impl Tables {
    /// Where in an `.art` file the first record with this position or a later one lies. Where the table is damaged, that is the
    /// first record there is: a walk finds the others by what they tell themselves.
    pub fn at_or_behind(&self, file: &dyn File, path: &Path, position: u64) -> Result<u64, Error> {
        match self.of_file(file, path) {
            Ok(Some(moved)) => Ok(moved.at_or_behind(position)),
            Ok(None) => Ok(position),
            Err(Error::Damaged { offset, .. }) if offset != 0 => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// The table of an `.art` file. `None`: it was not repacked.
    pub fn of_file(&self, file: &dyn File, path: &Path) -> Result<Option<Arc<Relocation>>, Error> {
        let moved_at = SegmentHeader::read(file, path)?.moved_at;
        if moved_at == 0 {
            return Ok(None);
        }
        let at = |source| Error::io("read", path, source);
        let identity = file.identity().map_err(at)?;
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(moved) = known().get(&identity) {
            return Ok(Some(moved.clone()));
        }
        let moved = Relocation::read(file, moved_at).map_err(at)?;
        let moved = Arc::new(moved.ok_or_else(|| Error::Damaged {
            path: path.to_owned(),
            offset: moved_at,
            what: "the table that tells where its articles lie",
        })?);
        known().insert(identity, moved.clone());
        Ok(Some(moved))
    }
}
