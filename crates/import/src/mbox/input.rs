//! Opens the files of mailboxes: plain, compressed (gzip, bzip2, xz, zstd, compress), or the members of a zip archive.

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::rc::Rc;

use article::wrap::{self, WrapLimits};
use zip::ZipArchive;

use crate::regular;

/// Largest mailbox after decompression, bytes; a larger one is an error there.
pub const MAILBOX_BYTES_MAX: u64 = 1 << 42;
/// Most members of a zip archive; an archive with more is an error.
pub const ZIP_MEMBERS_MAX: usize = 65_535;

/// A reader that counts.
#[derive(Debug)]
struct Counted<R> {
    inner: R,
    read: Rc<Cell<u64>>,
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

/// Opens a file and passes each mailbox in it to `each`, decompressed as it is read. `read` counts the bytes of the file that were read.
///
/// # Errors
/// The file cannot be opened, or is a damaged archive, as the inner error; the outer one is that of `each`.
pub fn mailboxes<E>(
    path: &Path,
    read: &Rc<Cell<u64>>,
    each: &mut ReadMailbox<'_, E>,
) -> Result<io::Result<()>, E> {
    // What the shell passes: standard input, and the other end of `<(command)`.
    let opened = match path.starts_with("/dev/stdin") || path.starts_with("/dev/fd") {
        true => File::open(path),
        false => regular::open(path),
    };
    let mut file = match opened {
        Ok(file) => file,
        Err(error) => return Ok(Err(error)),
    };
    let name = path.display().to_string();
    let mut head = [0; 4];
    let count = match fill(&mut file, &mut head) {
        Ok(count) => count,
        Err(error) => return Ok(Err(error)),
    };
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        return members(file, &name, read, each);
    }
    let head = head.get(..count).unwrap_or_default().to_vec();
    let counted = Counted {
        inner: Cursor::new(head).chain(file),
        read: Rc::clone(read),
    };
    decompressed(counted, &name, each)
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

fn decompressed<E>(
    reader: impl Read,
    name: &str,
    each: &mut ReadMailbox<'_, E>,
) -> Result<io::Result<()>, E> {
    let limits = WrapLimits {
        expanded_bytes_max: MAILBOX_BYTES_MAX,
        ..WrapLimits::default()
    };
    match wrap::open(reader, limits) {
        Ok(mut plain) => each(name, &mut plain).map(Ok),
        Err(error) => Ok(Err(error.into())),
    }
}

fn members<E>(
    file: File,
    name: &str,
    read: &Rc<Cell<u64>>,
    each: &mut ReadMailbox<'_, E>,
) -> Result<io::Result<()>, E> {
    let counted = Counted {
        inner: file,
        read: Rc::clone(read),
    };
    let mut archive = match ZipArchive::new(io::BufReader::new(counted)) {
        Ok(archive) => archive,
        Err(error) => return Ok(Err(io::Error::other(format!("the zip archive: {error}")))),
    };
    if archive.len() > ZIP_MEMBERS_MAX {
        let why = format!("the zip archive has more than {ZIP_MEMBERS_MAX} members");
        return Ok(Err(io::Error::other(why)));
    }
    let mut first_error = Ok(());
    for index in 0..archive.len() {
        let member = match archive.by_index(index) {
            Ok(member) => member,
            Err(error) => {
                let why = format!("member {} of the zip archive: {error}", index + 1);
                first_error = first_error.and(Err(io::Error::other(why)));
                continue;
            }
        };
        if !member.is_file() {
            continue;
        }
        let of_member = match member.name() {
            Ok(known) => known.escape_debug().to_string(),
            Err(_) => format!("member {}", index + 1),
        };
        let name = format!("{name}:{of_member}");
        if let Err(error) = decompressed(member, &name, each)? {
            first_error = first_error.and(Err(error));
        }
    }
    Ok(first_error)
}
