//! Xref values yield the pairs that INN finds in them.

use crate::shared_tables;

use article::xref::Xref;

#[test]
fn pairs_are_as_listed() {
    let Some(table) = shared_tables::json("cases/inn/xref.json") else {
        return;
    };
    for case in table["cases"].as_array().expect("a list") {
        let value = case["xref"].as_str().expect("a value").as_bytes();
        let found: Vec<String> = Xref::parse(value)
            .links()
            .map(|(group, number)| format!("{}:{number}", String::from_utf8_lossy(group)))
            .collect();
        let listed: Vec<_> = case["pairs"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|pair| pair.as_str())
            .collect();
        assert_eq!(found, listed);
    }
}
