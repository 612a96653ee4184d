//! The place of a news directory that is to be made.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::bail;

/// Refuses a directory that holds anything.
pub fn must_be_new(root: &Path) -> anyhow::Result<()> {
    let mut entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            return Err(
                anyhow::Error::new(error).context(format!("cannot read {}", root.display()))
            );
        }
    };
    if entries.next().is_none() {
        return Ok(());
    }
    if root.join(settings::FILE).exists() {
        bail!(
            "{} is a news directory already; nothing was changed (`broadsheet check' describes it)",
            root.display()
        );
    }
    bail!(
        "{} is not empty; nothing was changed: choose a new or empty directory (if this is what an interrupted `init' or `restore' left, remove it)",
        root.display()
    );
}
