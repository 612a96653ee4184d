//! ARCHITECTURE.md numbers its invariants without a gap and names for each the tests that check it; every named test is a file in some
//! crate's tests/. The file has 150 lines at most.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The test files of all crates, without `.rs`.
fn test_files() -> BTreeSet<String> {
    let crates = std::fs::read_dir(root().join("crates")).unwrap();
    let folders =
        crates.filter_map(|entry| std::fs::read_dir(entry.unwrap().path().join("tests")).ok());
    folders
        .flatten()
        .filter_map(|entry| {
            Some(
                entry
                    .unwrap()
                    .file_name()
                    .to_str()?
                    .strip_suffix(".rs")?
                    .to_owned(),
            )
        })
        .collect()
}

/// The items of the list under `## Invariants`: number and text.
fn invariants(text: &str) -> Vec<(usize, String)> {
    let section = text
        .split("\n## ")
        .find(|section| section.starts_with("Invariants\n"));
    let mut items: Vec<(usize, String)> = Vec::new();
    for line in section.unwrap_or_default().lines().skip(1) {
        let number = line
            .split_once(". ")
            .and_then(|(number, rest)| Some((number.parse().ok()?, rest)));
        match (number, items.last_mut()) {
            (Some((number, rest)), _) => items.push((number, rest.to_owned())),
            (None, Some((_, item))) => item.push_str(line),
            (None, None) => {}
        }
    }
    items
}

/// Faults of the list, given the names of all tests.
fn faults(items: &[(usize, String)], tests: &BTreeSet<String>) -> Vec<String> {
    let mut faults = Vec::new();
    for (expected, (number, item)) in (1..).zip(items) {
        if *number != expected {
            faults.push(format!("invariant {number} should be number {expected}"));
        }
        let named: Vec<&str> = match item.rsplit_once("Tests: ") {
            Some((_, names)) => names.split('`').skip(1).step_by(2).collect(),
            None => Vec::new(),
        };
        if named.is_empty() {
            faults.push(format!("invariant {number} names no test"));
        }
        let missing = named.into_iter().filter(|name| !tests.contains(*name));
        faults.extend(
            missing.map(|name| format!("invariant {number} names {name}, which is no test file")),
        );
    }
    faults
}

#[test]
fn every_invariant_names_its_tests() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let items = invariants(&text);
    assert!(items.len() >= 10, "{} invariants", items.len());
    let faults = faults(&items, &test_files());
    assert!(faults.is_empty(), "ARCHITECTURE.md: {faults:#?}");
    let lines = text.lines().count();
    assert!(lines <= 150, "ARCHITECTURE.md has {lines} lines");
}

#[test]
fn faults_would_be_seen() {
    let text = "# A\n\n## Invariants\n\n1. One. Tests: `a`.\n3. Two,\n   on two lines. Tests: `b`.\n3. Three.\n\n## More\n";
    let tests = BTreeSet::from(["a".to_owned()]);
    let found = faults(&invariants(text), &tests);
    let expected = [
        "invariant 3 should be number 2",
        "invariant 3 names b, which is no test file",
        "invariant 3 names no test",
    ];
    assert_eq!(found, expected);
}
