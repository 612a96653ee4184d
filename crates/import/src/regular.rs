//! Opens files that a person or another system names: a FIFO, which would make the import wait for ever, is an error.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use store::regular::at_once;

/// Opens a regular file, or a disk, which a buffer of CNFS may be, for reading.
///
/// # Errors
/// It cannot be opened, or is something else.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = at_once(OpenOptions::new().read(true)).open(path)?;
    let kind = file.metadata()?.file_type();
    match kind.is_file() || kind.is_block_device() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifo_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fifo");
        let mode = rustix::fs::Mode::RUSR;
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, mode).unwrap();
        let error = open(&path).unwrap_err();
        assert_eq!(error.to_string(), "it is not a regular file");
        assert!(open(dir.path()).is_err());
        let path = dir.path().join("file");
        std::fs::write(&path, b"x").unwrap();
        assert!(open(&path).is_ok());
    }
}
