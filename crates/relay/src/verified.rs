//! Expands a compressed batch to its end before any of it is filed: the checksum that reveals damage stands at the end.

use std::io::{self, Read, Write};
use std::path::Path;

use article::wrap::Compression;
use store::MapRef;

use crate::bad_batches::create_unnamed;

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

/// The reason why a batch was not expanded.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The batch is damaged ([`article::wrap::WrapError::of`]), or cannot be read.
    Batch(io::Error),
    /// The file for the expanded batch cannot be written: the batch may be good.
    Place(io::Error),
}

impl Verified {
    /// Expands a batch; a large one into a file in `dir`.
    pub fn read(mut batch: impl Read, dir: &Path) -> Result<Verified, Failure> {
        let mut bytes = Vec::new();
        let mut fill = |bytes: &mut Vec<u8>| {
            bytes.clear();
            let most = VERIFIED_BYTES_MAX as u64 + 1;
            batch.by_ref().take(most).read_to_end(bytes)
        };
        if fill(&mut bytes).map_err(Failure::Batch)? <= VERIFIED_BYTES_MAX {
            return Ok(Verified::Memory(bytes));
        }
        let mut file = create_unnamed(dir).map_err(Failure::Place)?;
        while !bytes.is_empty() {
            file.write_all(&bytes).map_err(Failure::Place)?;
            fill(&mut bytes).map_err(Failure::Batch)?;
        }
        MapRef::whole(&file)
            .map(Verified::File)
            .map_err(Failure::Place)
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
