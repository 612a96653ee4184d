//! Reads what the page cache cannot read. The cache reads a file in folios of up to the size of a huge page, and one bad sector makes
//! a whole folio unreadable. Past the cache only the block with that sector is unreadable.

use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{Advice, Mode, OFlags, fadvise, open};

use crate::error::is_unreadable;
use crate::io::blocks::Blocks;
use crate::io::disk::BLOCK_BYTES;
use crate::io::map::page_bytes;

/// A file that can be opened a second time: its name, and the facts that tell whether another file has the name meanwhile.
#[derive(Debug)]
pub struct Named {
    path: CString,
    device: u64,
    inode: u64,
}

impl Named {
    /// An open file with its name. `None`: the system does not say which file it is.
    pub fn new(file: &fs::File, path: &Path) -> Option<Named> {
        let facts = rustix::fs::fstat(file).ok()?;
        Some(Named {
            path: CString::new(path.as_os_str().as_bytes()).ok()?,
            device: facts.st_dev,
            inode: facts.st_ino,
        })
    }

    /// Opens the file for reading past the page cache, or page by page where that is not possible. `None`: it cannot be opened, or another file
    /// has its name. Allocates nothing and takes no lock: a signal handler calls it.
    pub fn open_singly(&self) -> Option<fs::File> {
        self.open(OFlags::DIRECT).or_else(|| {
            let file = self.open(OFlags::empty())?;
            let _ = fadvise(&file, 0, None, Advice::Random);
            Some(file)
        })
    }

    fn open(&self, how: OFlags) -> Option<fs::File> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | how;
        let path: &CStr = &self.path;
        let file = fs::File::from(open(path, flags, Mode::empty()).ok()?);
        let facts = rustix::fs::fstat(&file).ok()?;
        (facts.st_dev == self.device && facts.st_ino == self.inode).then_some(file)
    }
}

/// Makes the page cache forget the folio with this page of a file, which cannot be read: it would fail for all its pages. Returns the range,
/// which contains every folio that may contain the page.
pub fn drop_folio(file: impl AsFd, offset: u64) -> Range<u64> {
    // A huge page: as many pages as a page has room for addresses.
    let page = page_bytes() as u64;
    let folio = page.saturating_mul(page / 8).max(1);
    let start = offset - offset % folio;
    // What is mapped, locked or not yet written stays.
    let _ = fadvise(file, start, NonZeroU64::new(folio), Advice::DontNeed);
    start..start.saturating_add(folio)
}

/// Reads as far as the file has bytes, after `error` was the result of a read through the page cache: each block by itself, past the cache where
/// that is possible.
///
/// # Errors
/// That of the first block that cannot be read.
pub fn read_at(
    (file, path): (&fs::File, &Path),
    buffer: &mut [u8],
    offset: u64,
    error: io::Error,
) -> io::Result<usize> {
    let block = BLOCK_BYTES as u64;
    let end = offset.saturating_add(buffer.len() as u64);
    let first = offset - offset % block;
    // The other blocks can be read through the cache from now on: without read-ahead it reads them one by one.
    drop_folio(file, offset);
    drop_folio(file, end);
    let _ = fadvise(file, 0, None, Advice::Random);
    let direct = Named::new(file, path).and_then(|named| named.open_singly());
    let mut blocks = Blocks::new(BLOCK_BYTES);
    let mut total = 0;
    for at in (first..end).step_by(BLOCK_BYTES) {
        let got = read_block(file, direct.as_ref(), &mut blocks, at);
        let got = got.map_err(|failed| match is_unreadable(&failed) {
            true => failed,
            // What the caller knows is better than what a second way says.
            false => io::Error::from_raw_os_error(error.raw_os_error().unwrap_or(libc::EIO)),
        })?;
        let skipped = offset.saturating_sub(at) as usize;
        let bytes = blocks.bytes().get(skipped..got).unwrap_or_default();
        let wanted = buffer.get_mut(total..).unwrap_or_default();
        let length = bytes.len().min(wanted.len());
        if let (Some(to), Some(from)) = (wanted.get_mut(..length), bytes.get(..length)) {
            to.copy_from_slice(from);
        }
        total += length;
        if got < BLOCK_BYTES {
            break;
        }
    }
    Ok(total)
}

fn read_block(
    file: &fs::File,
    direct: Option<&fs::File>,
    blocks: &mut Blocks,
    at: u64,
) -> io::Result<usize> {
    if let Some(direct) = direct {
        match read_once(direct, blocks.bytes_mut(), at) {
            // The file system accepts the flag but not the read.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
            read => return read,
        }
    }
    read_once(file, blocks.bytes_mut(), at)
}

fn read_once(file: &fs::File, block: &mut [u8], at: u64) -> io::Result<usize> {
    let mut total = 0;
    loop {
        let rest = block.get_mut(total..).unwrap_or_default();
        match file.read_at(rest, at + total as u64) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Past the cache a file ends in the middle of a unit of the disk.
            Ok(got) if got == 0 || !got.is_multiple_of(512) || got == rest.len() => {
                return Ok(total + got);
            }
            Ok(got) => total += got,
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterned(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|at| (at / 7 % 251) as u8).collect()
    }

    /// What the second way reads is what the file has, at any place and to its end.
    #[test]
    fn blocks_are_those_of_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("art");
        let bytes = patterned(3 * BLOCK_BYTES + 700);
        fs::write(&path, &bytes).unwrap();
        let file = fs::File::open(&path).unwrap();
        for (offset, length) in [
            (0, 10),
            (4000, 200),
            (100, 3 * BLOCK_BYTES),
            (4096, 4096),
            (12_000, 9000),
            (20_000, 5),
        ] {
            let mut buffer = vec![0; length];
            let failed = io::Error::from_raw_os_error(libc::EIO);
            let got = read_at((&file, &path), &mut buffer, offset as u64, failed).unwrap();
            let right = bytes.get(offset..).unwrap_or_default();
            let right = &right[..right.len().min(length)];
            assert_eq!(&buffer[..got], right, "{offset} {length}");
        }
    }

    #[test]
    fn another_file_of_the_same_name_is_not_taken() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("art");
        fs::write(&path, "one").unwrap();
        let file = fs::File::open(&path).unwrap();
        let named = Named::new(&file, &path).unwrap();
        assert!(named.open_singly().is_some());
        fs::write(dir.path().join("new"), "two").unwrap();
        fs::rename(dir.path().join("new"), &path).unwrap();
        assert!(named.open_singly().is_none());
    }
}
