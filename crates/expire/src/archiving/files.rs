//! An archive of files, as the classic spool: `group/as/directories/NUMBER`, or `NUMBER` in the directory itself.
//!
//! A file appears under its name when all of it is on the disk; what is there already is never touched. So a run that was
//! killed can be finished by the next.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use groups::name;
use store::Position;

use super::fault::CopyFault;

/// The archive, as far as one run has come.
#[derive(Debug)]
pub struct Files {
    root: PathBuf,
    flat: bool,
    /// Directories with entries that are not surely on the disk.
    touched: BTreeSet<PathBuf>,
    /// Where the last article is, for its other groups.
    last: Option<(Position, PathBuf)>,
}

impl Files {
    /// Of a directory that is there.
    pub fn new(root: PathBuf, flat: bool) -> Files {
        Files {
            root,
            flat,
            touched: BTreeSet::new(),
            last: None,
        }
    }

    /// Copies an article, in native form, under its number in a group. Its name is sure after [`Files::flush`].
    pub fn copy(
        &mut self,
        position: Position,
        (group, number): (&[u8], u64),
        native: &[u8],
    ) -> Result<(), CopyFault> {
        if !name::is_safe(group) {
            return Err(CopyFault::Name);
        }
        let folder = self.folder(group);
        let path = folder.join(number.to_string());
        let twin = self.last.take().filter(|(last, _)| *last == position);
        let linked = twin.is_some_and(|(_, twin)| fs::hard_link(twin, &path).is_ok());
        if !linked {
            let fresh = fresh_name(&path);
            if is_there(&path, native)? {
                // A kill may have come just before this.
                let _ = fs::remove_file(fresh);
            } else {
                self.write(&fresh, &path, native)?;
            }
        }
        self.touched.insert(folder);
        self.last = Some((position, path));
        Ok(())
    }

    /// Makes the names of all that was copied sure.
    pub fn flush(&mut self) -> Result<(), CopyFault> {
        self.last = None;
        while let Some(folder) = self.touched.pop_first() {
            File::open(&folder)
                .and_then(|opened| opened.sync_all())
                .map_err(|fault| CopyFault::io("sync", &folder, fault))?;
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

    fn write(&mut self, fresh: &Path, path: &Path, native: &[u8]) -> Result<(), CopyFault> {
        let mut file = match open_new(fresh) {
            // As C News: directories are made only when it does not work without.
            Err(fault) if fault.kind() == ErrorKind::NotFound && !self.flat => {
                self.make(path.parent().unwrap_or(&self.root).to_owned())?;
                open_new(fresh)
            }
            opened => opened,
        }
        .map_err(|fault| CopyFault::io("make", fresh, fault))?;
        let done = file
            .write_all(native)
            .and_then(|()| file.sync_all())
            .map_err(|fault| CopyFault::io("write", fresh, fault))
            .and_then(|()| put_in_place(fresh, path, native));
        // After a failure it would only take space, of which there may be none.
        let removed = fs::remove_file(fresh);
        done?;
        match removed {
            Err(fault) if fault.kind() != ErrorKind::NotFound => {
                Err(CopyFault::io("remove", fresh, fault))
            }
            _ => Ok(()),
        }
    }

    /// Makes the directories of a group. The archive's own must be there.
    fn make(&mut self, folder: PathBuf) -> Result<(), CopyFault> {
        let under: Vec<&Path> = folder
            .ancestors()
            .take_while(|path| *path != self.root)
            .collect();
        for path in under.into_iter().rev() {
            match fs::create_dir(path) {
                Err(fault) if fault.kind() == ErrorKind::AlreadyExists => {}
                made => made.map_err(|fault| CopyFault::io("make", path, fault))?,
            }
            self.touched
                .extend(path.parent().map(std::borrow::ToOwned::to_owned));
        }
        Ok(())
    }
}

/// What a file is called until all of it is on the disk.
fn fresh_name(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".new");
    path.with_file_name(name)
}

/// A new file, also where a run that was killed left one of this name.
fn open_new(path: &Path) -> std::io::Result<File> {
    let open = || OpenOptions::new().write(true).create_new(true).open(path);
    match open() {
        Err(fault) if fault.kind() == ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            open()
        }
        opened => opened,
    }
}

/// Gives a file its name, unless there is another of that name.
fn put_in_place(fresh: &Path, path: &Path, native: &[u8]) -> Result<(), CopyFault> {
    match fs::hard_link(fresh, path) {
        Ok(()) => Ok(()),
        // Some file systems know no second name.
        Err(_) if !is_there(path, native)? => {
            fs::rename(fresh, path).map_err(|fault| CopyFault::io("make", path, fault))
        }
        Err(_) => Ok(()),
    }
}

/// True when the very article is there already, and surely on the disk. Something else there is a fault.
fn is_there(path: &Path, native: &[u8]) -> Result<bool, CopyFault> {
    let at = |fault| CopyFault::io("read", path, fault);
    let found = match fs::symlink_metadata(path) {
        Err(fault) if fault.kind() == ErrorKind::NotFound => return Ok(false),
        found => found.map_err(at)?,
    };
    if !found.is_file() || found.len() != native.len() as u64 {
        return Err(CopyFault::InTheWay(path.to_owned()));
    }
    let mut file = File::open(path).map_err(at)?;
    let mut bytes = Vec::with_capacity(native.len());
    (&mut file)
        .take(native.len() as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(at)?;
    if bytes != native {
        return Err(CopyFault::InTheWay(path.to_owned()));
    }
    file.sync_all()
        .map_err(|fault| CopyFault::io("sync", path, fault))?;
    Ok(true)
}
