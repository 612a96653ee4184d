//! A buffer that the disk can fill and empty without the page cache.

use crate::io::disk::BLOCK_BYTES;

/// A buffer aligned to blocks.
#[derive(Debug)]
pub struct Blocks {
    bytes: Vec<u8>,
    lead: usize,
    /// Its size, bytes.
    size: usize,
}

impl Blocks {
    /// A buffer of zeros; `size` is a multiple of [`BLOCK_BYTES`].
    pub fn new(size: usize) -> Blocks {
        let bytes = vec![0; size + BLOCK_BYTES];
        let over = bytes.as_ptr() as usize % BLOCK_BYTES;
        Blocks {
            bytes,
            lead: (BLOCK_BYTES - over) % BLOCK_BYTES,
            size,
        }
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        let all = self.bytes.get(self.lead..self.lead + self.size);
        all.unwrap_or_default()
    }

    /// Its bytes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let all = self.bytes.get_mut(self.lead..self.lead + self.size);
        all.unwrap_or_default()
    }
}
