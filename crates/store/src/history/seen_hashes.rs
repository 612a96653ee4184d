//! `seen.hashes`: ids that another news system had seen, of which only the MD5 is known. Their articles are refused until they are as old
//! as ids that expire forgets. docs/formats/history.md has the byte layout.

use std::path::Path;
use std::sync::Arc;

use article::message_id;
use md5::{Digest, Md5};

use crate::Error;
use crate::io::bytes::{u32_at, u64_at};
use crate::io::disk::{Disk, Open, RealDisk};
use crate::io::map::MapRef;
use crate::io::replace::{replace, sync_parent};

/// The file in the news directory.
pub const FILE: &str = "seen.hashes";
const MAGIC: &[u8; 8] = b"BSseen01";
const HEADER_BYTES: usize = 24;
const ENTRY_BYTES: usize = 20;

/// The MD5 of a Message-ID, and when its article arrived, epoch seconds.
pub type SeenHash = ([u8; 16], u32);

/// The open file.
#[derive(Debug, Clone)]
pub struct SeenHashes {
    map: Arc<MapRef>,
    count: usize,
    newest: u32,
}

/// The MD5 of an id as INN computes it: capitals count as lower case where case is insignificant.
pub fn md5_of(id: &[u8]) -> [u8; 16] {
    Md5::digest(message_id::folded(id)).into()
}

impl SeenHashes {
    /// Opens the file. `None`: there is none, as in most news directories.
    ///
    /// # Errors
    /// It cannot be read, or is damaged.
    pub fn open(disk: &dyn Disk, dir: &Path) -> Result<Option<SeenHashes>, Error> {
        let path = dir.join(FILE);
        let at = |source| Error::io("read", &path, source);
        let file = match disk.open(&path, Open::Read) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(at)?,
        };
        let length = file.length().map_err(at)?;
        let map = file.map(length).map_err(at)?;
        let bytes = map.bytes();
        let count = bytes.len().saturating_sub(HEADER_BYTES) / ENTRY_BYTES;
        let sound = bytes.starts_with(MAGIC)
            && u64_at(bytes, 8) == Some(count as u64)
            && u32_at(bytes, 20) == Some(crc32c::crc32c(bytes.get(..20).unwrap_or_default()));
        let newest = u32_at(bytes, 16).filter(|_| sound);
        let Some(newest) = newest else {
            return Err(Error::Damaged {
                path,
                offset: 0,
                what: "it is not whole; run the import again, or remove it: articles that the old system had seen may then come again",
            });
        };
        Ok(Some(SeenHashes {
            map: Arc::new(map),
            count,
            newest,
        }))
    }

    /// Whether the other system had seen an id that arrived at or after a time.
    pub fn has(&self, id: &[u8], forget_before: i64) -> bool {
        if self.is_old(forget_before) {
            return false;
        }
        let wanted = md5_of(id);
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            let entry = self.entry(middle);
            match entry.get(..16).unwrap_or_default().cmp(&wanted[..]) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => {
                    let arrival = u32_at(entry, 16).unwrap_or(0);
                    return i64::from(arrival) >= forget_before;
                }
            }
        }
        false
    }

    /// Whether all of them may be forgotten.
    pub fn is_old(&self, forget_before: i64) -> bool {
        i64::from(self.newest) < forget_before
    }

    fn entry(&self, place: usize) -> &[u8] {
        let start = HEADER_BYTES + place * ENTRY_BYTES;
        let bytes = self.map.bytes().get(start..start + ENTRY_BYTES);
        bytes.unwrap_or_default()
    }
}

/// Writes the file durably, with these ids in place of any others. Without an id there is no file.
///
/// # Errors
/// It cannot be written.
pub fn write(dir: &Path, mut hashes: Vec<SeenHash>) -> Result<(), Error> {
    hashes.sort_unstable();
    // Of an id that is there twice, the last arrival counts.
    hashes.reverse();
    hashes.dedup_by_key(|(hash, _)| *hash);
    hashes.reverse();
    if hashes.is_empty() {
        return remove(&RealDisk, dir);
    }
    let newest = hashes.iter().map(|(_, arrival)| *arrival).max();
    let mut bytes = Vec::with_capacity(HEADER_BYTES + hashes.len() * ENTRY_BYTES);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&(hashes.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&newest.unwrap_or(0).to_le_bytes());
    let sum = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    for (hash, arrival) in hashes {
        bytes.extend_from_slice(&hash);
        bytes.extend_from_slice(&arrival.to_le_bytes());
    }
    replace(&RealDisk, &dir.join(FILE), |file| file.write_at(&bytes, 0))
}

/// Removes the file, if there is one.
///
/// # Errors
/// It cannot be removed.
pub fn remove(disk: &dyn Disk, dir: &Path) -> Result<(), Error> {
    let path = dir.join(FILE);
    match disk.remove(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(Error::io("remove", &path, source)),
        Ok(()) => sync_parent(disk, &path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_known_until_they_are_old() {
        let dir = tempfile::tempdir().unwrap();
        assert!(SeenHashes::open(&RealDisk, dir.path()).unwrap().is_none());
        let ids: Vec<String> = (0..1000).map(|n| format!("<{n}@example.org>")).collect();
        let hashes = ids.iter().zip(1000u32..);
        let hashes = hashes.map(|(id, arrival)| (md5_of(id.as_bytes()), arrival));
        write(dir.path(), hashes.collect()).unwrap();
        let seen = SeenHashes::open(&RealDisk, dir.path()).unwrap().unwrap();
        assert!(ids.iter().all(|id| seen.has(id.as_bytes(), i64::MIN)));
        assert!(seen.has(b"<7@EXAMPLE.org>", 1007));
        assert!(!seen.has(b"<7@example.org>", 1008));
        assert!(!seen.has(b"<1000@example.org>", 0));
        assert!(seen.is_old(2000) && !seen.is_old(1999));
        write(dir.path(), Vec::new()).unwrap();
        assert!(SeenHashes::open(&RealDisk, dir.path()).unwrap().is_none());
    }

    #[test]
    fn a_truncated_file_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        write(
            dir.path(),
            vec![(md5_of(b"<a@b>"), 1), (md5_of(b"<c@d>"), 2)],
        )
        .unwrap();
        let path = dir.path().join(FILE);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - ENTRY_BYTES]).unwrap();
        assert!(SeenHashes::open(&RealDisk, dir.path()).is_err());
    }
}
