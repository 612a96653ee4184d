//! docs/dependencies.md: each crate from outside that some manifest names has its row there, and each row its crate.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::files::{entries, manifest, read};

pub fn faults(root: &Path) -> Vec<String> {
    let workspace = manifest(root);
    let workspace = workspace
        .get("workspace")
        .and_then(|workspace| workspace.get("dependencies")?.as_table().cloned())
        .unwrap_or_default();
    let of_others: Vec<PathBuf> = ["bench", "fuzz", "torture"]
        .map(|name| root.join(name))
        .into();
    let mut used = BTreeSet::new();
    for directory in entries(&root.join("crates")).into_iter().chain(of_others) {
        let manifest = manifest(&directory);
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let table = manifest.get(kind).and_then(toml::Value::as_table);
            used.extend(table.into_iter().flat_map(outside));
        }
    }
    used.retain(|name| {
        workspace
            .get(name)
            .is_none_or(|what| what.get("path").is_none())
    });
    let mut faults: Vec<String> = outside(&workspace)
        .filter(|name| !used.contains(name))
        .map(|name| format!("Cargo.toml names {name}, which no crate uses"))
        .collect();
    faults.extend(faults_of_rows(
        &read(&root.join("docs/dependencies.md")),
        &used,
    ));
    faults
}

/// Names in a table of dependencies, but for those that lie in this repository.
fn outside(table: &toml::Table) -> impl Iterator<Item = String> {
    let outside = table.iter().filter(|(_, what)| what.get("path").is_none());
    outside.map(|(name, _)| name.clone())
}

/// Each row has five columns: the crate, what for, who keeps it, licence, why not the alternative.
fn faults_of_rows(text: &str, used: &BTreeSet<String>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut named = BTreeSet::new();
    for line in text.lines() {
        let Some(name) = line
            .strip_prefix("| `")
            .and_then(|rest| rest.split('`').next())
        else {
            continue;
        };
        named.insert(name.to_owned());
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        if cells.len() != 5 || cells.iter().any(|cell| cell.is_empty()) {
            faults.push(format!(
                "docs/dependencies.md: the row of {name} is not whole"
            ));
        }
        if cells.get(3).is_some_and(|licence| licence.contains("GPL")) {
            faults.push(format!(
                "docs/dependencies.md: {name} has a licence with copyleft"
            ));
        }
    }
    let missing = used.difference(&named);
    faults.extend(missing.map(|name| format!("docs/dependencies.md has no row for {name}")));
    let idle = named.difference(used);
    faults.extend(
        idle.map(|name| format!("docs/dependencies.md has a row for {name}, which nothing uses")),
    );
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_rows_are_found() {
        let text = "| `a` | x | y | MIT | z |\n| `b` | x | y | GPL-3.0 | z |\n| `c` | x |\n";
        let used = BTreeSet::from(["a", "b", "d"].map(str::to_owned));
        let faults = faults_of_rows(text, &used).join("\n");
        for part in [
            "b has a licence",
            "row of c is not whole",
            "no row for d",
            "row for c, which nothing",
        ] {
            assert!(faults.contains(part), "{part}: {faults}");
        }
        assert!(!faults.contains("of a "), "{faults}");
    }
}
