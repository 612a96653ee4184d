//! The files of the segments of a running news directory, for another node: lists them, and reads pieces of them. It takes no lock, and maps
//! nothing. Articles that are in an object store are read from there: the other node has another place in it.

use std::fs::{File, Metadata};
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};

use crate::Error;
use crate::index::watermark::Watermark;
use crate::index::{self, Index};
use crate::io::disk::{Disk, Open, RealDisk};
use crate::log::segments::{SegmentFile, Segments};
use crate::offload::object_name::ObjectName;
use crate::offload::objects::{self, ObjectStore};

/// Bytes that are hashed at once.
const PIECE_BYTES: usize = 256 << 10;
/// The same of an object: a store answers within some time, however little it is asked for.
const OBJECT_PIECE_BYTES: usize = 4 << 20;
/// Looks at a store whose current segment changes meanwhile.
const ATTEMPTS: usize = 5;
/// Time for the writer to finish a checkpoint, and the interval at which the index is asked meanwhile.
const CHECKPOINT_PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);
/// The time of change of what is in an object store.
const IN_OBJECT_STORE: i64 = i64::MIN;
/// Bytes in a unit of `st_blocks`.
const SECTOR_BYTES: u64 = 512;

/// One state of a sealed file: it changes when the file is replaced, punched or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileVersion {
    /// The inode.
    pub inode: u64,
    /// The time of the last change of the inode, ns since 1970.
    pub changed: i64,
    /// Its length, bytes.
    pub length: u64,
}

impl FileVersion {
    fn of(facts: &Metadata) -> FileVersion {
        FileVersion {
            inode: facts.ino(),
            changed: facts
                .ctime()
                .saturating_mul(1_000_000_000)
                .saturating_add(facts.ctime_nsec()),
            length: facts.size(),
        }
    }

    /// The version of articles in an object store: the file here changes with each one that is read.
    fn of_object(sum: NonZeroU64, length: u64) -> FileVersion {
        FileVersion {
            inode: sum.get(),
            changed: IN_OBJECT_STORE,
            length,
        }
    }

    /// The sum in the name of the object.
    fn object(self) -> Option<NonZeroU64> {
        match self.changed {
            IN_OBJECT_STORE => NonZeroU64::new(self.inode),
            _ => None,
        }
    }
}

/// Where the bytes of a file are.
enum Content {
    File(File),
    Object(Arc<ObjectStore>, ObjectName),
}

impl Content {
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Content::File(file) => file.read_exact_at(buffer, offset),
            Content::Object(store, name) => store.read_if_up(*name, offset, buffer),
        }
    }
}

/// A file of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedFile {
    /// The base of the segment.
    pub base: u64,
    /// Which of its files.
    pub file: SegmentFile,
    /// The bytes that belong to the list.
    pub length: u64,
    /// Bytes of the disk that it takes up: fewer if it has holes.
    pub allocated: u64,
    /// `None`: the `.art` of the current segment, to which articles are appended.
    pub version: Option<FileVersion>,
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The files, by the bases of their segments.
    pub files: Vec<ListedFile>,
    /// Where the next page begins. `None`: this one is the last.
    pub next: Option<u64>,
}

/// The segments of a news directory that may be in use.
#[derive(Debug)]
pub struct Source {
    disk: Arc<dyn Disk>,
    segments: Segments,
    index: std::path::PathBuf,
}

impl Source {
    /// Those of the news directory `dir`.
    pub fn of(dir: &Path) -> Source {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        Source {
            segments: Segments::of(&disk, dir),
            index: dir.join(index::FILE),
            disk,
        }
    }

    /// Lists at most about `most` files, from the segment `from` on.
    ///
    /// # Errors
    /// The store cannot be read, or recovers at this moment.
    pub fn list(&self, from: u64, most: usize) -> Result<Page, Error> {
        for _ in 0..ATTEMPTS {
            let current = self.mark()?.base;
            let mut bases = self.segments.bases_with(&SegmentFile::ALL)?;
            bases.retain(|base| (from..=current).contains(base));
            let mut page = Page {
                files: Vec::new(),
                next: None,
            };
            for base in bases {
                if page.files.len() >= most {
                    page.next = Some(base);
                    return Ok(page);
                }
                if base < current {
                    self.look(base, &mut page.files)?;
                }
            }
            // After the files: what let them go is before this end.
            let mark = self.mark()?;
            if mark.base == current {
                page.files.push(ListedFile {
                    base: current,
                    file: SegmentFile::Art,
                    length: mark.art_end,
                    allocated: mark.art_end,
                    version: None,
                });
                return Ok(page);
            }
        }
        Err(self.busy())
    }

    fn busy(&self) -> Error {
        let source = io::Error::new(io::ErrorKind::WouldBlock, "it is being made again");
        Error::io("read", &self.index, source)
    }

    /// The end of what is committed. While the writer makes a checkpoint the index tells none: it is asked again.
    fn mark(&self) -> Result<Watermark, Error> {
        let began = Instant::now();
        loop {
            let index = Index::open(&*self.disk, &self.index, Open::Read)?;
            let run = self.segments.run_id();
            match index.and_then(|index| index.applied(run)) {
                Some(mark) => return Ok(mark),
                None if began.elapsed() > CHECKPOINT_PATIENCE => return Err(self.busy()),
                None => std::thread::sleep(PAUSE),
            }
        }
    }

    /// Adds the files of a sealed segment.
    fn look(&self, base: u64, files: &mut Vec<ListedFile>) -> Result<(), Error> {
        let mut has_articles = false;
        for file in SegmentFile::ALL {
            let path = self.segments.path(base, file);
            let facts = match std::fs::metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                facts => facts.map_err(|source| Error::io("read", &path, source))?,
            };
            has_articles |= file == SegmentFile::Art;
            // Whoever fetches the articles has them on its disk.
            if file == SegmentFile::Clk {
                continue;
            }
            // Of a segment that is gone, its history alone remains.
            if !has_articles && file != SegmentFile::His {
                continue;
            }
            let object = match file {
                SegmentFile::Art => self.segments.header(base)?.and_then(|header| header.object),
                _ => None,
            };
            let (allocated, version) = match object {
                Some(sum) => (facts.size(), FileVersion::of_object(sum, facts.size())),
                None => (facts.blocks() * SECTOR_BYTES, FileVersion::of(&facts)),
            };
            files.push(ListedFile {
                base,
                file,
                length: facts.size(),
                allocated: allocated.min(facts.size()),
                version: Some(version),
            });
        }
        Ok(())
    }

    /// The bytes of a file if it is still the one of a list.
    fn open(&self, listed: &ListedFile) -> Result<Option<Content>, Error> {
        if listed.file == SegmentFile::Art
            && let Some(sum) = listed.version.and_then(FileVersion::object)
        {
            let (base, store) = (listed.base, objects::of(self.segments.directory())?);
            let content = Content::Object(store, ObjectName { base, sum });
            return Ok(self.is_still(&content, listed)?.then_some(content));
        }
        let path = self.segments.path(listed.base, listed.file);
        match crate::regular::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            opened => {
                let file = opened.map_err(|source| Error::io("read", &path, source))?;
                let is_same = self.is_as_listed(&file, listed)?;
                Ok(is_same.then_some(Content::File(file)))
            }
        }
    }

    /// Whether what was read from it is of the list.
    fn is_still(&self, content: &Content, listed: &ListedFile) -> Result<bool, Error> {
        match content {
            Content::File(file) => self.is_as_listed(file, listed),
            Content::Object(_, name) => {
                let header = self.segments.header(name.base)?;
                Ok(header.is_some_and(|header| header.object == Some(name.sum)))
            }
        }
    }

    fn is_as_listed(&self, file: &File, listed: &ListedFile) -> Result<bool, Error> {
        let path = self.segments.path(listed.base, listed.file);
        let facts = file
            .metadata()
            .map_err(|source| Error::io("read", &path, source))?;
        match listed.version {
            Some(version) => Ok(FileVersion::of(&facts) == version),
            None => Ok(facts.size() >= listed.length),
        }
    }

    /// Reads bytes of a file from an offset on; returns their number. `None`: the file is not the one of the list any more.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(
        &self,
        listed: &ListedFile,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<Option<usize>, Error> {
        let Some(content) = self.open(listed)? else {
            return Ok(None);
        };
        let path = self.segments.path(listed.base, listed.file);
        let at = |source| Error::io("read", &path, source);
        let rest = usize::try_from(listed.length.saturating_sub(offset)).unwrap_or(usize::MAX);
        let most = rest.min(buffer.len());
        let buffer = buffer.get_mut(..most).unwrap_or_default();
        let done = content.read_exact_at(buffer, offset);
        // Not what was punched, replaced, or deleted in the object store while it was read.
        match self.is_still(&content, listed)? {
            true => done.map(|()| Some(most)).map_err(at),
            false => Ok(None),
        }
    }

    /// The SHA-256 of a file, as far as it is in the list. `None`: it is not the file of the list any more.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn hash(&self, listed: &ListedFile) -> Result<Option<[u8; 32]>, Error> {
        let Some(content) = self.open(listed)? else {
            return Ok(None);
        };
        let path = self.segments.path(listed.base, listed.file);
        let at = |source| Error::io("read", &path, source);
        let piece_bytes = match content {
            Content::File(_) => PIECE_BYTES,
            Content::Object(..) => OBJECT_PIECE_BYTES,
        };
        let read = |bytes: &mut [u8], offset| content.read_exact_at(bytes, offset);
        let hash = hash_by((listed.length, piece_bytes), read);
        // What is sealed may have been punched before it was read.
        let is_same = match listed.version {
            Some(_) => self.is_still(&content, listed)?,
            None => self.mark()?.base == listed.base,
        };
        match is_same {
            true => hash.map(Some).map_err(at),
            false => Ok(None),
        }
    }
}

/// The SHA-256 of the first bytes of a file.
///
/// # Errors
/// The file cannot be read, or is shorter.
pub fn hash_of(file: &File, length: u64) -> io::Result<[u8; 32]> {
    let read = |bytes: &mut [u8], offset| file.read_exact_at(bytes, offset);
    hash_by((length, PIECE_BYTES), read)
}

fn hash_by(
    (length, piece_bytes): (u64, usize),
    read: impl Fn(&mut [u8], u64) -> io::Result<()>,
) -> io::Result<[u8; 32]> {
    let mut hash = Sha256::new();
    let mut piece = vec![0; piece_bytes];
    let mut offset = 0;
    while offset < length {
        let count = usize::try_from(length - offset).unwrap_or(usize::MAX);
        let count = count.min(piece.len());
        let bytes = piece.get_mut(..count).unwrap_or_default();
        read(bytes, offset)?;
        hash.update(&bytes);
        offset += count as u64;
    }
    Ok(hash.finalize().into())
}
