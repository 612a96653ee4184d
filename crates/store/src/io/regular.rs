//! Opens files that must be regular ones. A FIFO in the place of a file would make the program wait for ever.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

use crate::io::disk::fill;

/// Makes opening a FIFO return at once. Regular files ignore it; reading a place of a FIFO is an error.
pub fn at_once(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(OFlags::NONBLOCK.bits().cast_signed())
}

/// Refuses anything but a regular file.
pub(crate) fn check(told: Metadata) -> io::Result<Metadata> {
    match told.is_file() {
        true => Ok(told),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// Opens a regular file with these options.
///
/// # Errors
/// It cannot be opened, or is something else.
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = at_once(options).open(path)?;
    check(file.metadata()?)?;
    Ok(file)
}

/// The content of a regular file.
///
/// # Errors
/// It cannot be read, or is something else.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = at_once(OpenOptions::new().read(true)).open(path)?;
    let told = check(file.metadata()?)?;
    let mut bytes = vec![0; usize::try_from(told.len()).unwrap_or(0)];
    let got = fill(&file, &mut bytes, 0, 1)?;
    bytes.truncate(got);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::io::disk::{Disk, Open, RealDisk};

    #[test]
    fn a_fifo_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fifo");
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
        for told in [
            read(&path).unwrap_err(),
            open(&path, OpenOptions::new().read(true)).unwrap_err(),
            open(&path, OpenOptions::new().read(true).write(true)).unwrap_err(),
        ] {
            assert_eq!(told.to_string(), "it is not a regular file");
        }
        for how in [Open::Read, Open::Write, Open::Create] {
            let file = RealDisk.open(&path, how).unwrap();
            assert!(file.length().is_err() && file.identity().is_err());
        }
        let path = dir.path().join("file");
        std::fs::write(&path, b"x").unwrap();
        assert_eq!(read(&path).unwrap(), b"x");
        assert_eq!(
            RealDisk.open(&path, Open::Read).unwrap().length().unwrap(),
            1
        );
    }
}
