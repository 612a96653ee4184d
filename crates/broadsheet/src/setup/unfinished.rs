//! The mark of a setup that is not finished: the file `setup.unfinished` in the news directory, with the answers.
//!
//! | state | meaning |
//! |---|---|
//! | the mark, no `broadsheet.toml` | interrupted while the directory was made: it is made again |
//! | the mark and `broadsheet.toml` | the directory is whole; logins or the trial are missing |
//! | no mark | nothing was begun, or all is done |

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Context;

/// Name of the file.
const FILE: &str = "setup.unfinished";
/// Largest size that is read, bytes.
const FILE_BYTES: u64 = 64 << 10;

/// The answers of an interrupted setup; `None` without one.
pub fn read(root: &Path) -> anyhow::Result<Option<Vec<(String, String)>>> {
    let path = root.join(FILE);
    let file = match store::regular::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let mut text = String::new();
    file.take(FILE_BYTES)
        .read_to_string(&mut text)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    Ok(Some(
        lines
            .map(|(flag, answer)| (flag.to_owned(), answer.to_owned()))
            .collect(),
    ))
}

/// Makes the news directory with nothing but the mark. Only its owner and group may read it.
pub fn mark(root: &Path, answers: &[(&str, String)]) -> anyhow::Result<()> {
    let lines: Vec<String> = answers
        .iter()
        .map(|(flag, answer)| format!("{flag}\t{answer}\n"))
        .collect();
    let write = || -> io::Result<()> {
        store::make_directories(root, 0o750)?;
        let path = root.join(FILE);
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path)?;
        file.write_all(lines.concat().as_bytes())?;
        file.sync_all()?;
        store::sync_directory(root)
    };
    write().with_context(|| format!("cannot write {}", root.join(FILE).display()))
}

/// All is done.
pub fn finish(root: &Path) -> anyhow::Result<()> {
    let path = root.join(FILE);
    fs::remove_file(&path)
        .and_then(|()| store::sync_directory(root))
        .with_context(|| format!("cannot remove {}", path.display()))
}
