//! Files of Diablo's spool. A directory `D.` with eight hexadecimal digits has the articles of some minutes; the digits are minutes since 1970. It
//! may lie in a directory `N.xx`. Its files `B.xxxx` have one article after the other:
//!
//! ```text
//! FF 99 01        magic, version
//! 18              bytes of this header, 24
//! t  00 00 00     1: text, 2: gzip, 4: wire form
//! 4 bytes         bytes of the article's header
//! 4 bytes         bytes of the article
//! 4 bytes         bytes of all this: header, article as stored, NUL (after gzip the NUL is not counted)
//! 00 00 00 00
//! ```
//!
//! Numbers are those of the machine that wrote the file; here of a little-endian one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Bytes of the header before each article.
pub const HEADER_BYTES: usize = 24;
/// Most directories of a spool; one with more is an error.
pub const DIRECTORIES_MAX: usize = 1_000_000;
/// Directories `N.xx` within each other; deeper ones are not searched.
pub const DEPTH_MAX: usize = 3;

const GZIP: u8 = 2;
const WIRE: u8 = 4;

/// The header before an article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Bytes before the stored article.
    pub skip: usize,
    /// Bytes of the article as stored.
    pub stored: usize,
    /// Bytes of the article.
    pub article: usize,
    /// Bytes of its header.
    pub header: usize,
    /// Bytes up to the next entry.
    pub whole: u64,
    /// Whether it is compressed.
    pub is_gzip: bool,
    /// Whether it is in wire form.
    pub is_wire: bool,
}

impl Entry {
    /// Parses a header. `None`: it is none of a known version.
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Option<Entry> {
        let [0xff, 0x99, 1, skip, kind, ..] = *bytes else {
            return None;
        };
        let number = |at: usize| {
            let field: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
            usize::try_from(u32::from_le_bytes(field)).ok()
        };
        let (header, article, whole) = (number(8)?, number(12)?, number(16)?);
        let skip = usize::from(skip);
        let is_gzip = kind & GZIP != 0;
        let stored = if is_gzip {
            whole.checked_sub(skip)?
        } else {
            article
        };
        let is_whole = is_gzip || skip.checked_add(article)?.checked_add(1)? <= whole;
        (skip >= HEADER_BYTES && header <= article && is_whole).then_some(Entry {
            skip,
            stored,
            article,
            header,
            whole: whole as u64 + u64::from(is_gzip),
            is_gzip,
            is_wire: kind & WIRE != 0,
        })
    }

    /// Whether only the header of the article was stored.
    pub fn is_header_only(&self) -> bool {
        self.article <= self.header.saturating_add(2)
    }
}

/// The files of a spool.
#[derive(Debug, Default)]
pub struct Files {
    /// The files with the times of their directories, epoch seconds, oldest first.
    pub files: Vec<(i64, PathBuf)>,
    /// Directories that cannot be read, or are none, each with the reason.
    pub unread: Vec<(PathBuf, io::Error)>,
}

/// Finds the files of a spool.
///
/// # Errors
/// The directory of the spool cannot be read, or there are more than [`DIRECTORIES_MAX`].
pub fn files(spool: &Path) -> io::Result<Files> {
    let mut found = Files::default();
    let mut directories = Vec::new();
    find(spool, 0, &mut directories, &mut found.unread)?;
    directories.sort();
    for (time, directory) in directories {
        match of_directory(&directory) {
            Ok(files) => found
                .files
                .extend(files.into_iter().map(|path| (time, path))),
            Err(error) => found.unread.push((directory, error)),
        }
    }
    Ok(found)
}

/// The files `B.xxxx` of a directory, in order.
fn of_directory(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if hexadecimal(entry.file_name().as_encoded_bytes(), b"B.").is_some() {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

fn find(
    directory: &Path,
    depth: usize,
    found: &mut Vec<(i64, PathBuf)>,
    unread: &mut Vec<(PathBuf, io::Error)>,
) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if let Some(minutes) = hexadecimal(name, b"D.") {
            if found.len() >= DIRECTORIES_MAX {
                return Err(io::Error::other(format!(
                    "the spool has more than {DIRECTORIES_MAX} directories"
                )));
            }
            found.push((i64::from(minutes) * 60, entry.path()));
        } else if hexadecimal(name, b"N.").is_some() && depth < DEPTH_MAX {
            let inner = entry.path();
            match find(&inner, depth + 1, found, unread) {
                Err(error) if found.len() < DIRECTORIES_MAX => unread.push((inner, error)),
                done => done?,
            }
        }
    }
    Ok(())
}

/// The hexadecimal number after a prefix.
fn hexadecimal(name: &[u8], prefix: &[u8]) -> Option<u32> {
    let digits = name.strip_prefix(prefix)?;
    let is_number = digits.iter().all(u8::is_ascii_hexdigit);
    let digits = std::str::from_utf8(digits).ok()?;
    (is_number && digits.len() <= 8)
        .then(|| u32::from_str_radix(digits, 16).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn header(kind: u8, header: u32, article: u32, whole: u32) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..5].copy_from_slice(&[0xff, 0x99, 1, 24, kind]);
        for (at, number) in [(8, header), (12, article), (16, whole)] {
            bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn an_entry_is_read() {
        let entry = Entry::parse(&header(4, 50, 100, 125)).unwrap();
        assert_eq!((entry.skip, entry.stored, entry.whole), (24, 100, 125));
        assert!(entry.is_wire && !entry.is_gzip && !entry.is_header_only());
        let entry = Entry::parse(&header(3, 50, 100, 84)).unwrap();
        assert_eq!((entry.stored, entry.whole), (60, 85));
        assert!(entry.is_gzip);
        assert!(
            Entry::parse(&header(4, 50, 52, 77))
                .unwrap()
                .is_header_only()
        );
        // Sizes that contradict each other; another version.
        for bad in [header(4, 50, 100, 124), header(4, 101, 100, 125)] {
            assert_eq!(Entry::parse(&bad), None);
        }
        let mut bad = header(4, 50, 100, 125);
        bad[2] = 2;
        assert_eq!(Entry::parse(&bad), None);
    }

    #[test]
    fn directories_are_in_the_order_of_their_times() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["D.0000000b", "N.01/D.0000000a", "D.x"] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        for name in [
            "D.0000000b/B.0001",
            "N.01/D.0000000a/B.0002",
            "N.01/D.0000000a/B.0001",
            "D.0000000b/x",
        ] {
            fs::write(dir.path().join(name), b"").unwrap();
        }
        // A stray file in place of a directory is reported, and hides nothing else.
        fs::write(dir.path().join("D.0000000c"), b"").unwrap();
        fs::write(dir.path().join("N.02"), b"").unwrap();
        let found = files(dir.path()).unwrap();
        let mut unread: Vec<_> = found.unread.iter().map(|(path, _)| path).collect();
        unread.sort();
        let strays = ["D.0000000c", "N.02"].map(|name| dir.path().join(name));
        assert_eq!(unread, [&strays[0], &strays[1]]);
        let names: Vec<_> = found
            .files
            .iter()
            .map(|(time, path)| {
                (
                    *time,
                    path.strip_prefix(dir.path()).unwrap().to_str().unwrap(),
                )
            })
            .collect();
        assert_eq!(
            names,
            [
                (600, "N.01/D.0000000a/B.0001"),
                (600, "N.01/D.0000000a/B.0002"),
                (660, "D.0000000b/B.0001")
            ]
        );
    }

    proptest! {
        #[test]
        fn anything_is_read(mut bytes in prop::array::uniform24(any::<u8>())) {
            bytes[..3].copy_from_slice(&[0xff, 0x99, 1]);
            if let Some(entry) = Entry::parse(&bytes) {
                prop_assert!(entry.whole > 0);
            }
        }
    }
}
