//! What stands in the root: runs by hand leave files there, which then are committed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const KNOWN: &[&str] = &[
    ".cargo",
    ".ci",
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
    "torture",
    "xtask",
];

/// Files that git does not know may lie there: those of a build, or of the machine.
pub fn faults(root: &Path) -> Vec<String> {
    let listed = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root)
        .output()
        .ok()
        .filter(|listed| listed.status.success());
    let Some(listed) = listed else {
        println!("skipped: the check of the root (this is no clone, or there is no git)");
        return Vec::new();
    };
    unknown(&String::from_utf8_lossy(&listed.stdout))
        .into_iter()
        .map(|name| format!("{name} stands in the root, and xtask/src/root.rs does not list it"))
        .collect()
}

/// The first parts of paths that are not in [`KNOWN`].
fn unknown(paths: &str) -> BTreeSet<&str> {
    let paths = paths.split('\0').filter(|path| !path.is_empty());
    let names = paths.filter_map(|path| path.split('/').next());
    names.filter(|name| !KNOWN.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_found() {
        let paths = "README.md\0docs/a.md\0g/active\0g/sys\0s.1\0";
        assert_eq!(unknown(paths), BTreeSet::from(["g", "s.1"]));
    }
}
