//! Expands a compressed batch to its end before any of it is filed: the checksum that reveals damage stands at the end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use article::wrap::Compression;
use rustix::fs::OFlags;
use store::MapRef;

/// An expanded batch up to this size is in memory until its checksum is verified, bytes; a larger one is in a file without a name.
pub const VERIFIED_BYTES_MAX: usize = 16 << 20;

/// A batch that was expanded to its end.
pub(crate) enum Verified {
    /// In memory.
    Memory(Vec<u8>),
    /// In a file without a name.
    File(MapRef),
}

/// Whether a compression has a checksum. `compress` has none: its batches are filed while they are read.
pub(crate) fn has_checksum(layers: &[Compression]) -> bool {
    use Compression::{Bzip2, Gzip, Xz, Zstd};
    layers
        .iter()
        .any(|layer| matches!(layer, Gzip | Zstd | Bzip2 | Xz))
}

impl Verified {
    /// Expands a batch; a large one into a file in `dir`.
    ///
    /// # Errors
    /// The batch is damaged ([`article::wrap::WrapError::of`]), or cannot be read or written.
    pub fn read(mut batch: impl Read, dir: &Path) -> io::Result<Verified> {
        let mut bytes = Vec::new();
        let most = VERIFIED_BYTES_MAX as u64 + 1;
        batch.by_ref().take(most).read_to_end(&mut bytes)?;
        if bytes.len() <= VERIFIED_BYTES_MAX {
            return Ok(Verified::Memory(bytes));
        }
        let mut file: File = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(OFlags::TMPFILE.bits().cast_signed())
            .mode(0o600)
            .open(dir)?;
        file.write_all(&bytes)?;
        drop(bytes);
        io::copy(&mut batch, &mut file)?;
        Ok(Verified::File(MapRef::whole(&file)?))
    }

    /// The whole batch.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Verified::Memory(bytes) => bytes,
            Verified::File(map) => map.bytes(),
        }
    }

    /// The map of the file.
    pub fn map(&self) -> Option<&MapRef> {
        match self {
            Verified::Memory(_) => None,
            Verified::File(map) => Some(map),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_batch_is_in_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let text: Vec<u8> = (0..VERIFIED_BYTES_MAX + 100).map(|at| at as u8).collect();
        for (given, is_file) in [
            (text.as_slice(), true),
            (&text[..VERIFIED_BYTES_MAX], false),
        ] {
            let verified = Verified::read(given, dir.path()).unwrap();
            assert!(verified.bytes() == given);
            assert_eq!(verified.map().is_some(), is_file);
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
