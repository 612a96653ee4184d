//! Expands a compressed batch to its end before any of it is filed: the checksum that reveals damage stands at the end.

use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use article::wrap::Compression;
use store::MapRef;

use crate::bad_batches::create_unnamed;
use crate::error::Error;
use crate::free_space;

/// An expanded batch up to this size is in memory until its checksum is verified, bytes; a larger one is in a file without a name.
pub const VERIFIED_BYTES_MAX: usize = 16 << 20;

/// A batch that was expanded to its end.
pub(crate) enum Verified {
    /// In memory.
    Memory(Vec<u8>),
    /// In a file without a name.
    File(MapRef),
}

/// Whether a compression has a checksum, or an end as lzma has, so that damage shows there. `compress` has neither: its batches are filed while
/// they are read.
pub(crate) fn has_checksum(layers: &[Compression]) -> bool {
    use Compression::{Bzip2, Gzip, Lzma, Xz, Zstd};
    layers
        .iter()
        .any(|layer| matches!(layer, Gzip | Zstd | Bzip2 | Xz | Lzma))
}

/// The file system of a directory.
fn device(dir: &Path) -> io::Result<u64> {
    Ok(std::fs::metadata(dir)?.dev())
}

/// The reason why a batch was not expanded.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The batch is damaged ([`article::wrap::WrapError::of`]), or cannot be read.
    Batch(io::Error),
    /// The file for the expanded batch cannot be written: the batch may be good.
    Place(Error),
}

impl Verified {
    /// Expands a batch; a large one into a file in `dir`, as long as `keep_free` bytes stay free beside that file, and beside its articles in
    /// the news directory `news`.
    pub fn read(
        mut batch: impl Read,
        (dir, news): (&Path, &Path),
        keep_free: u64,
    ) -> Result<Verified, Failure> {
        let mut bytes = Vec::new();
        let mut fill = |bytes: &mut Vec<u8>| {
            bytes.clear();
            let most = VERIFIED_BYTES_MAX as u64 + 1;
            batch.by_ref().take(most).read_to_end(bytes)
        };
        if fill(&mut bytes).map_err(Failure::Batch)? <= VERIFIED_BYTES_MAX {
            return Ok(Verified::Memory(bytes));
        }
        let at = |error| Failure::Place(store::Error::io("expand a batch in", dir, error).into());
        let mut file = create_unnamed(dir).map_err(at)?;
        // A full disk is not the fault of the batch.
        free_space::check(dir, 0, keep_free).map_err(Failure::Place)?;
        free_space::check(news, 0, keep_free).map_err(Failure::Place)?;
        let is_one_disk = device(dir).map_err(at)? == device(news).map_err(at)?;
        let mut written: u64 = 0;
        while !bytes.is_empty() {
            let more = bytes.len() as u64;
            let all = written.saturating_add(more);
            let room = if is_one_disk {
                free_space::check(dir, more.saturating_add(all), keep_free)
            } else {
                free_space::check(dir, more, keep_free)
                    .and_then(|()| free_space::check(news, all, keep_free))
            };
            room.map_err(|error| Failure::Place(error.of_expansion()))?;
            file.write_all(&bytes).map_err(at)?;
            written = all;
            fill(&mut bytes).map_err(Failure::Batch)?;
        }
        MapRef::whole(&file).map(Verified::File).map_err(at)
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
            let verified = Verified::read(given, (dir.path(), dir.path()), 0).unwrap();
            assert!(verified.bytes() == given);
            assert_eq!(verified.map().is_some(), is_file);
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_disk_must_have_room_for_a_large_batch_and_its_articles() {
        let dir = tempfile::tempdir().unwrap();
        let space = rustix::fs::statvfs(dir.path()).unwrap();
        let free = space.f_bavail * space.f_frsize;
        let large = vec![b'x'; VERIFIED_BYTES_MAX + 100];
        let read =
            |given: &[u8], keep_free| Verified::read(given, (dir.path(), dir.path()), keep_free);
        let keep_free = free.saturating_sub(VERIFIED_BYTES_MAX as u64);
        let failed = read(&large, keep_free).err().unwrap();
        assert!(
            matches!(&failed, Failure::Place(error @ Error::NoRoomToExpand { .. }) if !error.is_disk_full()),
            "{failed:?}"
        );
        let failed = read(&large, u64::MAX).err().unwrap();
        assert!(
            matches!(&failed, Failure::Place(error @ Error::NoRoom { .. }) if error.is_disk_full()),
            "{failed:?}"
        );
        assert!(read(&large[..100], u64::MAX).is_ok());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
