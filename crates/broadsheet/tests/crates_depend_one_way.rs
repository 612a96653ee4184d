//! The crates stand in an order, and a crate uses only those before it. (The benches and fuzz
//! targets stand outside: they may use any.)

use std::collections::BTreeSet;
use std::path::Path;

/// The order. A crate that is not built yet may be absent; one that is not here may not exist.
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

fn place(name: &str) -> Option<usize> {
    ORDER.iter().position(|known| *known == name)
}

/// Names in the dependency tables of a manifest, dev-dependencies too.
fn dependencies(manifest: &str) -> Vec<String> {
    let table: toml::Table = manifest.parse().expect("a manifest");
    ["dependencies", "dev-dependencies", "build-dependencies"]
        .iter()
        .filter_map(|kind| table.get(*kind)?.as_table())
        .flat_map(|table| table.keys().cloned())
        .collect()
}

/// What is wrong with a crate of this name that depends on these.
fn faults(name: &str, dependencies: &[String]) -> Vec<String> {
    let Some(own) = place(name) else {
        return vec![format!("{name} has no place in the order")];
    };
    dependencies
        .iter()
        .filter(|used| place(used).is_some_and(|place| place >= own))
        .map(|used| format!("{name} uses {used}, which comes after it"))
        .collect()
}

#[test]
fn every_arrow_points_to_an_earlier_room() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("crates/");
    let mut seen = 0;
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(crates).unwrap() {
        let manifest = entry.unwrap().path().join("Cargo.toml");
        let Ok(text) = std::fs::read_to_string(&manifest) else {
            continue;
        };
        let name = manifest
            .parent()
            .unwrap()
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        wrong.extend(faults(&name, &dependencies(&text)));
        seen += 1;
    }
    assert!(seen >= 6, "only {seen} crates found");
    assert_eq!(wrong, Vec::<String>::new());
}

/// The crates that a row of the table in ARCHITECTURE.md names as used, by the name of the crate.
fn rows(text: &str) -> Vec<(&str, &str)> {
    text.lines()
        .filter_map(|line| {
            let (rest, used) = line.strip_suffix(" |")?.rsplit_once(" | ")?;
            let (name, _) = rest.strip_prefix("| `")?.split_once("` | ")?;
            Some((name, used))
        })
        .collect()
}

#[test]
fn architecture_names_the_crates_that_each_uses() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("crates/");
    let text = std::fs::read_to_string(crates.join("../ARCHITECTURE.md")).unwrap();
    let rows = rows(&text);
    for name in ORDER {
        let (_, told) = rows
            .iter()
            .find(|(known, _)| known == name)
            .unwrap_or_else(|| panic!("ARCHITECTURE.md has no row for {name}"));
        if *told == "all" {
            continue;
        }
        let told: BTreeSet<&str> = told.split(", ").filter(|word| *word != "–").collect();
        let manifest = std::fs::read_to_string(crates.join(name).join("Cargo.toml")).unwrap();
        let table: toml::Table = manifest.parse().expect("a manifest");
        let used = table["dependencies"].as_table().expect("a table").keys();
        let used: BTreeSet<&str> = used
            .map(String::as_str)
            .filter(|used| place(used).is_some())
            .collect();
        assert_eq!(told, used, "the row of {name} in ARCHITECTURE.md");
    }
}

#[test]
fn a_wrong_arrow_would_be_seen() {
    let used = dependencies("[dependencies]\nrelay = {}\n[dev-dependencies]\narticle = {}\n");
    assert_eq!(
        faults("store", &used),
        ["store uses relay, which comes after it"]
    );
    assert_eq!(faults("expire", &used), Vec::<String>::new());
    assert_eq!(faults("manager", &[]).len(), 1);
}
