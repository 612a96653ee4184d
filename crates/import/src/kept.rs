//! The files of an import's faults. They grow from run to run, and each piece is in them once: the next run meets the same faults again.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use article::batch::{Batch, BatchLimits, Item};
use hashbrown::HashSet;
use store::seen_hashes::md5_of;

use crate::cnews::tree::ARTICLE_BYTES_MAX;
use crate::error::Error;

/// Pieces of a file that an import remembers; it adds further ones again.
pub const PIECES_KNOWN_MAX: usize = 1_000_000;
/// Longest line that is compared, bytes.
pub const LINE_BYTES_MAX: u64 = 1 << 20;

/// The pieces of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pieces {
    /// Lines.
    Lines,
    /// The articles of a batch, in native form.
    Batch,
}

/// A file to which each piece is added once.
pub(crate) struct Kept {
    name: &'static str,
    pieces: Pieces,
    file: Option<File>,
    known: HashSet<[u8; 16]>,
}

impl Kept {
    /// The file with a name in the news directory. Opens nothing yet.
    pub(crate) fn new(name: &'static str, pieces: Pieces) -> Kept {
        Kept {
            name,
            pieces,
            file: None,
            known: HashSet::new(),
        }
    }

    /// Adds a piece, unless the file has it.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub(crate) fn add(&mut self, dir: &Path, piece: &[u8]) -> Result<(), Error> {
        let path = dir.join(self.name);
        let at = Error::io("write", &path);
        if self.file.is_none() {
            self.file = Some(open(&path, self.pieces, &mut self.known)?);
        }
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        if !is_new(&mut self.known, piece) {
            return Ok(());
        }
        match self.pieces {
            Pieces::Lines => file.write_all(&[piece, b"\n"].concat()),
            Pieces::Batch => file
                .write_all(format!("#! rnews {}\n", piece.len()).as_bytes())
                .and_then(|()| file.write_all(piece)),
        }
        .map_err(at)
    }

    /// Makes the file durable.
    ///
    /// # Errors
    /// It cannot be synced.
    pub(crate) fn sync(&self, dir: &Path) -> Result<(), Error> {
        match &self.file {
            Some(file) => file
                .sync_all()
                .map_err(Error::io("sync", &dir.join(self.name))),
            None => Ok(()),
        }
    }
}

/// Notes a piece; returns false if it was known.
fn is_new(known: &mut HashSet<[u8; 16]>, piece: &[u8]) -> bool {
    let hash = md5_of(piece);
    if known.len() < PIECES_KNOWN_MAX {
        known.insert(hash)
    } else {
        !known.contains(&hash)
    }
}

/// Opens a file for appending, and notes what it has. Cuts off a piece that an interrupted run left unfinished: that run did not count it
/// as done.
fn open(path: &Path, pieces: Pieces, known: &mut HashSet<[u8; 16]>) -> Result<File, Error> {
    let mut options = OpenOptions::new();
    let file = options.create(true).read(true).append(true).open(path);
    let file = file.map_err(Error::io("write", path))?;
    let end = match pieces {
        Pieces::Lines => note_lines(&file, known),
        Pieces::Batch => note_articles(&file, known),
    };
    if let Some(end) = end.map_err(Error::io("read", path))? {
        file.set_len(end).map_err(Error::io("write", path))?;
    }
    Ok(file)
}

/// Notes the lines; returns the offset of an unfinished one.
fn note_lines(file: &File, known: &mut HashSet<[u8; 16]>) -> io::Result<Option<u64>> {
    let mut reader = BufReader::new(file);
    let (mut line, mut offset) = (Vec::new(), 0);
    loop {
        line.clear();
        let read = Read::take(&mut reader, LINE_BYTES_MAX).read_until(b'\n', &mut line)? as u64;
        match line.strip_suffix(b"\n") {
            _ if read == 0 => return Ok(None),
            Some(whole) => _ = is_new(known, whole),
            None if read < LINE_BYTES_MAX => return Ok(Some(offset)),
            None => {}
        }
        offset += read;
    }
}

/// Notes the articles of a batch; returns the offset of an unfinished one.
fn note_articles(file: &File, known: &mut HashSet<[u8; 16]>) -> io::Result<Option<u64>> {
    let limits = BatchLimits {
        article_bytes_max: usize::try_from(ARTICLE_BYTES_MAX).unwrap_or(usize::MAX),
        ..BatchLimits::default()
    };
    let mut batch = Batch::new(file, limits);
    loop {
        let offset = batch.offset();
        match batch.next()? {
            Some(Item::Article { bytes, .. }) => _ = is_new(known, bytes),
            Some(Item::Short { .. }) => return Ok(Some(offset)),
            Some(Item::OutOfStep { .. } | Item::TooLarge { .. }) => {}
            None => return Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn add(dir: &Path, pieces: Pieces, all: &[&[u8]]) -> Vec<u8> {
        let mut kept = Kept::new("file", pieces);
        for piece in all {
            kept.add(dir, piece).unwrap();
        }
        kept.sync(dir).unwrap();
        fs::read(dir.join("file")).unwrap()
    }

    #[test]
    fn each_piece_is_there_once() {
        for (pieces, two, three) in [
            (Pieces::Lines, &b"one\ntwo\n"[..], &b"one\ntwo\nthree\n"[..]),
            (
                Pieces::Batch,
                b"#! rnews 3\none#! rnews 3\ntwo",
                b"#! rnews 3\none#! rnews 3\ntwo#! rnews 5\nthree",
            ),
        ] {
            let dir = tempfile::tempdir().unwrap();
            assert_eq!(add(dir.path(), pieces, &[b"one", b"two", b"one"]), two);
            assert_eq!(add(dir.path(), pieces, &[b"two", b"three"]), three);
            // What a killed run left is finished by the next.
            for cut in 1..4 {
                fs::write(dir.path().join("file"), &three[..three.len() - cut]).unwrap();
                assert_eq!(add(dir.path(), pieces, &[b"three"]), three, "{cut}");
            }
        }
    }
}
