//! A disk that replaces unreadable blocks: where a block cannot be read, a file has [`FILLER`]. Checks and repairs read the store
//! through it, and find damage of a few articles instead of an error that stops them.

use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::is_unreadable;
use crate::io::disk::{BLOCK_BYTES, Disk, File, MapRef, MapWords, Open, RunId};

/// Replaces unreadable bytes. Not zero: zeros are a hole.
const FILLER: u8 = 0xff;
/// Maximum number of unreadable bytes of a file for a reader that does not repair, bytes. A disk with more of them is lost rather than
/// damaged.
pub const PASSED_BYTES_MAX: u64 = 16 << 20;

/// A disk with replaced blocks.
#[derive(Debug)]
pub struct Salvage(Arc<dyn Disk>);

impl Salvage {
    /// Wraps this disk.
    pub fn of(disk: Arc<dyn Disk>) -> Arc<dyn Disk> {
        Arc::new(Salvage(disk))
    }
}

impl Disk for Salvage {
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn File>> {
        Ok(over(self.0.open(path, how)?, u64::MAX))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.0.sync_directory(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        self.0.list(path)
    }

    fn run_id(&self, dirs: [&Path; 2]) -> RunId {
        self.0.run_id(dirs)
    }
}

/// A file of which at most `bytes_max` bytes are unreadable.
pub fn over(file: Box<dyn File>, bytes_max: u64) -> Box<dyn File> {
    Box::new(Over {
        file,
        bytes_max,
        unreadable: Mutex::default(),
    })
}

#[derive(Debug)]
struct Over {
    file: Box<dyn File>,
    bytes_max: u64,
    unreadable: Mutex<Unreadable>,
}

/// The unreadable ranges.
#[derive(Debug, Default)]
struct Unreadable {
    /// Adjacent ranges are merged.
    places: Vec<Range<u64>>,
    bytes: u64,
}

impl Over {
    /// Reads block by block; an error of one block does not affect the others.
    fn read_blocks(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<usize> {
        let mut left = self.file.length()?.saturating_sub(offset);
        let mut total = 0;
        while left > 0 && !buffer.is_empty() {
            let to_block = BLOCK_BYTES as u64 - offset % BLOCK_BYTES as u64;
            let wanted = to_block.min(left).min(buffer.len() as u64) as usize;
            let (piece, rest) = buffer.split_at_mut(wanted);
            match self.file.read_at(piece, offset) {
                Err(error) if is_unreadable(&error) => {
                    self.note(offset..offset + wanted as u64, error)?;
                    piece.fill(FILLER);
                }
                Ok(got) if got < wanted => return Ok(total + got),
                read => {
                    read?;
                    self.forget(offset..offset + wanted as u64);
                }
            }
            buffer = rest;
            offset += wanted as u64;
            left -= wanted as u64;
            total += wanted;
        }
        Ok(total)
    }

    /// What could not be read before can be read now.
    fn forget(&self, read: Range<u64>) {
        let mut met = self
            .unreadable
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let places = std::mem::take(&mut met.places);
        let parts = places.into_iter().flat_map(|place| {
            let before = place.start..place.end.min(read.start);
            [before, place.start.max(read.end)..place.end]
        });
        met.places = parts.filter(|part| !part.is_empty()).collect();
        met.bytes = met.places.iter().map(|part| part.end - part.start).sum();
    }

    fn note(&self, place: Range<u64>, error: io::Error) -> io::Result<()> {
        let mut met = self
            .unreadable
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let is_known = |known: &Range<u64>| known.start <= place.start && place.end <= known.end;
        if met.places.iter().any(is_known) {
            return Ok(());
        }
        met.bytes = met.bytes.saturating_add(place.end - place.start);
        if met.bytes > self.bytes_max {
            return Err(error);
        }
        match met.places.last_mut() {
            Some(last) if last.end == place.start => last.end = place.end,
            _ => met.places.push(place),
        }
        Ok(())
    }
}

impl File for Over {
    fn length(&self) -> io::Result<u64> {
        self.file.length()
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self.file.read_at(buffer, offset) {
            Err(error) if is_unreadable(&error) => self.read_blocks(buffer, offset),
            Ok(got) => {
                self.forget(offset..offset + got as u64);
                Ok(got)
            }
            read => read,
        }
    }

    fn read_direct(&self, buffer: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        match self.file.read_direct(buffer, offset) {
            Err(error) if is_unreadable(&error) => self.read_blocks(buffer, offset).map(Some),
            read => read,
        }
    }

    /// If a part of an unreadable block cannot be written either, the whole block is written.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let error = match self.file.write_at(bytes, offset) {
            Err(error) if is_unreadable(&error) => error,
            written => return written,
        };
        let block = BLOCK_BYTES as u64;
        let start = offset - offset % block;
        let end = offset + bytes.len() as u64;
        let mut blocks = vec![0; (end.next_multiple_of(block) - start) as usize];
        let got = self.read_blocks(&mut blocks, start)? as u64;
        let place = blocks
            .get_mut((offset - start) as usize..)
            .and_then(|blocks| blocks.get_mut(..bytes.len()));
        let Some(place) = place else {
            return Err(error);
        };
        place.copy_from_slice(bytes);
        blocks.truncate((end - start).max(got) as usize);
        self.file.write_at(&blocks, start)
    }

    fn write_direct(&self, bytes: &[u8], offset: u64) -> io::Result<bool> {
        self.file.write_direct(bytes, offset)
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.file.set_length(length)
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        self.file.allocate(length)
    }

    fn reads_disk(&self) -> bool {
        self.file.reads_disk()
    }

    fn next_data(&self, offset: u64) -> io::Result<u64> {
        self.file.next_data(offset)
    }

    fn holes_return_space(&self) -> bool {
        self.file.holes_return_space()
    }

    fn punch(&self, offset: u64, length: u64) -> io::Result<bool> {
        self.file.punch(offset, length)
    }

    fn allocated(&self) -> io::Result<u64> {
        self.file.allocated()
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn map(&self, length: u64) -> io::Result<MapRef> {
        self.file.map(length)
    }

    fn map_words(&self, length: u64) -> io::Result<MapWords> {
        self.file.map_words(length)
    }

    fn into_descriptor(self: Box<Self>) -> Option<OwnedFd> {
        self.file.into_descriptor()
    }

    fn identity(&self) -> io::Result<[u64; 3]> {
        self.file.identity()
    }

    fn is_offloaded(&self) -> bool {
        self.file.is_offloaded()
    }

    fn was_unreadable(&self, bytes: Range<u64>) -> bool {
        let met = self
            .unreadable
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut places = met.places.iter();
        places.any(|there| there.start < bytes.end && bytes.start < there.end)
    }
}
