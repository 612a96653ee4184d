//! The file of a program that a setting names, and the rights that it gains.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
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

/// Whether a program runs with the rights of another user or group: it is setuid or setgid.
pub fn gains_rights(place: &Path) -> bool {
    let mode = fs::metadata(place).map_or(0, |facts| facts.permissions().mode());
    mode & 0o6000 != 0
}

/// Whether programs that this thread starts gain no rights (`no_new_privs`, see prctl(2)).
pub fn has_no_new_privileges() -> bool {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let mut values = status
        .lines()
        .filter_map(|line| line.strip_prefix("NoNewPrivs:"));
    values.next().is_some_and(|value| value.trim() == "1")
}
