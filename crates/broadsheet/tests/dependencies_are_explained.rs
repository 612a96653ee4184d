//! Each crate from outside that some manifest names has its row in docs/dependencies.md, and each row its crate.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn manifest(path: &Path) -> toml::Table {
    std::fs::read_to_string(path).unwrap().parse().unwrap()
}

/// The manifests of the crates, of the benches, of the fuzz targets and of the torture rig.
fn members() -> Vec<toml::Table> {
    let crates = std::fs::read_dir(root().join("crates")).unwrap();
    crates
        .map(|entry| entry.unwrap().path())
        .chain(["bench", "fuzz", "torture"].map(|name| root().join(name)))
        .map(|folder| folder.join("Cargo.toml"))
        .filter(|path| path.exists())
        .map(|path| manifest(&path))
        .collect()
}

/// Names in a table of dependencies, but for those that lie in this repository.
fn outside(table: &toml::Table) -> impl Iterator<Item = &String> {
    table
        .iter()
        .filter(|(_, what)| what.get("path").is_none())
        .map(|(name, _)| name)
}

#[test]
fn every_outside_crate_has_a_row() {
    let workspace = manifest(&root().join("Cargo.toml"));
    let workspace = workspace["workspace"]["dependencies"].as_table().unwrap();
    let inside = |name: &String| {
        workspace
            .get(name)
            .is_some_and(|what| what.get("path").is_some())
    };
    let mut used = BTreeSet::new();
    for member in members() {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let Some(table) = member.get(kind).and_then(toml::Value::as_table) else {
                continue;
            };
            used.extend(outside(table).filter(|name| !inside(name)).cloned());
        }
    }
    assert!(used.len() > 10, "{used:?}");
    for name in outside(workspace) {
        assert!(
            used.contains(name),
            "Cargo.toml names {name}, which no crate uses"
        );
    }
    let text = std::fs::read_to_string(root().join("docs/dependencies.md")).unwrap();
    let rows: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .map(str::to_owned)
        .collect();
    let without: Vec<_> = used.difference(&rows).collect();
    assert!(
        without.is_empty(),
        "docs/dependencies.md says nothing about {without:?}"
    );
    let idle: Vec<_> = rows.difference(&used).collect();
    assert!(
        idle.is_empty(),
        "docs/dependencies.md tells of {idle:?}, which nothing uses"
    );
}

/// Four columns in each row: what for, who keeps it, licence, why not the alternative.
#[test]
fn every_row_is_whole() {
    let text = std::fs::read_to_string(root().join("docs/dependencies.md")).unwrap();
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), 5, "{line}");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{line}");
        assert!(!cells[3].contains("GPL"), "copyleft: {line}");
    }
}
