//! Opens the files of mailboxes: plain, compressed (gzip, bzip2, xz, lzma, zstd, compress), or the members of a zip archive.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::rc::Rc;

use article::wrap::{self, UpToEnd, WrapLimits};

use crate::mbox::members::members;
use crate::regular;

/// Largest mailbox after decompression, bytes; a larger one is an error there.
pub const MAILBOX_BYTES_MAX: u64 = 1 << 42;

/// A reader that counts.
#[derive(Debug)]
pub(super) struct Counted<R> {
    pub(super) inner: R,
    pub(super) read: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(out)?;
        self.read.set(self.read.get() + count as u64);
        Ok(count)
    }
}

impl<R: Seek> Seek for Counted<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

/// Reads a mailbox; gets its name, and a reader.
pub type ReadMailbox<'a, E> = dyn FnMut(&str, &mut dyn Read) -> Result<(), E> + 'a;

/// What was found in a file beside mailboxes that were read to their end.
#[derive(Debug, Default)]
pub struct Found {
    /// The files and members that could not be read, or not to their end, with the reasons.
    pub unread: Vec<(String, String)>,
    /// The files and members with text behind the end of compressed data, and a message.
    pub trailers: Vec<(String, String)>,
}

impl Found {
    pub(super) fn add_unread(&mut self, name: &str, error: &dyn std::fmt::Display) {
        self.unread.push((name.to_owned(), error.to_string()));
    }
}

/// Opens a file and passes each mailbox in it to `each`, decompressed as it is read with `memory_bytes_max` at most for the windows of zstd, xz and
/// lzma. `read` counts the bytes of the file that were read. A file that cannot be opened is in the result.
///
/// # Errors
/// Those of `each`.
pub fn mailboxes<E>(
    path: &Path,
    memory_bytes_max: u64,
    read: &Rc<Cell<u64>>,
    each: &mut ReadMailbox<'_, E>,
) -> Result<Found, E> {
    let name = path.display().to_string();
    let mut found = Found::default();
    let opened = match opened(path) {
        Ok(opened) => opened,
        Err(error) => {
            found.add_unread(&name, &error);
            return Ok(found);
        }
    };
    let limits = WrapLimits {
        expanded_bytes_max: MAILBOX_BYTES_MAX,
        memory_bytes_max,
        ..WrapLimits::default()
    };
    let (head, file) = opened;
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        members(file, (&name, limits), read, each, &mut found)?;
        return Ok(found);
    }
    let counted = Counted {
        inner: Cursor::new(head).chain(file),
        read: Rc::clone(read),
    };
    match wrap::open(counted, limits) {
        Ok(plain) => expanded(UpToEnd::new(plain), &name, each, &mut found)?,
        Err(error) => found.add_unread(&name, &error),
    }
    Ok(found)
}

/// Opens a file and reads its first bytes.
fn opened(path: &Path) -> io::Result<(Vec<u8>, File)> {
    // What the shell passes: standard input, and the other end of `<(command)`.
    let mut file = match path.starts_with("/dev/stdin") || path.starts_with("/dev/fd") {
        true => File::open(path),
        false => regular::open(path),
    }?;
    let mut head = [0; 4];
    let count = fill(&mut file, &mut head)?;
    Ok((head.get(..count).unwrap_or_default().to_vec(), file))
}

fn fill(file: &mut File, out: &mut [u8]) -> io::Result<usize> {
    let mut count = 0;
    while let Some(room) = out.get_mut(count..).filter(|room| !room.is_empty()) {
        match file.read(room) {
            Ok(0) => break,
            Ok(read) => count += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

/// Passes a mailbox to `each`, and adds what follows its end to `found`.
pub(super) fn expanded<R: Read, E>(
    mut plain: UpToEnd<R>,
    name: &str,
    each: &mut ReadMailbox<'_, E>,
    found: &mut Found,
) -> Result<(), E> {
    each(name, &mut plain)?;
    if let Some(error) = plain.followed_by() {
        found.add_unread(name, error);
    } else if let Some(trailer) = plain.unwrapped().trailer() {
        found.trailers.push((name.to_owned(), trailer.to_string()));
    }
    Ok(())
}
