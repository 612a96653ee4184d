//! Opens files that must be regular ones. A FIFO in the place of a file would make the program wait for ever.
//!
//! A confined thread that may not open a file asks another one, which decides what it gets ([`open_by`]).

use std::cell::RefCell;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// Makes opening a FIFO return at once. Regular files ignore it; reading a place of a FIFO is an error.
pub fn at_once(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(OFlags::NONBLOCK.bits().cast_signed())
}

/// Refuses anything but a regular file.
pub(crate) fn check(told: Metadata) -> io::Result<Metadata> {
    match told.is_file() {
        true => Ok(told),
        false => Err(irregular()),
    }
}

fn irregular() -> io::Error {
    io::Error::other("it is not a regular file")
}

fn open_at_once(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    match at_once(options).open(path) {
        // A FIFO without a reader, or a socket.
        Err(error) if Errno::from_io_error(&error) == Some(Errno::NXIO) => Err(irregular()),
        opened => opened,
    }
}

type Opener = Box<dyn Fn(&Path) -> io::Result<File>>;

thread_local! {
    static OPENER: RefCell<Option<Opener>> = const { RefCell::new(None) };
}

/// From now on, a file that the calling thread is not permitted to open for reading is opened by this function.
pub fn open_by(opener: impl Fn(&Path) -> io::Result<File> + 'static) {
    OPENER.set(Some(Box::new(opener)));
}

/// The file as this thread opened it for reading, or as its opener does ([`open_by`]).
pub(crate) fn or_by_opener(path: &Path, opened: io::Result<File>) -> io::Result<File> {
    match opened {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            OPENER.with_borrow(|opener| match opener {
                Some(opener) => opener(path),
                None => Err(error),
            })
        }
        opened => opened,
    }
}

/// Opens a regular file for reading.
///
/// # Errors
/// It cannot be opened, or is something else.
pub fn open(path: &Path) -> io::Result<File> {
    let file = open_at_once(path, OpenOptions::new().read(true));
    let file = or_by_opener(path, file)?;
    check(file.metadata()?)?;
    Ok(file)
}

/// Opens a regular file with these options.
///
/// # Errors
/// It cannot be opened, or is something else.
pub fn open_with(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = open_at_once(path, options)?;
    check(file.metadata()?)?;
    Ok(file)
}

/// Opens a log for appending, and creates it if it is missing. It may also be a character device, such as `/dev/null`.
///
/// # Errors
/// It cannot be opened, or is something else.
pub fn append(path: &Path) -> io::Result<File> {
    let file = open_at_once(path, OpenOptions::new().append(true).create(true))?;
    let told = file.metadata()?;
    match told.file_type().is_char_device() {
        true => Ok(file),
        false => check(told).map(|_| file),
    }
}

/// The content of a regular file.
///
/// # Errors
/// It cannot be read, or is something else.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a regular file.
///
/// # Errors
/// As [`read`], or it is not UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
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
            open(&path).unwrap_err(),
            open_with(&path, OpenOptions::new().read(true).write(true)).unwrap_err(),
            open_with(&path, OpenOptions::new().write(true)).unwrap_err(),
            append(&path).unwrap_err(),
        ] {
            assert_eq!(told.to_string(), "it is not a regular file");
        }
        for how in [Open::Read, Open::Write, Open::Create] {
            let file = RealDisk.open(&path, how).unwrap();
            assert!(file.length().is_err() && file.identity().is_err());
        }
        assert!(append(Path::new("/dev/null")).is_ok());
        let path = dir.path().join("file");
        std::fs::write(&path, b"x").unwrap();
        assert_eq!(read(&path).unwrap(), b"x");
        assert_eq!(
            RealDisk.open(&path, Open::Read).unwrap().length().unwrap(),
            1
        );
    }
}
