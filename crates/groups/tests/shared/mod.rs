//! Finds and reads the shared conformance tables; without them the tests are skipped.

#![allow(clippy::indexing_slicing, clippy::unwrap_used)] // test code may panic

use std::path::PathBuf;

/// The text of a shared file, or `None` (and a line on stderr) if it is absent.
pub fn read(path: &str) -> Option<Vec<u8>> {
    let root = std::env::var_os("BROADSHEET_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let text = std::fs::read(root.join(path)).ok();
    if text.is_none() {
        eprintln!("skipped: {path} not present");
    }
    text
}

/// The rows of a tab-separated table, without comments.
#[allow(dead_code)]
pub fn rows(text: &[u8]) -> Vec<Vec<&[u8]>> {
    text.split(|&b| b == b'\n')
        .filter(|line| !line.is_empty() && !line.starts_with(b"#"))
        .map(|line| line.split(|&b| b == b'\t').collect())
        .collect()
}

/// Decodes the notation of the tables.
#[allow(dead_code)]
pub fn unescape(field: &[u8]) -> Vec<u8> {
    if field == b"(empty)" {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut at = 0;
    while at < field.len() {
        if field[at] == b'\\' {
            at += 1;
            match field[at] {
                b't' => out.push(b'\t'),
                b'n' => out.push(b'\n'),
                b'r' => out.push(b'\r'),
                b'x' => {
                    let hex = std::str::from_utf8(&field[at + 1..at + 3]).unwrap();
                    out.push(u8::from_str_radix(hex, 16).unwrap());
                    at += 2;
                }
                byte => out.push(byte),
            }
        } else {
            out.push(field[at]);
        }
        at += 1;
    }
    out
}
