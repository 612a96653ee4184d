//! An archive of files, as in the classic spool: `group/as/directories/NUMBER`, or `NUMBER` in the directory itself.
//!
//! A file gets its name once its content is on the disk, and existing files are never changed. So the next run can finish
//! a run that was killed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use groups::name;
use store::Position;

use super::copy_error::CopyError;

/// The archive, and the state of the current run.
#[derive(Debug)]
pub struct FileArchive {
    root: PathBuf,
    flat: bool,
    /// Directories with entries that are not durable yet.
    touched: BTreeSet<PathBuf>,
    /// Groups' directories whose own names, and those of the directories above, this run has made durable or will.
    known: BTreeSet<PathBuf>,
    /// The file of the last article, for its other groups.
    last: Option<(Position, PathBuf)>,
}

impl FileArchive {
    /// Opens the archive in an existing directory.
    pub fn new(root: PathBuf, flat: bool) -> FileArchive {
        FileArchive {
            root,
            flat,
            touched: BTreeSet::new(),
            known: BTreeSet::new(),
            last: None,
        }
    }

    /// Copies an article, in native form, under its number in a group. Its name is durable after [`FileArchive::flush`].
    pub fn copy(
        &mut self,
        position: Position,
        (group, number): (&[u8], u64),
        native: &[u8],
    ) -> Result<(), CopyError> {
        if !name::is_safe(group) {
            return Err(CopyError::Name);
        }
        let folder = self.folder(group);
        let path = folder.join(number.to_string());
        let twin = self.last.take().filter(|(last, _)| *last == position);
        let linked = twin.is_some_and(|(_, twin)| fs::hard_link(twin, &path).is_ok());
        if !linked {
            let temporary = temporary_name(&path);
            if is_there(&path, native)? {
                // An earlier run may have been killed between the link and the removal.
                let _ = fs::remove_file(temporary);
            } else {
                self.write(&temporary, &path, native)?;
            }
        }
        if !self.known.contains(&folder) {
            // A run that was killed may have made them.
            self.touched.extend(self.levels(&folder));
            self.known.insert(folder.clone());
        }
        self.touched.insert(folder);
        self.last = Some((position, path));
        Ok(())
    }

    /// Makes the names of all copies durable.
    pub fn flush(&mut self) -> Result<(), CopyError> {
        self.last = None;
        while let Some(folder) = self.touched.pop_first() {
            store::sync_directory(&folder)
                .map_err(|error| CopyError::io("sync", &folder, error))?;
        }
        Ok(())
    }

    fn folder(&self, group: &[u8]) -> PathBuf {
        if self.flat {
            return self.root.clone();
        }
        let parts = group.split(|&b| b == b'.').map(OsStr::from_bytes);
        parts.fold(self.root.clone(), |path, part| path.join(part))
    }

    fn write(&self, temporary: &Path, path: &Path, native: &[u8]) -> Result<(), CopyError> {
        let mut file = match open_new(temporary) {
            // As in C News: directories are created only when opening the file fails.
            Err(error) if error.kind() == ErrorKind::NotFound && !self.flat => {
                self.make(path.parent().unwrap_or(&self.root))?;
                open_new(temporary)
            }
            opened => opened,
        }
        .map_err(|error| CopyError::io("make", temporary, error))?;
        let done = file
            .write_all(native)
            .and_then(|()| file.sync_all())
            .map_err(|error| CopyError::io("write", temporary, error))
            .and_then(|()| publish(temporary, path, native));
        // A leftover would only take space, which may be what is missing.
        let removed = fs::remove_file(temporary);
        done?;
        match removed {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(CopyError::io("remove", temporary, error))
            }
            _ => Ok(()),
        }
    }

    /// A directory and those above it, up to that of the archive.
    fn levels(&self, folder: &Path) -> Vec<PathBuf> {
        let levels = folder.ancestors().take_while(|path| *path != self.root);
        let mut levels: Vec<PathBuf> = levels.map(Path::to_owned).collect();
        levels.push(self.root.clone());
        levels
    }

    /// Creates the directories of a group. The archive's own directory must exist.
    fn make(&self, folder: &Path) -> Result<(), CopyError> {
        for path in self.levels(folder).iter().rev().skip(1) {
            match fs::create_dir(path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                made => made.map_err(|error| CopyError::io("make", path, error))?,
            }
        }
        Ok(())
    }
}

/// The name of a file until all of it is on the disk.
fn temporary_name(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".new");
    path.with_file_name(name)
}

/// Creates a file; replaces the leftover of a killed run.
fn open_new(path: &Path) -> std::io::Result<File> {
    let open = || OpenOptions::new().write(true).create_new(true).open(path);
    match open() {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            open()
        }
        opened => opened,
    }
}

/// Gives a file its name, unless that name exists already.
fn publish(temporary: &Path, path: &Path, native: &[u8]) -> Result<(), CopyError> {
    match fs::hard_link(temporary, path) {
        Ok(()) => Ok(()),
        // Some file systems have no hard links.
        Err(_) if !is_there(path, native)? => {
            fs::rename(temporary, path).map_err(|error| CopyError::io("make", path, error))
        }
        Err(_) => Ok(()),
    }
}

/// Returns true if this very article is there already, durably. Any other file there is an error.
fn is_there(path: &Path, native: &[u8]) -> Result<bool, CopyError> {
    let at = |error| CopyError::io("read", path, error);
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        found => found.map_err(at)?,
    };
    if !found.is_file() || found.len() != native.len() as u64 {
        return Err(CopyError::InTheWay(path.to_owned()));
    }
    let mut file = File::open(path).map_err(at)?;
    let mut bytes = Vec::with_capacity(native.len());
    (&mut file)
        .take(native.len() as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(at)?;
    if bytes != native {
        return Err(CopyError::InTheWay(path.to_owned()));
    }
    file.sync_all()
        .map_err(|error| CopyError::io("sync", path, error))?;
    Ok(true)
}
