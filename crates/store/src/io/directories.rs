//! Makes directories that survive a power cut.

use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Waits until the entries of a directory are on the disk.
///
/// # Errors
/// The directory cannot be opened or synced.
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    // The parent of a relative path of one name.
    let directory = match directory.as_os_str().is_empty() {
        true => Path::new("."),
        false => directory,
    };
    File::open(directory)?.sync_all()
}

/// The directory of a path.
pub(crate) fn parent_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("/"))
}

/// Makes a directory and the missing ones above it with this mode, less the umask, and waits until they are on the disk: nothing in a
/// directory is durable before its own name is.
///
/// # Errors
/// A directory cannot be made or synced.
pub fn make_directories(path: &Path, mode: u32) -> io::Result<()> {
    make_synced(path, mode, sync_directory)
}

fn make_synced(path: &Path, mode: u32, sync: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    let is_missing = |level: &&Path| !level.as_os_str().is_empty() && !level.is_dir();
    let missing: Vec<&Path> = path.ancestors().take_while(is_missing).collect();
    // A run that was killed may have made it, and not synced its name.
    let lowest = path.ancestors().nth(missing.len()).and_then(Path::parent);
    match lowest.map(&sync) {
        // Then this user has not made it.
        Some(Err(error)) if error.kind() == ErrorKind::PermissionDenied => {}
        Some(synced) => synced?,
        None => {}
    }
    for level in missing.into_iter().rev() {
        match DirBuilder::new().mode(mode).create(level) {
            // Another program made it.
            Err(error) if error.kind() == ErrorKind::AlreadyExists && level.is_dir() => {}
            made => made?,
        }
        sync(parent_of(level))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn all_missing_levels_are_made() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/c");
        for _ in 0..2 {
            make_directories(&path, 0o700).unwrap();
            for level in path.ancestors().take(3) {
                let mode = level.metadata().unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o700, "{}", level.display());
            }
        }
        make_directories(&dir.path().join("new/../other"), 0o700).unwrap();
        assert!(dir.path().join("other").is_dir());
        std::fs::write(dir.path().join("file"), b"").unwrap();
        assert!(make_directories(&dir.path().join("file"), 0o700).is_err());
        assert!(make_directories(&dir.path().join("file/deep"), 0o700).is_err());
        std::os::unix::fs::symlink("nowhere", dir.path().join("link")).unwrap();
        assert!(make_directories(&dir.path().join("link"), 0o700).is_err());
        sync_directory(Path::new("")).unwrap();
    }

    #[test]
    fn a_directory_of_a_killed_run_is_synced_too() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a/b/c");
        let killed = Path::new("a/b");
        let made = make_synced(&path, 0o700, |level| match level.ends_with("a") {
            true => Err(ErrorKind::Interrupted.into()),
            false => Ok(()),
        });
        assert!(made.is_err() && dir.path().join(killed).is_dir());
        let synced = std::cell::RefCell::default();
        let sync = |level: &Path| {
            let level = level.strip_prefix(dir.path()).unwrap();
            Vec::push(&mut synced.borrow_mut(), level.to_owned());
            Ok(())
        };
        make_synced(&path, 0o700, sync).unwrap();
        assert_eq!(synced.take(), [Path::new("a"), killed]);
        make_synced(&path, 0o700, sync).unwrap();
        assert_eq!(synced.take(), [killed]);
    }
}
