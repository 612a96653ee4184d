//! The active file: the classic text, held in core and written back where it changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use groups::Active;

use crate::Error;
use crate::io::disk::{Disk, File, Open};
use crate::io::replace::replace;
use crate::state::active_text::{parse, read_text};

/// The file and its table.
#[derive(Debug)]
pub struct ActiveFile {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    file: Box<dyn File>,
    /// The table; its image is what the file shall hold.
    pub table: Active,
    /// When it was read, the file ended without a newline: somebody wrote a part of it.
    pub is_cut: bool,
}

impl ActiveFile {
    /// Reads `active` in the news directory.
    pub fn open(disk: &Arc<dyn Disk>, dir: &Path) -> Result<ActiveFile, Error> {
        let path = dir.join("active");
        let file = disk
            .open(&path, Open::Write)
            .map_err(|source| Error::io("open", &path, source))?;
        let text = read_text(&*file, &path)?;
        let is_cut = text.last().is_some_and(|last| *last != b'\n');
        let table = parse(text, &path)?;
        Ok(ActiveFile {
            disk: disk.clone(),
            path,
            file,
            table,
            is_cut,
        })
    }

    /// Writes `active` anew from a table.
    pub fn create(disk: &Arc<dyn Disk>, dir: &Path, table: Active) -> Result<ActiveFile, Error> {
        let path = dir.join("active");
        let file = put_in_place(&**disk, &path, table.image())?;
        Ok(ActiveFile {
            disk: disk.clone(),
            path,
            file,
            table,
            is_cut: false,
        })
    }

    /// Writes what changed since the last time: in place where the lines kept their places, as C News did; else
    /// a new file put in the old one's place.
    pub fn flush(&mut self) -> Result<(), Error> {
        if self.table.layout_changed() {
            self.file = put_in_place(&*self.disk, &self.path, self.table.image())?;
            self.table.layout_saved();
            return Ok(());
        }
        let Some(dirty) = self.table.take_dirty() else {
            return Ok(());
        };
        let start = dirty.start as u64;
        let bytes = self.table.image().get(dirty).unwrap_or_default();
        self.file
            .write_at(bytes, start)
            .map_err(|source| Error::io("write", &self.path, source))
    }

    /// Writes all of it anew, durably.
    pub fn rewrite(&mut self) -> Result<(), Error> {
        self.file = put_in_place(&*self.disk, &self.path, self.table.image())?;
        self.table.layout_saved();
        Ok(())
    }

    /// Waits until it is on the disk.
    pub fn sync(&self) -> Result<(), Error> {
        self.file
            .sync()
            .map_err(|source| Error::io("sync", &self.path, source))
    }

    /// Changes when somebody else writes the file.
    pub fn identity(&self) -> Result<[u64; 3], Error> {
        self.file
            .identity()
            .map_err(|source| Error::io("look at", &self.path, source))
    }
}

/// A checkpoint relies on the file being this one: the log before it is not read again.
fn put_in_place(disk: &dyn Disk, path: &Path, text: &[u8]) -> Result<Box<dyn File>, Error> {
    replace(disk, path, |file| file.write_at(text, 0))?;
    disk.open(path, Open::Write)
        .map_err(|source| Error::io("open", path, source))
}
