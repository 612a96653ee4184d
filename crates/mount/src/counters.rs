//! The counts of the caches. A mount writes them into a file of the news directory, which it keeps locked: `mounts/0`, `mounts/1` and so
//! on. `status` reads the files that somebody has locked.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use namei::{Counts, OffsetCounts};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// Mounts of one news directory whose counts are kept.
pub const MOUNTS_MAX: usize = 64;
/// The size of a file, bytes: it is written in one piece, so blanks fill it.
const FILE_BYTES: usize = 4096;
/// The directory of the files.
const MOUNTS: &str = "mounts";

/// The counts of the caches since the mount.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Names that the name cache had.
    pub name_hits: u64,
    /// Names that it had not, stale ones included.
    pub name_misses: u64,
    /// Names that it had, of what was removed since, or had to make room.
    pub name_stale: u64,
    /// Names too long for it; they are misses, too.
    pub name_too_long: u64,
    /// How often it was emptied, because the capabilities were used up.
    pub name_purges: u64,
    /// Searches that found the name where the last search of the process ended.
    pub offset_hits: u64,
    /// Searches that began there and did not find it there.
    pub offset_passes: u64,
    /// Searches that began at the start of the directory.
    pub offset_misses: u64,
    /// Entries of directories examined.
    pub entries_examined: u64,
}

impl Counters {
    /// Of the counts of both caches, and the names found whose article or directory was removed.
    pub(crate) fn of(names: Counts, dead: u64, offsets: OffsetCounts) -> Counters {
        Counters {
            name_hits: names.hits - dead,
            name_misses: names.misses + dead,
            name_stale: names.stale + dead,
            name_too_long: names.too_long,
            name_purges: names.purges,
            offset_hits: offsets.hits,
            offset_passes: offsets.passes,
            offset_misses: offsets.misses,
            entries_examined: offsets.examined,
        }
    }
}

/// A mount, as its file tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mounted {
    /// Where.
    pub at: String,
    /// Its process.
    pub pid: u32,
    /// Since when, epoch seconds.
    pub since: i64,
    /// The counts.
    #[serde(flatten)]
    pub counters: Counters,
}

/// The file of this mount. It is locked until the process ends.
#[derive(Debug)]
pub(crate) struct CountersFile {
    file: File,
    path: PathBuf,
}

impl CountersFile {
    /// Takes the first file that no mount has locked.
    ///
    /// # Errors
    /// This user cannot write there, or there are [`MOUNTS_MAX`] mounts.
    pub fn create(dir: &Path) -> io::Result<CountersFile> {
        let folder = dir.join(MOUNTS);
        match std::fs::create_dir(&folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        for number in 0..MOUNTS_MAX {
            let path = folder.join(number.to_string());
            let mut options = OpenOptions::new();
            let options = options.create(true).truncate(false).write(true);
            let file = store::regular::open_with(&path, options)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(CountersFile { file, path }),
                Err(Errno::WOULDBLOCK) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Err(io::Error::other(format!("there are {MOUNTS_MAX} mounts")))
    }

    /// Writes the counts.
    ///
    /// # Errors
    /// An I/O error.
    pub fn write(&self, mounted: &Mounted) -> io::Result<()> {
        let mut text = serde_json::to_vec(mounted)?;
        text.resize(text.len().max(FILE_BYTES - 1), b' ');
        text.push(b'\n');
        self.file.write_all_at(&text, 0)?;
        self.file.set_len(text.len() as u64)
    }

    /// Removes the file. One that stays behind is not looked at without a lock, and taken by another mount.
    pub fn remove(&self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The mounts of a news directory, as far as they write their counts.
pub fn read(dir: &Path) -> Vec<Mounted> {
    let folder = dir.join(MOUNTS);
    let paths = (0..MOUNTS_MAX).map(|number| folder.join(number.to_string()));
    paths.filter_map(|path| read_file(&path)).collect()
}

/// `None`: no mount has locked the file.
fn read_file(path: &Path) -> Option<Mounted> {
    let mut file = store::regular::open(path).ok()?;
    if flock(&file, FlockOperation::NonBlockingLockShared).is_ok() {
        return None;
    }
    let mut text = Vec::new();
    let bytes_max = 4 * FILE_BYTES as u64;
    file.by_ref().take(bytes_max).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_counts_while_it_is_locked() {
        let dir = tempfile::tempdir().unwrap();
        let mounted = |at: &str| Mounted {
            at: at.to_owned(),
            pid: 7,
            since: 9,
            counters: Counters {
                name_hits: 3,
                ..Counters::default()
            },
        };
        let one = CountersFile::create(dir.path()).unwrap();
        let two = CountersFile::create(dir.path()).unwrap();
        two.write(&mounted("/two")).unwrap();
        // The first has not written anything yet.
        assert_eq!(read(dir.path()), [mounted("/two")]);
        one.write(&mounted("/one")).unwrap();
        assert_eq!(read(dir.path()), [mounted("/one"), mounted("/two")]);
        one.remove();
        assert_eq!(read(dir.path()), [mounted("/two")]);
        // As a killed one leaves it.
        drop(two);
        assert_eq!(read(dir.path()), []);
        assert!(dir.path().join("mounts/1").exists());
    }
}
