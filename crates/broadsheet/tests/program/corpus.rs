//! Batches of real articles.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Read;
use std::path::{Path, PathBuf};

/// The files of a folder, sorted.
pub fn batches(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
}

/// What is in a compressed batch.
pub fn unpack(path: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(std::fs::File::open(path).unwrap())
        .read_to_end(&mut text)
        .unwrap();
    text
}

/// The articles of a well-formed batch.
pub fn unbatch(mut text: &[u8]) -> Vec<Vec<u8>> {
    let mut articles = Vec::new();
    while let Some(rest) = text.strip_prefix(b"#! rnews ") {
        let end = rest.iter().position(|&b| b == b'\n').unwrap();
        let size: usize = std::str::from_utf8(&rest[..end])
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        articles.push(rest[end + 1..end + 1 + size].to_vec());
        text = &rest[end + 1 + size..];
    }
    assert!(text.is_empty(), "a batch of the corpus is well-formed");
    articles
}

/// The header, blank line included, and the body.
pub fn split_header(article: &[u8]) -> (&[u8], &[u8]) {
    let end = article
        .windows(2)
        .position(|two| two == b"\n\n")
        .map_or(article.len(), |at| at + 2);
    article.split_at(end)
}

/// The id in its brackets.
pub fn id(article: &[u8]) -> String {
    let (header, _) = split_header(article);
    let header = String::from_utf8_lossy(header);
    let line = header
        .lines()
        .find(|line| line.to_ascii_lowercase().starts_with("message-id:"));
    line.and_then(|line| line.split_once(':'))
        .map(|(_, id)| id.trim().to_owned())
        .unwrap_or_default()
}

/// A file's name.
pub fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}
