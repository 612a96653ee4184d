//! The place in a history up to which everything is imported; a killed run continues there.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::error::Error;
use crate::importer::Counts;

/// The state file in the news directory, while an import is not finished.
pub const STATE: &str = "import.state";

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
        let identity = identity(file).map_err(Error::io("read", history))?;
        let state = parse(&text, &identity);
        Ok(state.unwrap_or_default())
    }

    /// Writes the state durably.
    pub(crate) fn write(&self, dir: &Path, history: &Path) -> Result<(), Error> {
        let file = File::open(history).map_err(Error::io("read", history))?;
        let identity = identity(&file).map_err(Error::io("read", history))?;
        let c = &self.counts;
        let text = format!(
            "BSimport1\n{identity}\n{} {} {} {} {} {} {} {} {}\n",
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

fn parse(text: &str, identity: &str) -> Option<State> {
    let mut lines = text.lines();
    if lines.next()? != "BSimport1" || lines.next()? != identity {
        return None;
    }
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
    Some(State {
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
    })
}

/// Another history than before is read from its beginning: expire of the other system writes it anew.
fn identity(file: &File) -> io::Result<String> {
    use std::os::unix::fs::MetadataExt;
    let info = file.metadata()?;
    Ok(format!("{} {}", info.dev(), info.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_of_one_history() {
        let text = "BSimport1\n1 2\n100 3 4 5 6 7 8 9 10\n";
        let state = parse(text, "1 2").unwrap();
        assert_eq!(
            (state.offset, state.hashes, state.counts.garbled),
            (100, 3, 10)
        );
        assert_eq!(parse(text, "1 3"), None);
        assert_eq!(parse("BSimport1\n1 2\n100\n", "1 2"), None);
    }
}
