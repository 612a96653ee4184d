//! Reads and maps files completely, and replaces small ones durably, even if readers have the old one open or
//! mapped.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::io::directories::parent_of;
use crate::io::disk::{Access, Disk, File, MapRef, Open};

/// Writes `NAME.new`, syncs it, renames it to `NAME` and syncs the directory. The new file has the mode and the group of the old one, and
/// its owner if root replaces it. After an error before the last step the old file is unchanged. Of a symbolic link, the file behind it is
/// replaced, in its own directory.
pub fn replace(
    disk: &dyn Disk,
    path: &Path,
    write: impl FnOnce(&dyn File) -> std::io::Result<()>,
) -> Result<(), Error> {
    let path = behind_links(path)?;
    replace_unsynced(disk, &path, write)?;
    sync_parent(disk, &path)
}

/// The file itself, or the one behind a symbolic link.
fn behind_links(path: &Path) -> Result<Cow<'_, Path>, Error> {
    match fs::symlink_metadata(path) {
        Ok(data) if data.is_symlink() => fs::canonicalize(path)
            .map(Cow::Owned)
            .map_err(|source| Error::io("follow the symbolic link", path, source)),
        _ => Ok(Cow::Borrowed(path)),
    }
}

/// As [`replace`], for a file that only its owner may read.
pub fn replace_private(
    disk: &dyn Disk,
    path: &Path,
    write: impl FnOnce(&dyn File) -> std::io::Result<()>,
) -> Result<(), Error> {
    // It belongs to the user of this process in any case.
    replace_as(disk, path, Access::PRIVATE, write)
}

/// As [`replace`], for a file that gets this mode and owner, whatever the old one has.
pub fn replace_as(
    disk: &dyn Disk,
    path: &Path,
    access: Access,
    write: impl FnOnce(&dyn File) -> std::io::Result<()>,
) -> Result<(), Error> {
    replace_by(disk, path, Open::TruncateAs(access), write)?;
    sync_parent(disk, path)
}

/// Waits until the replacement or removal of a file is on the disk.
pub fn sync_parent(disk: &dyn Disk, path: &Path) -> Result<(), Error> {
    disk.sync_directory(parent_of(path))
        .map_err(|source| Error::io("sync the directory of", path, source))
}

/// As [`replace`], without the last step: for many files, whose directory is synced before anything relies on them, and
/// of which a power cut may leave the old or the new one.
pub fn replace_unsynced(
    disk: &dyn Disk,
    path: &Path,
    write: impl FnOnce(&dyn File) -> std::io::Result<()>,
) -> Result<(), Error> {
    let before = Access::of(path).map_err(|source| Error::io("look at", path, source))?;
    let how = before.map_or(Open::Truncate, Open::TruncateAs);
    replace_by(disk, path, how, write)
}

fn replace_by(
    disk: &dyn Disk,
    path: &Path,
    how: Open,
    write: impl FnOnce(&dyn File) -> std::io::Result<()>,
) -> Result<(), Error> {
    let at = |doing| move |source| Error::io(doing, path, source);
    let fresh = fresh_path(path);
    let file = disk.open(&fresh, how).map_err(at("create"))?;
    let done = write(&*file)
        .map_err(at("write"))
        .and_then(|()| file.sync().map_err(at("sync")))
        .and_then(|()| disk.rename(&fresh, path).map_err(at("put in place")));
    if done.is_err() {
        // The disk may be full because of it. A remaining file is overwritten the next time.
        let _ = disk.remove(&fresh);
    }
    done
}

/// Maps a file; `None` if it cannot be opened.
pub fn map_whole(disk: &dyn Disk, path: &Path) -> Option<MapRef> {
    let file = disk.open(path, Open::Read).ok()?;
    file.map(file.length().ok()?).ok()
}

/// The content of a file; `None` if it is missing.
pub fn read_whole(disk: &dyn Disk, path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let at = |source| Error::io("read", path, source);
    let file = match disk.open(path, Open::Read) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(at(error)),
    };
    let mut bytes = vec![0; file.length().map_err(at)? as usize];
    let got = file.read_at(&mut bytes, 0).map_err(at)?;
    bytes.truncate(got);
    Ok(Some(bytes))
}

/// The temporary name of a file before it is renamed.
pub fn fresh_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    name.into()
}
