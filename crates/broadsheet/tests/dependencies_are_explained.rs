//! Each crate from outside that the workspace names has its row in docs/dependencies.md.

use std::path::Path;

#[test]
fn every_outside_crate_has_a_row() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let manifest: toml::Table = std::fs::read_to_string(root.join("Cargo.toml"))
        .unwrap()
        .parse()
        .unwrap();
    let text = std::fs::read_to_string(root.join("docs/dependencies.md")).unwrap();
    let named = manifest["workspace"]["dependencies"].as_table().unwrap();
    let outside: Vec<&String> = named
        .iter()
        .filter(|(_, what)| what.get("path").is_none())
        .map(|(name, _)| name)
        .collect();
    assert!(outside.len() > 5);
    let rows: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    for name in &outside {
        assert!(
            rows.contains(&name.as_str()),
            "docs/dependencies.md says nothing about {name}"
        );
    }
    for row in rows {
        assert!(
            outside.iter().any(|name| *name == row),
            "docs/dependencies.md tells of {row}, which is not used"
        );
    }
}
