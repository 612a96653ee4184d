//! Removing the index.

use std::path::Path;

use crate::Error;
use crate::index::FILE;
use crate::io::disk::Disk;

/// Removes the index durably before derived files are rebuilt: addresses in a compacted history change, and after an
/// interrupted rebuild the old index must not be used.
pub fn remove_index(disk: &dyn Disk, dir: &Path) -> Result<(), Error> {
    let index = dir.join(FILE);
    match disk.remove(&index) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed.and_then(|()| disk.sync_directory(dir)),
    }
    .map_err(|source| Error::io("remove", &index, source))
}
