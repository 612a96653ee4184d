//! The modules of the store stand in an order, and a module uses only those before it. (Unit tests may use any.)
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The order.
const ORDER: &[&str] = &[
    "error",
    "io",
    "progress",
    "notice",
    "index",
    "log",
    "overview",
    "history",
    "report",
    "expiry",
    "state",
    "offload",
    "read",
    "segment_repair",
    "spool",
    "reclaim",
    "check",
    "reseed",
];

/// The arrows that still point to a later module, with the only file that has each.
const EXCEPTIONS: &[(&str, &str)] = &[
    // The position in a history line, where a relocation table is lost.
    ("log/walk.rs", "history"),
    // An offloaded `.art` is read through its cache.
    ("log/segments.rs", "offload"),
    ("offload/cache.rs", "read"),
    ("offload/fetch.rs", "read"),
    // Offloading holds the lock of the writer, and reads what it moves.
    ("offload/run.rs", "read"),
    ("offload/run.rs", "spool"),
];

/// The files of a folder and of those in it.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

/// The items of the crate that a source file names: the word behind each `crate::`, and those in its groups.
fn items(source: &str) -> BTreeSet<String> {
    let code = source
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    let code: String = code.map(|line| format!("{line}\n")).collect();
    let word = |text: &str| -> String {
        let is_part = |letter: &char| letter.is_alphanumeric() || *letter == '_';
        text.trim_start().chars().take_while(is_part).collect()
    };
    let mut found = BTreeSet::new();
    for (_, rest) in code
        .match_indices("crate::")
        .map(|(at, path)| code.split_at(at + path.len()))
    {
        match rest.strip_prefix('{') {
            None => {
                found.insert(word(rest));
            }
            Some(group) => {
                let group = group.split('}').next().unwrap_or_default();
                found.extend(group.split(',').map(word));
            }
        }
    }
    found
}

/// The modules that the items stand in: `Snapshot`, which the crate exports, is of `read`.
fn modules(source: &str) -> Vec<&'static str> {
    let items = items(source);
    let is_named = |module: &&str| {
        items.contains(*module)
            || *module == "read" && items.contains("Snapshot")
            || *module == "spool" && items.contains("Spool")
    };
    ORDER.iter().copied().filter(is_named).collect()
}

#[test]
fn each_module_uses_only_earlier_ones() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Vec::new();
    files(&root, &mut sources);
    let (mut upward, mut unknown) = (BTreeSet::new(), Vec::new());
    for path in sources {
        let name = path
            .strip_prefix(&root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        let own = name.split(['/', '.']).next().unwrap();
        if own == "lib" || name.ends_with("tests.rs") {
            continue;
        }
        let Some(place) = ORDER.iter().position(|module| *module == own) else {
            unknown.push(name);
            continue;
        };
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for used in modules(code) {
            if ORDER.iter().position(|module| *module == used).unwrap() > place {
                upward.insert((name.clone(), used));
            }
        }
    }
    assert_eq!(unknown, [""; 0], "modules without a place in the order");
    let expected = EXCEPTIONS
        .iter()
        .map(|(file, used)| ((*file).to_owned(), *used));
    assert_eq!(upward, expected.collect(), "arrows to a later module");
}

#[test]
fn a_wrong_arrow_would_be_seen() {
    let source = "use crate::{Error, read::caches};\n// crate::check\nuse crate::spool::Spool;\n";
    assert_eq!(modules(source), ["read", "spool"]);
}
