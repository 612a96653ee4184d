//! The place in a history up to which everything is imported; a killed run continues there.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use store::seen_hashes::md5_of;

use crate::error::Error;
use crate::importer::Counts;

/// The state file in the news directory, while an import is not finished.
pub const STATE: &str = "import.state";

/// Bytes before the offset by which a history is known again.
const COMPARED_BYTES: u64 = 256;

/// The progress of an import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// Bytes of the history that were read.
    pub(crate) offset: u64,
    /// Hashes in `import.hashes`.
    pub(crate) hashes: u64,
    /// The results so far.
    pub(crate) counts: Counts,
}

impl State {
    /// Reads the state of a killed run over the same history; else begins anew.
    pub(crate) fn read(dir: &Path, history: &Path, file: &File) -> Result<State, Error> {
        let path = dir.join(STATE);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(State::default()),
            read => read.map_err(Error::io("read", &path))?,
        };
        let Some((state, identity)) = parse(&text) else {
            return Ok(State::default());
        };
        let known = identity_at(file, state.offset).map_err(Error::io("read", history))?;
        Ok(if known == identity {
            state
        } else {
            State::default()
        })
    }

    /// Writes the state durably; `file` is the history that was read.
    pub(crate) fn write(&self, dir: &Path, history: &Path, file: &File) -> Result<(), Error> {
        let identity = identity_at(file, self.offset).map_err(Error::io("read", history))?;
        let c = &self.counts;
        let text = format!(
            "BSimport2\n{identity}\n{} {} {} {} {} {} {} {} {}\n",
            self.offset,
            self.hashes,
            c.filed,
            c.bytes,
            c.known,
            c.gone,
            c.remembered,
            c.unfiled,
            c.garbled
        );
        let path = dir.join(STATE);
        store::replace(&store::disk::RealDisk, &path, |file| {
            file.write_at(text.as_bytes(), 0)
        })?;
        Ok(())
    }
}

/// The state, and the identity of its history.
fn parse(text: &str) -> Option<(State, &str)> {
    let mut lines = text.lines();
    if lines.next()? != "BSimport2" {
        return None;
    }
    let identity = lines.next()?;
    let numbers: Option<Vec<u64>> = lines
        .next()?
        .split(' ')
        .map(|number| number.parse().ok())
        .collect();
    let [
        offset,
        hashes,
        filed,
        bytes,
        known,
        gone,
        remembered,
        unfiled,
        garbled,
    ] = *numbers?
    else {
        return None;
    };
    let state = State {
        offset,
        hashes,
        counts: Counts {
            filed,
            bytes,
            known,
            gone,
            remembered,
            unfiled,
            garbled,
            added: 0,
            differing: 0,
            unnamed: 0,
            gone_here: 0,
            has_numbers: false,
        },
    };
    Some((state, identity))
}

/// Another history than before is read from its beginning: expire of the other system writes it anew, perhaps in the place of the one before.
/// The identity therefore includes the bytes before the offset.
fn identity_at(file: &File, offset: u64) -> io::Result<String> {
    use std::os::unix::fs::{FileExt, MetadataExt};
    let info = file.metadata()?;
    let mut before = [0; COMPARED_BYTES as usize];
    let length = offset.min(COMPARED_BYTES);
    let before = before.get_mut(..length as usize).unwrap_or_default();
    let sum = match file.read_exact_at(before, offset - length) {
        Ok(()) => hexadecimal(&md5_of(before)),
        // It is shorter.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => String::new(),
        Err(error) => return Err(error),
    };
    Ok(format!("{} {} {sum}", info.dev(), info.ino()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_of_one_history() {
        let dir = tempfile::tempdir().unwrap();
        let history = dir.path().join("history");
        let read = || State::read(dir.path(), &history, &File::open(&history).unwrap()).unwrap();
        fs::write(&history, b"a\nb\nc\n").unwrap();
        assert_eq!(read(), State::default());
        let mut state = State {
            offset: 4,
            hashes: 3,
            ..State::default()
        };
        state.counts.garbled = 10;
        let open = File::open(&history).unwrap();
        state.write(dir.path(), &history, &open).unwrap();
        assert_eq!(read(), state);
        // Written in place: the lines that follow are others, then those before, then it is shorter.
        for (text, is_same) in [
            (b"a\nb\nx\n".as_slice(), true),
            (b"a\nx\nc\n", false),
            (b"a\n", false),
        ] {
            fs::write(&history, text).unwrap();
            assert_eq!(read() == state, is_same);
        }
        // Another one takes its place while it is read.
        fs::rename(&history, dir.path().join("before")).unwrap();
        fs::write(&history, b"a\nb\nc\n").unwrap();
        state.write(dir.path(), &history, &open).unwrap();
        assert_eq!(read(), State::default());
        fs::write(dir.path().join(STATE), "BSimport2\n1 2\n100\n").unwrap();
        assert_eq!(read(), State::default());
    }
}
