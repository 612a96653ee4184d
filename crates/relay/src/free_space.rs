//! The space of the disk that has to stay free.

use std::path::Path;

use store::Error as StoreError;

use crate::error::Error;

/// Fails if less than `keep_free` bytes of the file system of `dir` would stay free after `bytes` more.
///
/// # Errors
/// [`Error::NoRoom`]; or the free space cannot be read.
pub(crate) fn check(dir: &Path, bytes: u64, keep_free: u64) -> Result<(), Error> {
    let space = rustix::fs::statvfs(dir)
        .map_err(|errno| StoreError::io("read the free space of", dir, errno.into()))?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    match free < keep_free.saturating_add(bytes) {
        true => Err(Error::NoRoom {
            path: dir.to_owned(),
            free,
            keep_free,
        }),
        false => Ok(()),
    }
}
