//! Files that the command line names.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::path::Path;

use anyhow::Context;

/// Size of a file that a command reads whole, bytes: 64 MiB. A device may have no end.
pub const FILE_BYTES_MAX: u64 = 64 << 20;

/// The content of a file, or of a pipe.
///
/// # Errors
/// It cannot be read, is a directory, or has more than [`FILE_BYTES_MAX`] bytes; the error names it.
pub fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = open(path.as_os_str())?
        .take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes);
    read.with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        anyhow::bail!("{} is larger than {FILE_BYTES_MAX} bytes", path.display());
    }
    Ok(bytes)
}

/// Opens a file, or a pipe, to read it. A directory can be opened, too, but not read: that error would not name it.
///
/// # Errors
/// It cannot be opened, or is a directory; the error names it.
pub fn open(path: &OsStr) -> anyhow::Result<File> {
    let opened = File::open(path).and_then(|file| match file.metadata()?.is_dir() {
        true => Err(Error::from(ErrorKind::IsADirectory)),
        false => Ok(file),
    });
    opened.with_context(|| format!("cannot read {}", Path::new(path).display()))
}
