//! The contents of the files of all backups in a directory, each once, under its checksum.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use sha2::{Digest, Sha256};
use store::regular;

/// SHA-256 of a content.
pub type Checksum = [u8; 32];

/// Name of their directory.
const DIRECTORY: &str = "data";
/// Extension of a damaged content: the next backup copies the file again.
const DAMAGED: &str = "damaged";
/// Bytes that are copied at once.
const PIECE_BYTES: usize = 1 << 20;

/// A checksum in hexadecimal digits.
pub fn hexadecimal(checksum: &Checksum) -> String {
    checksum.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads hexadecimal digits.
pub fn parse(text: &str) -> Option<Checksum> {
    let mut checksum = [0; 32];
    let is_right = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    for (index, byte) in checksum.iter_mut().enumerate().take_while(|_| is_right) {
        let digits = text.get(2 * index..2 * index + 2)?;
        *byte = u8::from_str_radix(digits, 16).ok()?;
    }
    is_right.then_some(checksum)
}

/// The contents.
pub struct Contents {
    directory: PathBuf,
}

impl Contents {
    /// The contents of the backups in a directory.
    pub fn of(backups: &Path) -> Contents {
        Contents {
            directory: backups.join(DIRECTORY),
        }
    }

    /// Makes the directory.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn make(&self) -> io::Result<()> {
        store::make_directories(&self.directory, 0o700)
    }

    /// The file with a content.
    pub fn path(&self, checksum: &Checksum) -> PathBuf {
        self.directory.join(hexadecimal(checksum))
    }

    fn damaged_path(&self, checksum: &Checksum) -> PathBuf {
        self.path(checksum).with_extension(DAMAGED)
    }

    /// Whether a content is there, by its size.
    pub fn has(&self, checksum: &Checksum, size: u64) -> bool {
        fs::metadata(self.path(checksum)).is_ok_and(|data| data.len() == size)
    }

    /// Stores at most `bytes_max` bytes of a file, durably once [`Contents::sync`] has been called. Returns their checksum and number, and
    /// whether they are new, or replace a damaged content.
    ///
    /// # Errors
    /// The file cannot be read, or the copy cannot be written.
    pub fn store(&self, from: impl Read, bytes_max: u64) -> io::Result<(Checksum, u64, bool)> {
        let temporary = self.directory.join("new");
        let mut copy = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(&temporary)?;
        let (checksum, size) = copied(&mut from.take(bytes_max), &mut copy)
            .map_err(|(CopyError::Read(error) | CopyError::Write(error))| error)?;
        let path = self.path(&checksum);
        if self.verify(&checksum, size).is_ok() {
            fs::remove_file(&temporary)?;
            return Ok((checksum, size, false));
        }
        copy.sync_all()?;
        fs::rename(&temporary, &path)?;
        match fs::remove_file(self.damaged_path(&checksum)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok((checksum, size, true)),
        }
    }

    /// Gives damaged contents another name, so that no backup takes them for the contents of its files. The caller holds the lock of the backups.
    ///
    /// # Errors
    /// A file cannot be renamed, or its directory cannot be synced.
    pub fn set_aside(&self, damaged: &[Checksum]) -> io::Result<()> {
        for checksum in damaged {
            fs::rename(self.path(checksum), self.damaged_path(checksum))?;
        }
        match damaged.is_empty() {
            true => Ok(()),
            false => self.sync(),
        }
    }

    /// Waits until the names of the contents are on the disk.
    ///
    /// # Errors
    /// An I/O error.
    pub fn sync(&self) -> io::Result<()> {
        store::sync_directory(&self.directory)
    }

    /// Writes a content to a new file and syncs it.
    ///
    /// # Errors
    /// It is missing or damaged, or the file cannot be written.
    pub fn fetch(&self, (checksum, size): (&Checksum, u64), to: &mut File) -> anyhow::Result<()> {
        let path = self.path(checksum);
        let damaged = || format!("the backup is damaged: {}", path.display());
        let from = regular::open(&path).with_context(damaged)?;
        let (found, bytes) = copied(&mut &from, to).map_err(|failed| match failed {
            CopyError::Read(error) => anyhow::Error::new(error).context(damaged()),
            CopyError::Write(error) => anyhow::Error::new(error).context("cannot write the copy"),
        })?;
        ensure!(
            found == *checksum && bytes == size,
            "the backup is damaged: {}: the content does not have the checksum of its name",
            path.display()
        );
        to.sync_all().context("cannot sync the copy")
    }

    /// Compares a content with its checksum.
    ///
    /// # Errors
    /// It is missing, cannot be read, or is damaged: see [`is_damage`].
    pub fn verify(&self, checksum: &Checksum, size: u64) -> io::Result<()> {
        let damaged = || {
            Err(io::Error::new(
                ErrorKind::InvalidData,
                "the content does not have the checksum of its name",
            ))
        };
        let mut from = match regular::open(&self.path(checksum)) {
            Err(error)
                if error.kind() == ErrorKind::NotFound && self.damaged_path(checksum).exists() =>
            {
                return Err(io::Error::new(
                    ErrorKind::NotFound,
                    "the content is damaged, and set aside until a `backup' copies the file again",
                ));
            }
            opened => opened?,
        };
        if from.metadata()?.len() != size {
            return damaged();
        }
        let mut sum = Sha256::new();
        let bytes = io::copy(&mut from, &mut Hashing(&mut sum))?;
        let found: Checksum = sum.finalize().into();
        match found == *checksum && bytes == size {
            true => Ok(()),
            false => damaged(),
        }
    }

    /// Removes the contents that no backup needs; returns their number.
    ///
    /// # Errors
    /// The directory cannot be read, or a file cannot be removed.
    pub fn keep_only(&self, needed: &HashSet<Checksum>) -> io::Result<usize> {
        let mut removed = 0;
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_str().unwrap_or_default();
            let damaged = Path::new(name).extension() == Some(OsStr::new(DAMAGED));
            let name = match damaged {
                true => name.split('.').next().unwrap_or_default(),
                false => name,
            };
            let checksum = parse(name);
            if checksum.is_some_and(|checksum| !needed.contains(&checksum)) {
                fs::remove_file(entry.path())?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

/// Whether an error of [`Contents::verify`] is damage: wrong bytes, or a bad sector.
pub fn is_damage(error: &io::Error) -> bool {
    error.kind() == ErrorKind::InvalidData
        || error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error())
}

struct Hashing<'a>(&'a mut Sha256);

impl Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Which side of a copy failed.
enum CopyError {
    Read(io::Error),
    Write(io::Error),
}

/// Copies to an empty file, whose holes are where the source has blocks of zeros; returns checksum and size.
fn copied(from: &mut impl Read, to: &mut File) -> Result<(Checksum, u64), CopyError> {
    let (mut sum, mut size) = (Sha256::new(), 0);
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let mut filled = 0;
        while let Some(room) = piece.get_mut(filled..).filter(|room| !room.is_empty()) {
            match from.read(room) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(CopyError::Read(error)),
            }
        }
        let bytes = piece.get(..filled).unwrap_or_default();
        if bytes.is_empty() {
            break;
        }
        sum.update(bytes);
        let start = size;
        size += bytes.len() as u64;
        for (at, part) in store::parts_without_zeros(bytes) {
            to.write_all_at(part, start + at as u64)
                .map_err(CopyError::Write)?;
        }
    }
    to.set_len(size).map_err(CopyError::Write)?;
    Ok((sum.finalize().into(), size))
}
