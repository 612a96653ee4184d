//! A file that grows at its end.

use std::path::Path;
use std::path::PathBuf;

use crate::Error;
use crate::io::blocks::Blocks;
use crate::io::disk::{BLOCK_BYTES, Disk, File, Open};
use crate::io::replace::replace_unsynced;

/// Size of one copy or rewrite, bytes.
const COPY_BYTES: usize = 1 << 20;

/// One file that grows at its end.
#[derive(Debug)]
pub struct AppendFile {
    /// Its path, for messages.
    pub path: PathBuf,
    /// The open file.
    pub file: Box<dyn File>,
    /// The offset of the next byte.
    pub end: u64,
}

impl AppendFile {
    /// Opens a growing file, and truncates it to `end`.
    pub fn open(disk: &dyn Disk, path: PathBuf, how: Open, end: u64) -> Result<AppendFile, Error> {
        let file = disk
            .open(&path, how)
            .map_err(|source| Error::io("open", &path, source))?;
        Ok(AppendFile { path, file, end })
    }

    /// The length of the file.
    pub fn length(&self) -> Result<u64, Error> {
        self.file
            .length()
            .map_err(|source| Error::io("read the length of", &self.path, source))
    }

    /// Writes at the end. After an error the file is truncated, so that no partial write stays.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.write_behind(bytes, 0, false)?;
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Writes `skip` bytes after the end, which does not move. `direct`: most of the bytes bypass the page cache if the file
    /// system supports it (a large commit is rarely read again, and the copy would cost more than all other work
    /// for an article). After an error the file is truncated to the end.
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
            // If even this fails, recovery truncates the file at the next start.
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

    /// Sets the end of the file.
    pub fn cut(&mut self, end: u64) -> Result<(), Error> {
        self.end = end;
        self.file
            .set_length(end)
            .map_err(|source| Error::io("cut", &self.path, source))
    }

    /// Waits until all written bytes are on the disk.
    pub fn sync(&self) -> Result<(), Error> {
        self.file
            .sync()
            .map_err(|source| Error::io("sync", &self.path, source))
    }

    /// Writes the bytes from `from` to `end` again, past the page cache, and truncates the file there; returns after the disk
    /// has returned the same bytes. This repairs a failed sync: after one, pages may be readable and count as clean although the disk does not
    /// have them, so that the next sync succeeds without writing them. Returns whether the disk itself was read: false where the file system may answer
    /// from its cache or its journal.
    ///
    /// # Errors
    /// The disk does not accept the bytes, or returns different ones.
    pub fn write_again(&mut self, from: u64, end: u64) -> Result<bool, Error> {
        let from = from - from % BLOCK_BYTES as u64;
        let mut blocks = Blocks::new(COPY_BYTES);
        let told = self.each_piece(&mut blocks, (from, end), |file, piece, length, at| {
            let written = piece.get(..length).unwrap_or_default();
            let sum = crc32c::crc32c(written);
            if !file.write_direct(piece, at)? {
                // The best possible way if the file system cannot bypass the page cache.
                file.write_at(written, at)?;
            }
            Ok(sum)
        })?;
        // The last block extends beyond the end.
        self.cut(end)?;
        self.sync()?;
        let found = self.each_piece(&mut blocks, (from, end), |file, piece, length, at| {
            let cached = crc32c::crc32c(piece.get(..length).unwrap_or_default());
            // A read that fills nothing must not look like what was written.
            piece.iter_mut().for_each(|byte| *byte = !*byte);
            Ok(match file.read_direct(piece, at)? {
                Some(got) => crc32c::crc32c(piece.get(..length.min(got)).unwrap_or_default()),
                None => cached,
            })
        })?;
        if told == found {
            return Ok(self.file.reads_disk());
        }
        let lost = std::io::Error::other("the disk does not give back what was written to it");
        Err(Error::io("write again", &self.path, lost))
    }

    /// Calls a function for a range of the file that starts at a block, in pieces of whole blocks, the last padded with zeros, with the
    /// length and offset of each piece. Returns the results.
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
            let whole = length.next_multiple_of(BLOCK_BYTES);
            let piece = blocks.bytes_mut().get_mut(..whole).unwrap_or_default();
            piece.fill(0);
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

/// Replaces a file by a copy of its first bytes, up to `end`: a reader that has mapped the old file keeps it, and
/// no page whose sync failed is written again. The directory is not synced.
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

/// The part of `bytes` before a block boundary of the file, and the rest if it is aligned in memory too.
/// `None` if no part of it can bypass the page cache.
pub fn split_at_block(bytes: &[u8], offset: u64) -> Option<(&[u8], &[u8])> {
    let head = (offset.next_multiple_of(BLOCK_BYTES as u64) - offset) as usize;
    let (head, rest) = bytes.split_at_checked(head)?;
    let aligned = (rest.as_ptr() as usize).is_multiple_of(BLOCK_BYTES)
        && rest.len().is_multiple_of(BLOCK_BYTES);
    (aligned && !rest.is_empty()).then_some((head, rest))
}
