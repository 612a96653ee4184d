//! The glossary has a line for every public type of the crates that other parts build on: a stranger finds there what it is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const CRATES: &[&str] = &["store", "relay", "feed", "layers", "server"];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The types that users of a crate can name: those of public modules, and those that `pub use` names.
fn public_types(file: &Path, inside: &Path, found: &mut BTreeSet<String>) {
    let text = std::fs::read_to_string(file).expect("a source file");
    let code = text
        .split("#[cfg(test)]\nmod tests")
        .next()
        .unwrap_or_default();
    let lines = code.lines().filter(|line| !line.starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n");
    for item in code.split("\npub ").skip(1) {
        let (kind, rest) = item.split_once(' ').unwrap_or_default();
        match kind {
            "struct" | "enum" | "trait" | "type" => found.extend(words(rest).next()),
            "use" => {
                let used = rest.split(';').next().unwrap_or_default();
                found.extend(words(used).filter(|word| is_type(word)));
            }
            "mod" => {
                let name = words(rest).next().expect("the name of a module");
                let within = inside.join(&name);
                let beside = within.with_extension("rs");
                let file = match beside.exists() {
                    true => beside,
                    false => within.join("mod.rs"),
                };
                public_types(&file, &within, found);
            }
            _ => {}
        }
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
}

/// `Reader`, and neither `reader` nor `READERS_MAX`.
fn is_type(word: &str) -> bool {
    word.starts_with(char::is_uppercase) && word.contains(char::is_lowercase)
}

/// The names between backticks, without the path in front of them.
fn explained(glossary: &str) -> BTreeSet<String> {
    let quoted = glossary.split('`').skip(1).step_by(2);
    quoted
        .filter_map(|name| name.rsplit("::").next())
        .map(str::to_owned)
        .collect()
}

/// The terms in the order of the file: the first column, without backticks and in lower case.
fn terms(glossary: &str) -> Vec<String> {
    let rows = glossary
        .lines()
        .skip_while(|line| !line.starts_with("|---"))
        .skip(1);
    rows.filter_map(|row| row.split('|').nth(1))
        .map(|term| term.replace('`', "").trim().to_lowercase())
        .collect()
}

#[test]
fn terms_are_in_order() {
    let glossary = std::fs::read_to_string(workspace().join("docs/glossary.md")).expect("glossary");
    let terms = terms(&glossary);
    assert!(terms.len() > 300, "{} terms", terms.len());
    let wrong = terms.windows(2).find(|pair| !pair.is_sorted());
    assert_eq!(wrong, None, "these two terms are out of order");
}

#[test]
fn in_the_glossary() {
    let glossary = std::fs::read_to_string(workspace().join("docs/glossary.md")).expect("glossary");
    let explained = explained(&glossary);
    for name in CRATES {
        let inside = workspace().join("crates").join(name).join("src");
        let mut types = BTreeSet::new();
        public_types(&inside.join("lib.rs"), &inside, &mut types);
        assert!(types.len() > 10, "{name}: {types:?}");
        let missing: Vec<_> = types.difference(&explained).collect();
        assert!(
            missing.is_empty(),
            "docs/glossary.md has no line for these types of `{name}`: {missing:?}"
        );
    }
}
