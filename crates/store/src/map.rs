//! Mapped files: the one file of this crate that may say `unsafe`.
//!
//! A map is safe to use as long as nobody cuts the file below it. The segments and the index belong to this
//! program, which cuts them only where no map looks (beyond the published end), and the directory is the
//! news user's own.
#![allow(unsafe_code)]

use std::fs;
use std::io;
use std::sync::atomic::AtomicU64;

/// A file mapped for reading.
#[derive(Debug, Default)]
pub struct MapRef(Option<memmap2::Mmap>);

impl MapRef {
    /// Maps the first `length` bytes; they may reach beyond the end of the file.
    pub fn new(file: &fs::File, length: u64) -> io::Result<MapRef> {
        if length == 0 {
            return Ok(MapRef(None));
        }
        let length = usize::try_from(length).map_err(io::Error::other)?;
        // SAFETY: the file is only appended to while mapped (see above); readers look no further than the
        // published end.
        let map = unsafe { memmap2::MmapOptions::new().len(length).map(file)? };
        Ok(MapRef(Some(map)))
    }

    /// Maps a whole file. Nobody may cut it meanwhile: the program would end as if killed.
    pub fn whole(file: &fs::File) -> io::Result<MapRef> {
        MapRef::new(file, file.metadata()?.len())
    }

    /// Tells the system that the pages in front of `offset` are not needed for now. They can still be read: the
    /// file has them.
    pub fn forget_before(&self, offset: u64) {
        if let Some(map) = &self.0 {
            let length = (offset as usize).min(map.len());
            // SAFETY: the map is of a file and never written, so a page that is dropped comes back as it was.
            // An error only means that more memory stays in use.
            let _ = unsafe {
                map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, 0, length)
            };
        }
    }

    /// The mapped bytes.
    pub fn bytes(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}

/// A file mapped and seen as numbers that other processes may read or write meanwhile.
#[derive(Debug)]
pub struct MapWords(memmap2::MmapRaw);

impl MapWords {
    /// Maps the first `length` bytes, a multiple of eight; the file must be that long. Storing into a map
    /// made with `write` false is a fault of the caller that ends the program.
    pub fn new(file: &fs::File, length: u64, write: bool) -> io::Result<MapWords> {
        let length = usize::try_from(length).map_err(io::Error::other)?;
        if length < 8 || !length.is_multiple_of(8) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        let mut options = memmap2::MmapOptions::new();
        options.len(length);
        Ok(MapWords(if write {
            options.map_raw(file)?
        } else {
            options.map_raw_read_only(file)?
        }))
    }

    /// The map as 64-bit words, native byte order.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the map is page-aligned, at least eight bytes, lives as long as `self`, and every access
        // goes through atomics, so concurrent readers and the writer do not race.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().cast::<AtomicU64>(), self.0.len() / 8) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;
    use std::sync::atomic::Ordering;

    #[test]
    fn what_is_stored_in_a_map_is_in_the_file() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        let map = MapWords::new(&file, 4096, true).unwrap();
        map.words()[2].store(7, Ordering::Relaxed);
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, 16).unwrap();
        assert_eq!(u64::from_ne_bytes(bytes), 7);
        let seen = MapRef::new(&file, 4096).unwrap();
        assert_eq!(seen.bytes()[16], 7);
    }
}
