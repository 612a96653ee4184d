//! The segments of a news directory: which there are, and how their files are opened. No other file knows where a segment lies.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Error;
use crate::io::append_file::AppendFile;
use crate::io::disk::{Disk, File, Open, RunId};
use crate::io::map::MapRef;
use crate::io::replace::{fresh_path, replace_unsynced};
use crate::log::position::SegmentRange;
use crate::log::record::Record;
use crate::log::segment::SEGMENT_BYTES_MAX;
use crate::log::segment::{SEGMENT_HEADER_BYTES, SegmentHeader};
use crate::log::walk::{Step, Walk};
use crate::offload::offloaded_file;

/// The files of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SegmentFile {
    /// The articles: the source of the others.
    Art,
    /// History lines.
    His,
    /// Overview rows.
    Ovr,
    /// History lines that expire decides one by one.
    Exp,
    /// The Cancel-Locks, while the articles are in an object store.
    Clk,
}

impl SegmentFile {
    /// All files of a segment.
    pub const ALL: [SegmentFile; 5] = [
        SegmentFile::Art,
        SegmentFile::Ovr,
        SegmentFile::Exp,
        SegmentFile::His,
        SegmentFile::Clk,
    ];
    /// The files that are derived from `.art`, and that each segment has.
    pub const DERIVED: [SegmentFile; 3] = [SegmentFile::His, SegmentFile::Ovr, SegmentFile::Exp];

    /// The file name extension, without the dot.
    pub fn suffix(self) -> &'static str {
        match self {
            SegmentFile::Art => "art",
            SegmentFile::His => "his",
            SegmentFile::Ovr => "ovr",
            SegmentFile::Exp => "exp",
            SegmentFile::Clk => "clk",
        }
    }
}

/// The action in an error about an unreadable derived file, with the remedy.
pub const REMAKE: &str = "read (run `broadsheet fsck --repair` to make it again)";

/// The folder of the segments, in the news directory.
const FOLDER: &str = "segments";

/// The segments of one news directory.
#[derive(Debug, Clone)]
pub struct Segments {
    disk: Arc<dyn Disk>,
    folder: PathBuf,
    may_fetch: bool,
}

impl Segments {
    /// The segments of the news directory `dir`. Nothing is opened yet.
    pub fn of(disk: &Arc<dyn Disk>, dir: &Path) -> Segments {
        Segments {
            disk: disk.clone(),
            folder: dir.join(FOLDER),
            may_fetch: true,
        }
    }

    /// Like [`Segments::of`], but fails if `dir` is not a news directory.
    pub fn find(disk: &Arc<dyn Disk>, dir: &Path) -> Result<Segments, Error> {
        let segments = Segments::of(disk, dir);
        match std::fs::metadata(&segments.folder) {
            Ok(found) if found.is_dir() => Ok(segments),
            Err(source) if source.kind() == std::io::ErrorKind::PermissionDenied => {
                Err(Error::io("use", dir, source))
            }
            _ => Err(Error::NotANewsDirectory(dir.to_owned())),
        }
    }

    /// The bases of all segments, ascending.
    pub fn bases(&self) -> Result<Vec<u64>, Error> {
        self.bases_with(&[SegmentFile::Art])
    }

    /// The bases of the segments that have one of these files, ascending. The history of a segment may outlive its articles.
    pub fn bases_with(&self, files: &[SegmentFile]) -> Result<Vec<u64>, Error> {
        let names = self
            .disk
            .list(&self.folder)
            .map_err(|source| Error::io("list", &self.folder, source))?;
        let base = |name: &PathBuf| {
            let name = name.as_os_str();
            files.iter().find_map(|file| base_of_file(name, *file))
        };
        let mut bases: Vec<u64> = names.iter().filter_map(base).collect();
        bases.sort_unstable();
        bases.dedup();
        Ok(bases)
    }

    /// The segments that have rows and no `.art`: all their articles are lost. Expire empties `.ovr` before it removes `.art`, and the
    /// interrupted creation of a segment leaves an empty one: those are correct.
    pub fn lost(&self) -> Result<Vec<u64>, Error> {
        let whole = self.bases()?;
        let mut lost = self.bases_with(&[SegmentFile::Ovr])?;
        lost.retain(|base| {
            let is_empty = |length| length == 0;
            whole.binary_search(base).is_err()
                && !self.length(*base, SegmentFile::Ovr).is_ok_and(is_empty)
        });
        Ok(lost)
    }

    /// The error about such a segment.
    pub fn lost_error(&self, base: u64) -> Error {
        Error::Damaged {
            path: self.path(base, SegmentFile::Art),
            offset: 0,
            what: "it is missing, and expire did not remove it: put it back, or all its articles are lost",
        }
    }

    /// Whether there is not a single file of a segment.
    pub fn is_empty(&self) -> Result<bool, Error> {
        Ok(self.bases_with(&SegmentFile::ALL)?.is_empty())
    }

    /// The error where there are no segments at all, although there were some.
    pub fn none_error(&self) -> Error {
        let why = "it has no segments, and `index' knows of some: mount the disk that they are on. If they are lost, restore a backup; \
                   to begin with an empty log, remove `index'";
        let error = io::Error::new(io::ErrorKind::NotFound, why);
        Error::io("use", &self.folder, error)
    }

    /// The path of a file of the segment at `base`, for messages and for a file that takes its place.
    pub fn path(&self, base: u64, file: SegmentFile) -> PathBuf {
        self.folder.join(format!("{base:020}.{}", file.suffix()))
    }

    /// The path of the folder, for messages.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The number of this run of the machine, and of the mounts that the news directory and its segments lie on ([`Disk::run_id`]).
    pub fn run_id(&self) -> RunId {
        let dir = self.folder.parent().unwrap_or(Path::new("."));
        self.disk.run_id([dir, &self.folder])
    }

    /// The disk that the segments lie on.
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// Opens a file of the segment at `base`. Articles that are in an object store are read from there; open for writing, the file is the
    /// cache alone.
    pub fn open(&self, base: u64, file: SegmentFile, how: Open) -> io::Result<Box<dyn File>> {
        let opened = self.disk.open(&self.path(base, file), how)?;
        match file == SegmentFile::Art && how == Open::Read {
            true => Ok(offloaded_file::over(opened, self, base)),
            false => Ok(opened),
        }
    }

    /// The news directory.
    pub fn directory(&self) -> &Path {
        self.folder.parent().unwrap_or(Path::new("."))
    }

    /// The segments whose `.art` has no valid header, each as an error. The last one may be without it: its creation was interrupted before any
    /// article was filed in it.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn damaged_headers(&self) -> Result<Vec<Error>, Error> {
        let bases = self.bases()?;
        let is_unfinished = |base: u64| {
            bases.last() == Some(&base)
                && self
                    .length(base, SegmentFile::Art)
                    .is_ok_and(|length| length <= SEGMENT_HEADER_BYTES)
        };
        let fault = |base: &u64| match self.header(*base) {
            Ok(Some(header)) => header
                .check_base(*base, &self.path(*base, SegmentFile::Art))
                .err(),
            Ok(None) => None,
            Err(error) => Some(error).filter(|_| !is_unfinished(*base)),
        };
        Ok(bases.iter().filter_map(fault).collect())
    }

    /// The header of the segment at `base`; `None` if there is no such segment.
    pub fn header(&self, base: u64) -> Result<Option<SegmentHeader>, Error> {
        let path = self.path(base, SegmentFile::Art);
        match self.disk.open(&path, Open::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => {
                let file = opened.map_err(|source| Error::io("read", &path, source))?;
                SegmentHeader::read(&*file, &path).map(Some)
            }
        }
    }

    /// The positions of the segment at `base`, whose articles may be gone.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn range(&self, base: u64) -> Result<SegmentRange, Error> {
        let bases = self.bases_with(&[SegmentFile::Art, SegmentFile::His])?;
        let next = bases.into_iter().find(|next| *next > base);
        Ok(self.range_before(base, next))
    }

    /// As [`Segments::range`], where the base of the next segment is known.
    pub fn range_before(&self, base: u64, next: Option<u64>) -> SegmentRange {
        // Without its header, its span is unknown.
        let header = self.header(base).ok().flatten();
        let header = header.filter(|header| header.base == base && header.span > 0);
        let span = header.map_or(SEGMENT_BYTES_MAX, |header| header.span);
        let end = base.saturating_add(span);
        SegmentRange::new(base, next.map_or(end, |next| end.min(next)))
    }

    /// Articles are read from an object store only where the caller allows it: a thread that serves many clients may not wait.
    pub fn may_fetch(&self) -> bool {
        self.may_fetch
    }

    /// From now on articles in an object store are an error ([`Error::Offloaded`]).
    pub fn set_may_fetch(&mut self, may_fetch: bool) {
        self.may_fetch = may_fetch;
    }

    /// Opens a file of the segment at `base` to append to it behind `end`.
    pub fn append(
        &self,
        base: u64,
        file: SegmentFile,
        how: Open,
        end: u64,
    ) -> Result<AppendFile, Error> {
        AppendFile::open(&*self.disk, self.path(base, file), how, end)
    }

    /// The length of a file of the segment at `base`, bytes.
    pub fn length(&self, base: u64, file: SegmentFile) -> io::Result<u64> {
        self.open(base, file, Open::Read)?.length()
    }

    /// The length of the `.art` file of the segment at `base`, bytes.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn art_length(&self, base: u64) -> Result<u64, Error> {
        self.length(base, SegmentFile::Art)
            .map_err(|source| Error::io("read", &self.path(base, SegmentFile::Art), source))
    }

    /// The bytes of all readable `.art` files, for the progress of their reader.
    pub fn log_bytes(&self) -> u64 {
        let bases = self.bases().unwrap_or_default();
        let lengths = bases.iter().map(|&base| self.art_length(base));
        lengths.map(|length| length.unwrap_or(0)).sum()
    }

    /// Opens the `.art` file of the segment at `base` and reads its header.
    pub fn open_art(&self, base: u64, how: Open) -> Result<(Box<dyn File>, SegmentHeader), Error> {
        let path = self.path(base, SegmentFile::Art);
        let file = self
            .open(base, SegmentFile::Art, how)
            .map_err(|source| Error::io("read", &path, source))?;
        let header = SegmentHeader::read(&*file, &path)?;
        Ok((file, header))
    }

    /// Opens a derived file of a segment for reading. `None`: expire has removed the segment since its base was listed, so nothing is
    /// known there any more. A derived file that is missing beside its `.art` is an error.
    pub fn open_derived(
        &self,
        base: u64,
        file: SegmentFile,
    ) -> Result<Option<Box<dyn File>>, Error> {
        let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        match self.open(base, file, Open::Read) {
            Ok(opened) => Ok(Some(opened)),
            Err(source) if is_gone(&source) => {
                match self.open(base, SegmentFile::Art, Open::Read) {
                    Err(error) if is_gone(&error) => Ok(None),
                    _ => Err(Error::io(REMAKE, &self.path(base, file), source)),
                }
            }
            Err(source) => Err(Error::io(REMAKE, &self.path(base, file), source)),
        }
    }

    /// Maps a derived file of a segment; an empty map if expire has removed the segment.
    pub fn map_derived(&self, base: u64, file: SegmentFile) -> Result<MapRef, Error> {
        let Some(opened) = self.open_derived(base, file)? else {
            return Ok(MapRef::default());
        };
        opened
            .length()
            .and_then(|length| opened.map(length))
            .map_err(|source| Error::io(REMAKE, &self.path(base, file), source))
    }

    /// Makes the files of a new segment, durably.
    pub fn create(&self, header: SegmentHeader) -> Result<(), Error> {
        // `.art` is the last one: the segment exists when its `.art` does.
        for file in SegmentFile::DERIVED.into_iter().chain([SegmentFile::Art]) {
            let path = self.path(header.base, file);
            let at = |doing| {
                let path = path.clone();
                move |source| Error::io(doing, &path, source)
            };
            let opened = self.disk.open(&path, Open::Truncate).map_err(at("make"))?;
            if file == SegmentFile::Art {
                opened
                    .write_at(&header.to_bytes(), 0)
                    .map_err(at("write"))?;
                opened.sync().map_err(at("sync"))?;
            }
        }
        self.sync()
    }

    /// Writes a file of a segment anew, in the place of the old one. The folder is not synced: see [`Segments::sync`].
    pub fn replace(
        &self,
        base: u64,
        file: SegmentFile,
        write: impl FnOnce(&dyn File) -> io::Result<()>,
    ) -> Result<(), Error> {
        replace_unsynced(&*self.disk, &self.path(base, file), write)
    }

    /// Removes a file of a segment, if it exists.
    pub fn remove(&self, base: u64, file: SegmentFile) -> Result<(), Error> {
        self.remove_if_there(&self.path(base, file))
    }

    /// Removes the files that an interrupted [`Segments::replace`] left.
    pub fn remove_unfinished(&self, base: u64) -> Result<(), Error> {
        let mut files = SegmentFile::ALL.into_iter();
        files.try_for_each(|file| self.remove_if_there(&fresh_path(&self.path(base, file))))
    }

    fn remove_if_there(&self, path: &Path) -> Result<(), Error> {
        match self.disk.remove(path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(Error::io("remove", path, source))
            }
            _ => Ok(()),
        }
    }

    /// Waits until names that were added, replaced or removed are on the disk.
    pub fn sync(&self) -> Result<(), Error> {
        self.disk
            .sync_directory(&self.folder)
            .map_err(|source| Error::io("sync", &self.folder, source))
    }

    /// The length of the `.art` file of a segment, and the bytes of the disk that it takes up: fewer if it has holes. Zeros if it is gone.
    pub fn art_bytes(&self, base: u64) -> (u64, u64) {
        let opened = self.open(base, SegmentFile::Art, Open::Read);
        let told = opened.and_then(|file| {
            let length = file.length()?;
            Ok((length, held_bytes(&*file)?))
        });
        told.unwrap_or_default()
    }

    /// Bytes of the disk that the articles take up.
    pub fn articles_bytes(&self) -> Result<u64, Error> {
        let bases = self.bases()?;
        Ok(bases.iter().map(|base| self.art_bytes(*base).1).sum())
    }

    /// Bytes of the disk that the files of a segment take up.
    pub fn allocated(&self, base: u64) -> u64 {
        let files = SegmentFile::ALL.into_iter();
        files
            .filter_map(|file| held_bytes(&*self.open(base, file, Open::Read).ok()?).ok())
            .sum()
    }

    /// Calls `each` for every sound record of a segment, with its offset.
    pub fn each_record(
        &self,
        base: u64,
        mut each: impl FnMut(u64, &Record<'_>),
    ) -> Result<(), Error> {
        let path = self.path(base, SegmentFile::Art);
        let at = |doing| {
            let path = path.clone();
            move |source| Error::io(doing, &path, source)
        };
        let file = self
            .open(base, SegmentFile::Art, Open::Read)
            .map_err(at("open"))?;
        let mut walk = Walk::new(&*file, SEGMENT_HEADER_BYTES, u64::MAX).map_err(at("read"))?;
        while let Some(step) = walk.next().map_err(at("read"))? {
            if let Step::Record(offset, record) = step {
                each(offset, &record);
            }
        }
        Ok(())
    }
}

/// Bytes of the disk that a file keeps from others. A cache of the object store never had more than is allocated in it.
fn held_bytes(file: &dyn File) -> io::Result<u64> {
    let allocated = file.allocated()?;
    Ok(match file.holes_return_space() {
        true => allocated,
        false => allocated.max(file.length()?),
    })
}

/// Whether a directory is a news directory, as far as this user may see.
pub fn is_news_directory(dir: &Path) -> bool {
    dir.join(FOLDER).is_dir()
}

/// The base of the segment that a position belongs to; `bases` ascend. `None`: the position lies before all of them.
pub fn base_of(bases: &[u64], position: u64) -> Option<u64> {
    let after = bases.partition_point(|base| *base <= position);
    bases.get(after.checked_sub(1)?).copied()
}

/// The base in the name of a file of one kind; `None` for any other name.
fn base_of_file(name: &OsStr, file: SegmentFile) -> Option<u64> {
    let digits = name
        .to_str()?
        .strip_suffix(file.suffix())?
        .strip_suffix('.')?;
    (digits.len() == 20 && digits.bytes().all(|b| b.is_ascii_digit()))
        .then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::disk::RealDisk;

    #[test]
    fn a_segment_is_named_by_its_first_byte() {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let segments = Segments::of(&disk, Path::new(""));
        let path = segments.path(268_435_456, SegmentFile::Art);
        assert_eq!(path.to_str(), Some("segments/00000000000268435456.art"));
        assert_eq!(
            base_of_file(path.file_name().unwrap(), SegmentFile::Art),
            Some(268_435_456)
        );
        assert_eq!(
            base_of_file(OsStr::new("00000000000268435456.his"), SegmentFile::Art),
            None
        );
        assert_eq!(base_of_file(OsStr::new("x.art"), SegmentFile::Art), None);
    }
}
