//! A file that is read once, from the beginning to the end, past the page cache. Articles were written past it, too: to read them through it
//! would allocate a page for each four kilobytes, and copy them from there.

use std::io;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::error::is_unreadable;
use crate::io::blocks::Blocks;
use crate::io::disk::{BLOCK_BYTES, File, MapRef, MapWords};

/// Bytes that are read from the disk at once.
const WINDOW_BYTES: usize = 1 << 20;

/// A file behind a window, which moves to what is read.
#[derive(Debug)]
pub struct ReadOnce<'f> {
    file: &'f dyn File,
    length: u64,
    window: Mutex<Window>,
}

/// A part of the file.
#[derive(Debug)]
struct Window {
    blocks: Blocks,
    range: Range<u64>,
}

impl<'f> ReadOnce<'f> {
    /// Reads from a file that nobody changes meanwhile.
    pub fn new(file: &'f dyn File) -> io::Result<ReadOnce<'f>> {
        Ok(ReadOnce {
            file,
            length: file.length()?,
            window: Mutex::new(Window {
                blocks: Blocks::new(WINDOW_BYTES),
                range: 0..0,
            }),
        })
    }
}

impl Window {
    /// Moves to the block at `offset`.
    fn fill(&mut self, file: &dyn File, offset: u64) -> io::Result<()> {
        let start = offset - offset % BLOCK_BYTES as u64;
        let blocks = self.blocks.bytes_mut();
        self.range = start..start;
        let got = match file.read_direct(blocks, start)? {
            Some(got) => got,
            None => file.read_at(blocks, start)?,
        };
        self.range.end += got as u64;
        Ok(())
    }

    /// Copies what the window has from `offset` on; returns the number of bytes.
    fn copy(&self, buffer: &mut [u8], offset: u64) -> usize {
        if !self.range.contains(&offset) {
            return 0;
        }
        let begin = (offset - self.range.start) as usize;
        let length = buffer.len().min((self.range.end - offset) as usize);
        let from = self.blocks.bytes().get(begin..begin + length);
        match (from, buffer.get_mut(..length)) {
            (Some(from), Some(to)) => to.copy_from_slice(from),
            _ => return 0,
        }
        length
    }
}

impl File for ReadOnce<'_> {
    fn length(&self) -> io::Result<u64> {
        Ok(self.length)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        let mut total = 0;
        while let Some(rest) = buffer.get_mut(total..).filter(|rest| !rest.is_empty()) {
            let at = offset + total as u64;
            if !window.range.contains(&at) {
                match window.fill(self.file, at) {
                    // Perhaps only what lies behind the wanted bytes.
                    Err(error) if is_unreadable(&error) => {
                        return Ok(total + self.file.read_at(rest, at)?);
                    }
                    filled => filled?,
                }
            }
            match window.copy(rest, at) {
                0 => break,
                copied => total += copied,
            }
        }
        Ok(total)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_at(bytes, offset)
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.file.set_length(length)
    }

    fn next_data(&self, offset: u64) -> io::Result<u64> {
        self.file.next_data(offset)
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

    fn identity(&self) -> io::Result<[u64; 3]> {
        self.file.identity()
    }
}
