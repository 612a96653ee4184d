//! How the commands `block` read and write the file `blocks`.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use daemon::client;
use relay::Blocks;
use relay::blocks::{Block, BlockKind, FILE};
use store::disk::RealDisk;
use store::{Lock, replace};

use crate::directory::NewsDirectory;
use crate::exit::Status;
use crate::flags::{Given, UsageError};

/// The kind and the pattern that the operands name.
///
/// # Errors
/// An unknown kind, or a pattern that cannot stand in a line.
pub fn named(given: &Given) -> Result<(BlockKind, Vec<u8>), UsageError> {
    let mut operands = given.operands.iter().map(|word| word.as_bytes());
    let word = operands.next().unwrap_or_default();
    let kind = BlockKind::of_word(word).ok_or_else(|| {
        given.usage(format!(
            "KIND must be from, host, login or injector, not `{}'",
            groups::shown(word)
        ))
    })?;
    let pattern = operands.next().unwrap_or_default().trim_ascii();
    if pattern.is_empty() || pattern.iter().any(u8::is_ascii_control) {
        return Err(given.usage("the pattern must be one line without tabs"));
    }
    Ok((kind, pattern.to_vec()))
}

/// Changes the file, and puts it in force where a daemon runs. `change` returns false if there is nothing to change.
///
/// # Errors
/// The file cannot be read or written.
pub fn edit(
    directory: &NewsDirectory,
    out: &mut dyn Write,
    change: impl FnOnce(&mut Vec<Block>) -> bool,
) -> anyhow::Result<Status> {
    let settings = directory.settings()?.settings;
    // Two commands at once would lose a change.
    let _one = Lock::take_named(directory.root(), "lock.blocks", true)?;
    let mut blocks = directory.blocks()?.blocks().to_vec();
    if !change(&mut blocks) {
        return Ok(Status::NO);
    }
    let text = Blocks::of(blocks).text();
    Blocks::parse(&text)?;
    replace(&RealDisk, &directory.file(FILE), |file| {
        file.write_at(&text, 0)
    })?;
    if settings.is_node() {
        writeln!(
            out,
            "`broadsheet cluster apply' puts it in force on all nodes"
        )?;
        return Ok(Status::OK);
    }
    // rnews and inews read the file themselves.
    let Some((messages, status)) = client::reload(directory.root())? else {
        return Ok(Status::OK);
    };
    for message in messages {
        eprintln!("broadsheet: {message}");
    }
    Ok(Status::told(status))
}
