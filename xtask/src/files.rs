//! Reading files of the repository. A file that cannot be read counts as an empty one, and the checks miss what should be in it.

use std::path::{Path, PathBuf};

/// The text of a file.
pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The entries of a directory, in order.
pub fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// The last part of a path.
pub fn name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
}

/// The manifest of a crate.
pub fn manifest(directory: &Path) -> toml::Table {
    read(&directory.join("Cargo.toml"))
        .parse()
        .unwrap_or_default()
}
