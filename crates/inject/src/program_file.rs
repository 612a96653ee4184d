//! The file of a program that a setting names.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

/// The file that the system would run: along PATH, or from `base` where the name has a slash. `None`: there is none that this user can
/// execute.
pub fn find(name: &OsStr, base: &Path) -> Option<PathBuf> {
    let is_program =
        |path: &PathBuf| path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok();
    if name.as_bytes().contains(&b'/') {
        return Some(base.join(name)).filter(is_program);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(is_program)
}
