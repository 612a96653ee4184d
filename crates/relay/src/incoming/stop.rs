//! Suspends filing by a file.

use std::fs;
use std::path::{Path, PathBuf};

use store::Error as StoreError;

use crate::Error;
use crate::bad_batches::INCOMING;

/// The file in `in.coming` that suspends all but grade 0 (`newsrunning off`).
pub const STOP: &str = "stop";

/// The directory of waiting batches.
pub(super) fn incoming_dir(dir: &Path) -> PathBuf {
    dir.join(INCOMING)
}

/// Whether filing is suspended, so that only batches of grade 0 are filed.
pub fn is_stopped(dir: &Path) -> bool {
    fs::symlink_metadata(incoming_dir(dir).join(STOP)).is_ok()
}

/// Suspends or resumes filing, durably.
///
/// # Errors
/// An I/O error.
pub fn set_stopped(dir: &Path, stopped: bool) -> Result<(), Error> {
    let (dir, path) = (incoming_dir(dir), incoming_dir(dir).join(STOP));
    let done = match (stopped, fs::symlink_metadata(&path)) {
        (true, Err(_)) => fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .map(drop),
        (false, Ok(_)) => fs::remove_file(&path),
        (true, Ok(_)) | (false, Err(_)) => Ok(()),
    };
    done.map_err(|source| StoreError::io("set", &path, source))?;
    sync(&dir)?;
    Ok(())
}

pub(super) fn sync(dir: &Path) -> Result<(), Error> {
    Ok(store::sync_directory(dir).map_err(|source| StoreError::io("sync", dir, source))?)
}
