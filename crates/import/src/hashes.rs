//! Hashes of ids that are only remembered, while an import is not finished.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use store::seen_hashes::SeenHash;

use crate::error::Error;

/// The file in the news directory.
const FILE: &str = "import.hashes";
/// Bytes of a hash with its arrival.
const HASH_BYTES: usize = 20;
/// In place of the arrival: our history has the id, so that `seen.hashes` need not have it.
const KNOWN: u32 = 0;

/// The file of hashes; it grows with the import.
#[derive(Debug)]
pub(crate) struct Hashes {
    path: PathBuf,
    file: io::BufWriter<File>,
    count: u64,
}

impl Hashes {
    /// Opens the file of a news directory, cut to the `count` hashes of an interrupted run.
    pub(crate) fn open(dir: &Path, count: u64) -> Result<Hashes, Error> {
        let path = dir.join(FILE);
        let at = |doing| Error::io(doing, &path);
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(at("write"))?;
        let end = count.saturating_mul(HASH_BYTES as u64);
        file.set_len(end).map_err(at("write"))?;
        file.seek(SeekFrom::Start(end)).map_err(at("write"))?;
        Ok(Hashes {
            path,
            file: io::BufWriter::new(file),
            count,
        })
    }

    /// The number of hashes.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Adds a hash with the arrival of its article, epoch seconds.
    pub(crate) fn push(&mut self, hash: &[u8; 16], arrived: i64) -> Result<(), Error> {
        let arrival = u32::try_from(arrived.max(0)).unwrap_or(u32::MAX);
        self.push_with(hash, arrival.max(KNOWN + 1))
    }

    /// Adds the hash of an id that our history has.
    pub(crate) fn push_known(&mut self, hash: &[u8; 16]) -> Result<(), Error> {
        self.push_with(hash, KNOWN)
    }

    fn push_with(&mut self, hash: &[u8; 16], arrival: u32) -> Result<(), Error> {
        self.count += 1;
        self.file
            .write_all(hash)
            .and_then(|()| self.file.write_all(&arrival.to_le_bytes()))
            .map_err(Error::io("write", &self.path))
    }

    /// Makes the hashes durable.
    pub(crate) fn sync(&mut self) -> Result<(), Error> {
        self.file
            .flush()
            .and_then(|()| self.file.get_ref().sync_data())
            .map_err(Error::io("write", &self.path))
    }

    /// Reads those for `seen.hashes`.
    pub(crate) fn seen(&self) -> Result<Vec<SeenHash>, Error> {
        let mut hashes = self.read()?;
        hashes.retain(|(_, arrival)| *arrival != KNOWN);
        Ok(hashes)
    }

    /// Reads all hashes.
    pub(crate) fn read(&self) -> Result<Vec<SeenHash>, Error> {
        let bytes = fs::read(&self.path).map_err(Error::io("read", &self.path))?;
        let hashes = bytes.as_chunks::<HASH_BYTES>().0.iter();
        Ok(hashes.filter_map(seen_hash).collect())
    }

    /// Removes the file.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        fs::remove_file(&self.path).map_err(Error::io("remove", &self.path))
    }
}

fn seen_hash(bytes: &[u8; HASH_BYTES]) -> Option<SeenHash> {
    let (hash, arrival) = bytes.split_first_chunk::<16>()?;
    Some((*hash, u32::from_le_bytes(arrival.try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_that_our_history_has_are_not_for_seen_hashes() {
        let dir = tempfile::tempdir().unwrap();
        let mut hashes = Hashes::open(dir.path(), 0).unwrap();
        // A time before 1970 is one, too.
        hashes.push(&[1; 16], -5).unwrap();
        hashes.push_known(&[2; 16]).unwrap();
        hashes.sync().unwrap();
        assert_eq!((hashes.count(), hashes.read().unwrap().len()), (2, 2));
        assert_eq!(hashes.seen().unwrap(), [([1; 16], 1)]);
        // An interrupted run has both.
        let hashes = Hashes::open(dir.path(), 2).unwrap();
        assert_eq!(hashes.read().unwrap().len(), 2);
    }
}
