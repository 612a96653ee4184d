//! A file that grows at its end.

use std::path::Path;
use std::path::PathBuf;

use crate::Error;
use crate::io::disk::{BLOCK_BYTES, Disk, File, Open};
use crate::io::replace::replace_unsynced;

/// Bytes copied, or written again, at once.
const COPY_BYTES: usize = 1 << 20;

/// One file that grows at its end.
#[derive(Debug)]
pub struct AppendFile {
    /// Its path, for messages.
    pub path: PathBuf,
    /// The open file.
    pub file: Box<dyn File>,
    /// Where the next byte goes.
    pub end: u64,
}

impl AppendFile {
    /// Opens a file of ours that grows; what lies beyond `end` is not ours and is cut off.
    pub fn open(disk: &dyn Disk, path: PathBuf, how: Open, end: u64) -> Result<AppendFile, Error> {
        let file = disk
            .open(&path, how)
            .map_err(|source| Error::io("open", &path, source))?;
        Ok(AppendFile { path, file, end })
    }

    /// The file's own length.
    pub fn length(&self) -> Result<u64, Error> {
        self.file
            .length()
            .map_err(|source| Error::io("read the length of", &self.path, source))
    }

    /// Writes at the end. After an error the file is cut back, so that nothing half-written stays.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.write_behind(bytes, 0, false)?;
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Writes `skip` bytes behind the end, which stays where it is; `direct`: most of it past the page cache where
    /// the file system can (a large commit is read again later or never, and the copy would cost more than all
    /// else that is done to an article). After an error the file is cut back to the end.
    pub fn write_behind(&self, bytes: &[u8], skip: u64, direct: bool) -> Result<(), Error> {
        let at = self.end + skip;
        let written = match split_at_block(bytes, at).filter(|_| direct) {
            None => self.write(bytes, at),
            Some((head, rest)) => self.write(head, at).and_then(|()| {
                let at = at + head.len() as u64;
                if self.file.write_direct(rest, at)? {
                    Ok(())
                } else {
                    self.write(rest, at)
                }
            }),
        };
        written.map_err(|source| {
            // If even this fails, recovery does it at the next start.
            let _ = self.file.set_length(self.end);
            Error::io("write", &self.path, source)
        })
    }

    fn write(&self, bytes: &[u8], at: u64) -> std::io::Result<()> {
        if bytes.is_empty() {
            Ok(())
        } else {
            self.file.write_at(bytes, at)
        }
    }

    /// Makes `end` the file's end.
    pub fn cut(&mut self, end: u64) -> Result<(), Error> {
        self.end = end;
        self.file
            .set_length(end)
            .map_err(|source| Error::io("cut", &self.path, source))
    }

    /// Waits until what was written is on the disk.
    pub fn sync(&self) -> Result<(), Error> {
        self.file
            .sync()
            .map_err(|source| Error::io("sync", &self.path, source))
    }

    /// Writes what lies behind `from` again, past the page cache, as far as `end`, where the file ends then; returns when the disk
    /// has it and gave it back. A sync of it may have failed: then the pages may read well while the disk has nothing, and what is
    /// written to them never gets there, though the next sync succeeds.
    ///
    /// # Errors
    /// The disk does not take it, or gives something else back.
    pub fn write_again(&mut self, from: u64, end: u64) -> Result<(), Error> {
        let from = from - from % BLOCK_BYTES as u64;
        let mut block = Blocks::new();
        let told = self.each_piece(&mut block, (from, end), |file, piece, length, at| {
            let written = piece.get(..length).unwrap_or_default();
            let sum = crc32c::crc32c(written);
            if !file.write_direct(piece, at)? {
                // The best there is where a file system has no other way.
                file.write_at(written, at)?;
            }
            Ok(sum)
        })?;
        // The last block reaches beyond it.
        self.cut(end)?;
        self.sync()?;
        let found = self.each_piece(&mut block, (from, end), |file, piece, length, at| {
            Ok(match file.read_direct(piece, at)? {
                Some(got) => crc32c::crc32c(piece.get(..length.min(got)).unwrap_or_default()),
                None => crc32c::crc32c(piece.get(..length).unwrap_or_default()),
            })
        })?;
        if told == found {
            return Ok(());
        }
        let lost = std::io::Error::other("the disk does not give back what was written to it");
        Err(Error::io("write again", &self.path, lost))
    }

    /// Hands on a stretch of the file that begins with a block, in pieces of whole blocks, the last filled up with zeros; with each
    /// its length and its offset. Returns what was made of them.
    fn each_piece(
        &self,
        blocks: &mut Blocks,
        (from, end): (u64, u64),
        mut each: impl FnMut(&dyn File, &mut [u8], usize, u64) -> std::io::Result<u32>,
    ) -> Result<Vec<u32>, Error> {
        let at = |source| Error::io("write again", &self.path, source);
        let mut told = Vec::new();
        let mut next = from;
        while next < end {
            let length = (end - next).min(COPY_BYTES as u64) as usize;
            let piece = blocks.of(length);
            let wanted = piece.get_mut(..length).unwrap_or_default();
            if self.file.read_at(wanted, next).map_err(at)? < length {
                return Err(at(std::io::ErrorKind::UnexpectedEof.into()));
            }
            told.push(each(&*self.file, piece, length, next).map_err(at)?);
            next += length as u64;
        }
        Ok(told)
    }
}

/// A buffer that begins where a block may.
struct Blocks {
    bytes: Vec<u8>,
    lead: usize,
}

impl Blocks {
    fn new() -> Blocks {
        let bytes = vec![0; COPY_BYTES + BLOCK_BYTES];
        let over = bytes.as_ptr() as usize % BLOCK_BYTES;
        Blocks {
            bytes,
            lead: (BLOCK_BYTES - over) % BLOCK_BYTES,
        }
    }

    /// Zeros: as many whole blocks as so many bytes need.
    fn of(&mut self, length: usize) -> &mut [u8] {
        let end = self.lead + length.next_multiple_of(BLOCK_BYTES);
        let blocks = self.bytes.get_mut(self.lead..end).unwrap_or_default();
        blocks.fill(0);
        blocks
    }
}

/// Puts a copy of the first bytes of a file, up to `end`, in its place: who has mapped the old one goes on looking at that, and
/// nothing is written to pages of which a sync failed. The directory is not synced.
pub fn renew(disk: &dyn Disk, path: &Path, end: u64) -> Result<(), Error> {
    let at = |source| Error::io("copy", path, source);
    let old = match disk.open(path, Open::Read) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        old => old.map_err(at)?,
    };
    if old.length().map_err(at)? == 0 {
        return Ok(());
    }
    replace_unsynced(disk, path, |fresh| {
        let mut piece = vec![0; COPY_BYTES.min(end as usize)];
        let mut done = 0;
        while done < end {
            let wanted = (end - done).min(COPY_BYTES as u64) as usize;
            let got = old.read_at(piece.get_mut(..wanted).unwrap_or_default(), done)?;
            if got == 0 {
                break;
            }
            fresh.write_at(piece.get(..got).unwrap_or_default(), done)?;
            done += got as u64;
        }
        Ok(())
    })
}

/// The first part of `bytes` up to a block boundary of the file, and the rest if it is aligned in memory too.
/// `None`: nothing of it can go past the page cache.
pub fn split_at_block(bytes: &[u8], offset: u64) -> Option<(&[u8], &[u8])> {
    let head = (offset.next_multiple_of(BLOCK_BYTES as u64) - offset) as usize;
    let (head, rest) = bytes.split_at_checked(head)?;
    let aligned = (rest.as_ptr() as usize).is_multiple_of(BLOCK_BYTES)
        && rest.len().is_multiple_of(BLOCK_BYTES);
    (aligned && !rest.is_empty()).then_some((head, rest))
}
