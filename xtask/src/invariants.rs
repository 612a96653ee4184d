//! ARCHITECTURE.md numbers its invariants without a gap and names for each the tests that check it; every named test is a file below some
//! crate's tests/. The file stays short.

use std::collections::BTreeSet;
use std::path::Path;

use crate::files::{entries, name, read};

const LINES_MAX: usize = 150;

/// An item of the list.
#[derive(Debug, PartialEq, Eq)]
struct Invariant {
    number: usize,
    text: String,
}

pub fn faults(root: &Path) -> Vec<String> {
    let text = read(&root.join("ARCHITECTURE.md"));
    let mut tests = BTreeSet::new();
    for directory in entries(&root.join("crates")) {
        collect(&directory.join("tests"), &mut tests);
    }
    let mut faults = faults_of_list(&invariants(&text), &tests);
    let lines = text.lines().count();
    if lines > LINES_MAX {
        faults.push(format!(
            "ARCHITECTURE.md has {lines} lines: {LINES_MAX} at most"
        ));
    }
    faults
}

/// The names of the Rust files below a directory, without `.rs`.
fn collect(directory: &Path, names: &mut BTreeSet<String>) {
    for path in entries(directory) {
        if path.is_dir() {
            collect(&path, names);
        } else if let Some(name) = name(&path).strip_suffix(".rs") {
            names.insert(name.to_owned());
        }
    }
}

/// The items of the list under `## Invariants`.
fn invariants(text: &str) -> Vec<Invariant> {
    let section = text
        .split("\n## ")
        .find(|section| section.starts_with("Invariants\n"));
    let mut items: Vec<Invariant> = Vec::new();
    for line in section.unwrap_or_default().lines().skip(1) {
        let numbered = line.split_once(". ");
        let number = numbered.and_then(|(number, rest)| Some((number.parse().ok()?, rest)));
        match (number, items.last_mut()) {
            (Some((number, rest)), _) => items.push(Invariant {
                number,
                text: rest.to_owned(),
            }),
            (None, Some(item)) => item.text.push_str(line),
            (None, None) => {}
        }
    }
    items
}

fn faults_of_list(items: &[Invariant], tests: &BTreeSet<String>) -> Vec<String> {
    let mut faults = Vec::new();
    if items.is_empty() {
        faults.push("ARCHITECTURE.md has no invariants".to_owned());
    }
    for (expected, Invariant { number, text }) in (1..).zip(items) {
        if *number != expected {
            faults.push(format!("invariant {number} should be number {expected}"));
        }
        let named: Vec<&str> = match text.rsplit_once("Tests: ") {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_found() {
        let text = "# A\n\n## Invariants\n\n1. One. Tests: `a`.\n3. Two,\n   on two lines. Tests: `b`.\n3. Three.\n\n## More\n";
        let found = faults_of_list(&invariants(text), &BTreeSet::from(["a".to_owned()]));
        let expected = [
            "invariant 3 should be number 2",
            "invariant 3 names b, which is no test file",
            "invariant 3 names no test",
        ];
        assert_eq!(found, expected);
    }
}
