//! Writing a file anew, durably, in place of an old one that readers may have open or mapped.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::disk::{Disk, File, Open};

/// Writes `NAME.new`, syncs it and renames it to `NAME`. The directory is not synced. After an error the old file is there
/// as it was.
pub fn replace(
    disk: &dyn Disk,
    path: &Path,
    write: impl FnOnce(&dyn File) -> std::io::Result<()>,
) -> Result<(), Error> {
    let at = |doing| move |source| Error::io(doing, path, source);
    let fresh = fresh_path(path);
    let file = disk.open(&fresh, Open::Truncate).map_err(at("make anew"))?;
    let done = write(&*file)
        .map_err(at("write"))
        .and_then(|()| file.sync().map_err(at("sync")))
        .and_then(|()| disk.rename(&fresh, path).map_err(at("put in place")));
    if done.is_err() {
        // The disk may be full of it. What even this leaves is overwritten the next time.
        let _ = disk.remove(&fresh);
    }
    done
}

/// Where a file is written before it takes its place.
pub fn fresh_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}
