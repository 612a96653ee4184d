//! Reads the tables of shared/cases. If they are absent, a test prints a line and passes.
#![allow(clippy::panic)]

use std::path::PathBuf;

/// A path below the shared directory, or `None` with a line on stderr.
pub fn shared(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("BROADSHEET_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let full = root.join(path);
    if full.exists() {
        return Some(full);
    }
    eprintln!("skipped: shared/{path} not present");
    None
}

/// The rows of a table, split at tabs, without comments.
pub fn rows(path: &str) -> Option<Vec<Vec<String>>> {
    let text = std::fs::read_to_string(shared(path)?).expect("a readable table");
    let rows: Vec<Vec<String>> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect();
    assert!(!rows.is_empty(), "{path} has no rows");
    Some(rows)
}

/// The bytes of a string in the notation of the tables; `None` for a null string.
pub fn bytes(text: &str) -> Option<Vec<u8>> {
    match text {
        "(null)" => return None,
        "(empty)" => return Some(Vec::new()),
        _ => {}
    }
    let mut out = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match rest.next().expect("something after a backslash") {
            b'x' => {
                let hex: Vec<u8> = rest.by_ref().take(2).collect();
                let hex = std::str::from_utf8(&hex).expect("two digits");
                out.push(u8::from_str_radix(hex, 16).expect("two hexadecimal digits"));
            }
            b't' => out.push(b'\t'),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b'\\' => out.push(b'\\'),
            other => panic!("unknown escape \\{}", char::from(other)),
        }
    }
    Some(out)
}

/// Reads a JSON file of shared/cases.
pub fn json(path: &str) -> Option<serde_json::Value> {
    let text = std::fs::read_to_string(shared(path)?).expect("a readable file");
    Some(serde_json::from_str(&text).expect("valid JSON"))
}
