//! The space of the disk that has to stay free.

use std::path::Path;

use store::Error as StoreError;

use crate::error::Error;

/// Fails if less than `keep_free` bytes of the file system of `dir` would stay free after `bytes` more.
///
/// # Errors
/// [`Error::NoRoom`]; or the free space cannot be read.
pub(crate) fn check(dir: &Path, bytes: u64, keep_free: u64) -> Result<(), Error> {
    let least = keep_free.saturating_add(bytes);
    let free = store::free_bytes_for(dir, least)
        .map_err(|source| StoreError::io("read the free space of", dir, source))?;
    match free {
        Some(free) if free < least => Err(Error::NoRoom {
            path: dir.to_owned(),
            free,
            keep_free,
        }),
        _ => Ok(()),
    }
}
