//! The manual: its links lead somewhere, each chapter is in its table of contents, and lines and paragraphs stay short.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Longest line, in characters.
const LINE_CHARS_MAX: usize = 160;
/// Most sentences of a paragraph.
const SENTENCES_MAX: usize = 5;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The Markdown files of a directory, without those below it.
fn pages(directory: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(directory)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .collect();
    pages.sort();
    pages
}

/// The text without code: links and sentences in it do not count.
fn without_code(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines().filter(|line| !line.starts_with("    ")) {
        for (place, part) in line.split('`').enumerate() {
            out.push_str(if place % 2 == 0 { part } else { "x" });
        }
        out.push('\n');
    }
    out
}

/// The anchors of a page, as GitHub and mdBook make them of its headings.
fn anchors(page: &Path) -> BTreeSet<String> {
    let text = read(page);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let words = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = words
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

/// The targets of the links of a page that lead to other files of the project, or to its own headings.
fn links(text: &str) -> Vec<String> {
    let parts = without_code(text);
    let targets = parts.split("](").skip(1);
    targets
        .filter_map(|rest| rest.split_once(')').map(|(target, _)| target.to_owned()))
        .filter(|target| !target.contains("://"))
        .collect()
}

#[test]
fn links_lead_somewhere() {
    let mut faults = Vec::new();
    for directory in [
        ".",
        "docs",
        "docs/book",
        "docs/book/reference",
        "docs/formats",
        "docs/performance",
    ] {
        for page in pages(directory) {
            for link in links(&read(&page)) {
                let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
                let target = match file {
                    "" => page.clone(),
                    file => page.parent().unwrap().join(file),
                };
                let is_there =
                    target.exists() && (anchor.is_empty() || anchors(&target).contains(anchor));
                if !is_there {
                    faults.push(format!("{}: {link}", page.display()));
                }
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn each_chapter_is_in_the_table_of_contents() {
    let contents = read(&root().join("docs/SUMMARY.md"));
    for directory in ["book", "book/reference"] {
        for page in pages(&format!("docs/{directory}")) {
            let name = page.file_name().unwrap().to_str().unwrap();
            assert!(
                contents.contains(&format!("({directory}/{name})")),
                "docs/SUMMARY.md lacks {directory}/{name}"
            );
        }
    }
}

#[test]
fn lines_and_paragraphs_are_short() {
    let mut faults = Vec::new();
    for page in pages("docs/book")
        .into_iter()
        .chain(pages("docs/book/reference"))
    {
        let text = read(&page);
        let is_written_by_hand = !text.contains("<!-- Made by");
        for line in text.lines() {
            if line.chars().count() > LINE_CHARS_MAX {
                faults.push(format!("{}: a long line: {line}", page.display()));
            }
        }
        let plain = without_code(&text);
        for paragraph in plain.split("\n\n").flat_map(|block| block.split("\n- ")) {
            let words = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
            let ends = [". ", "? ", "! "];
            let sentences: usize = ends.iter().map(|end| words.matches(end).count()).sum();
            if is_written_by_hand && sentences + 1 > SENTENCES_MAX && !words.starts_with('|') {
                faults.push(format!("{}: a long paragraph: {words}", page.display()));
            }
        }
    }
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn the_glossary_is_in_order() {
    let glossary = read(&root().join("docs/glossary.md"));
    let rows = glossary
        .lines()
        .skip_while(|line| !line.starts_with("|---"))
        .skip(1);
    let terms: Vec<_> = rows
        .filter_map(|row| row.split('|').nth(1))
        .map(|term| term.replace('`', "").trim().to_lowercase())
        .collect();
    assert!(terms.len() > 80, "{} terms", terms.len());
    let wrong = terms.windows(2).find(|pair| !pair.is_sorted());
    assert_eq!(wrong, None, "these two terms are out of order");
}
