//! Copies a pipe during the read, since its batch can be read only once: keeps the bytes that are not yet committed.
//!
//! A file can be read again, so nothing of it is kept. Of a pipe, the tee keeps the bytes since the last commit, and writes them to a
//! file if the batch is bad or filing stops; later bytes are copied to that file as they are read.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Write};
use std::rc::Rc;

/// The state of a tee.
#[derive(Debug)]
enum TeeState {
    /// Keeps nothing: the input can be read again.
    Nothing,
    /// Keeps the bytes from this offset on, in memory.
    Held { from: u64, bytes: Vec<u8> },
    /// Copies all bytes to this file.
    File(File),
}

/// Controls the tee while the batch reads through [`TeeReader`].
#[derive(Debug, Clone)]
pub struct Tee(Rc<RefCell<TeeState>>);

/// A reader with a tee.
#[derive(Debug)]
pub struct TeeReader<R> {
    reader: R,
    tee: Tee,
}

impl Tee {
    /// A tee that keeps nothing.
    pub fn off() -> Tee {
        Tee(Rc::new(RefCell::new(TeeState::Nothing)))
    }

    /// A tee that keeps all bytes from the start.
    pub fn holding() -> Tee {
        Tee(Rc::new(RefCell::new(TeeState::Held {
            from: 0,
            bytes: Vec::new(),
        })))
    }

    /// Attaches the tee to a reader.
    pub fn attach<R: Read>(&self, reader: R) -> TeeReader<R> {
        TeeReader {
            reader,
            tee: self.clone(),
        }
    }

    /// Whether bytes are kept in memory.
    pub fn is_holding(&self) -> bool {
        matches!(*self.0.borrow(), TeeState::Held { .. })
    }

    /// Releases the bytes before this offset, which are committed, if there are `at_least` many: a release moves the remaining ones.
    pub fn forget_before(&self, offset: u64, at_least: usize) {
        if let TeeState::Held { from, bytes } = &mut *self.0.borrow_mut() {
            let gone = usize::try_from(offset.saturating_sub(*from)).unwrap_or(usize::MAX);
            if gone >= at_least {
                bytes.drain(..gone.min(bytes.len()));
                *from = offset.max(*from);
            }
        }
    }

    /// Bytes kept in memory.
    pub fn held_bytes(&self) -> usize {
        match &*self.0.borrow() {
            TeeState::Held { bytes, .. } => bytes.len(),
            _ => 0,
        }
    }

    /// Writes the kept bytes from `offset` on to `file`, and copies later bytes there. Returns the offset of the file's first byte.
    ///
    /// # Errors
    /// Those of writing.
    pub fn redirect_to(&self, mut file: File, offset: u64) -> io::Result<u64> {
        let mut state = self.0.borrow_mut();
        let mut first = offset;
        if let TeeState::Held { from, bytes } = &*state {
            first = offset.max(*from);
            let skip = usize::try_from(first - *from).unwrap_or(usize::MAX);
            file.write_all(bytes.get(skip..).unwrap_or_default())?;
        }
        *state = TeeState::File(file);
        Ok(first)
    }

    /// Syncs the file of the copy, if there is one: it is the only copy.
    ///
    /// # Errors
    /// Those of syncing.
    pub fn close(&self) -> io::Result<()> {
        match self.0.replace(TeeState::Nothing) {
            TeeState::File(file) => file.sync_all(),
            _ => Ok(()),
        }
    }
}

impl<R: Read> Read for TeeReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(out)?;
        let passed = out.get(..count).unwrap_or_default();
        match &mut *self.tee.0.borrow_mut() {
            TeeState::Nothing => {}
            TeeState::Held { bytes, .. } => bytes.extend_from_slice(passed),
            TeeState::File(file) => file.write_all(passed)?,
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(reader: &mut impl Read, count: usize) {
        let mut room = vec![0; count];
        reader.read_exact(&mut room).unwrap();
    }

    fn text(path: &std::path::Path) -> String {
        std::fs::read_to_string(path).unwrap()
    }

    #[test]
    fn holds_from_the_last_safe_byte_and_flows_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kept");
        let tee = Tee::holding();
        let mut reader = tee.attach(&b"0123456789"[..]);
        read(&mut reader, 5);
        tee.forget_before(1, 2);
        assert_eq!(tee.held_bytes(), 5);
        tee.forget_before(2, 2);
        assert_eq!(tee.held_bytes(), 3);
        let first = tee.redirect_to(File::create(&path).unwrap(), 3).unwrap();
        assert_eq!((first, text(&path).as_str()), (3, "34"));
        read(&mut reader, 4);
        assert_eq!(text(&path), "345678");
        tee.close().unwrap();
        read(&mut reader, 1);
        assert_eq!(text(&path), "345678");
    }

    #[test]
    fn what_was_forgotten_cannot_be_poured() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kept");
        let tee = Tee::holding();
        let mut reader = tee.attach(&b"0123456789"[..]);
        read(&mut reader, 5);
        tee.forget_before(4, 1);
        let first = tee.redirect_to(File::create(&path).unwrap(), 0).unwrap();
        assert_eq!((first, text(&path).as_str()), (4, "4"));
    }

    #[test]
    fn off_keeps_nothing() {
        let tee = Tee::off();
        let mut reader = tee.attach(&b"0123456789"[..]);
        read(&mut reader, 5);
        assert_eq!(tee.held_bytes(), 0);
        assert!(!tee.is_holding());
    }
}
