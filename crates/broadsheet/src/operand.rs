//! Files that the command line names.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Error, ErrorKind};
use std::path::Path;

use anyhow::Context;

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
