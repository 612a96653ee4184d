//! The order of the crates: a crate uses only those before it. (Benches, fuzz targets, rigs and this crate stand outside: they may use any.)

use std::collections::BTreeSet;
use std::path::Path;

use crate::files::{entries, manifest, name, read};

/// The order. ARCHITECTURE.md has a row for each.
const ORDER: &[&str] = &[
    "article",
    "groups",
    "store",
    "openpgp",
    "namei",
    "relay",
    "report",
    "inject",
    "expire",
    "nntp",
    "layers",
    "objects",
    "cluster",
    "feed",
    "pull",
    "access",
    "server",
    "settings",
    "import",
    "mount",
    "daemon",
    "broadsheet",
];

const TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

pub fn faults(root: &Path) -> Vec<String> {
    let architecture = read(&root.join("ARCHITECTURE.md"));
    let mut faults = Vec::new();
    let mut found = BTreeSet::new();
    for directory in entries(&root.join("crates")) {
        let name = name(&directory);
        let manifest = manifest(&directory);
        if manifest.is_empty() {
            continue;
        }
        found.insert(name.to_owned());
        faults.extend(wrong_arrows(name, &used(&manifest, &TABLES)));
        faults.extend(wrong_row(
            &architecture,
            name,
            &used(&manifest, &TABLES[..1]),
        ));
    }
    let missing = ORDER.iter().filter(|name| !found.contains(**name));
    faults.extend(missing.map(|name| format!("crates/{name} is missing")));
    faults
}

fn place(name: &str) -> Option<usize> {
    ORDER.iter().position(|known| *known == name)
}

/// The names in some tables of a manifest.
fn used(manifest: &toml::Table, tables: &[&str]) -> BTreeSet<String> {
    let tables = tables
        .iter()
        .filter_map(|kind| manifest.get(*kind)?.as_table());
    tables.flat_map(|table| table.keys().cloned()).collect()
}

/// The faults of a crate that uses these.
fn wrong_arrows(name: &str, used: &BTreeSet<String>) -> Vec<String> {
    let Some(own) = place(name) else {
        return vec![format!(
            "crates/{name} has no place in the order of xtask/src/crates.rs"
        )];
    };
    let later = used
        .iter()
        .filter(|used| place(used).is_some_and(|place| place >= own));
    later
        .map(|used| format!("crates/{name} uses {used}, which comes after it"))
        .collect()
}

/// The fault of the row of a crate in ARCHITECTURE.md, whose last column names the crates of this repository that it uses.
fn wrong_row(architecture: &str, name: &str, used: &BTreeSet<String>) -> Option<String> {
    let named = architecture.lines().find_map(|line| {
        let (rest, used) = line.strip_suffix(" |")?.rsplit_once(" | ")?;
        rest.starts_with(&format!("| `{name}` |")).then_some(used)
    });
    let Some(named) = named else {
        return Some(format!("ARCHITECTURE.md has no row for {name}"));
    };
    let named: BTreeSet<&str> = named.split(", ").filter(|word| *word != "–").collect();
    let used: BTreeSet<&str> = used
        .iter()
        .map(String::as_str)
        .filter(|used| place(used).is_some())
        .collect();
    (named != used && !named.contains("all"))
        .then(|| format!("the row of {name} in ARCHITECTURE.md names {named:?}; it uses {used:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_arrows_are_found() {
        let manifest = "[dependencies]\nrelay = {}\n[dev-dependencies]\narticle = {}\n"
            .parse()
            .unwrap_or_default();
        let used = used(&manifest, &TABLES);
        assert_eq!(
            wrong_arrows("store", &used),
            ["crates/store uses relay, which comes after it"]
        );
        assert!(wrong_arrows("expire", &used).is_empty());
        assert_eq!(wrong_arrows("manager", &BTreeSet::new()).len(), 1);
    }

    #[test]
    fn wrong_rows_are_found() {
        let text = "| `store` | a log | article, groups |\n| `nntp` | a protocol | – |\n";
        let both = BTreeSet::from([
            "article".to_owned(),
            "groups".to_owned(),
            "memchr".to_owned(),
        ]);
        assert_eq!(wrong_row(text, "store", &both), None);
        assert!(wrong_row(text, "nntp", &both).is_some());
        assert!(wrong_row(text, "feed", &both).is_some());
    }
}
