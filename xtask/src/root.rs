//! What stands in the root: runs by hand leave files there, which then are committed.

use std::path::Path;

use crate::files::{entries, name};

const KNOWN: &[&str] = &[
    ".cargo",
    ".ci",
    ".git",
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "Makefile",
    "README.md",
    "SECURITY.md",
    "bench",
    "clippy.toml",
    "conformance",
    "crates",
    "docs",
    "findings",
    "fuzz",
    "packaging",
    "rustfmt.toml",
    "target",
    "torture",
    "xtask",
];

pub fn faults(root: &Path) -> Vec<String> {
    let all = entries(root);
    let unknown = all.iter().filter(|path| !KNOWN.contains(&name(path)));
    unknown
        .map(|path| {
            format!(
                "{} stands in the root, and xtask/src/root.rs does not list it",
                name(path)
            )
        })
        .collect()
}
