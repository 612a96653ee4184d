//! The documents: links lead somewhere, each chapter of the manual is in its table of contents, and its lines and paragraphs are short.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::files::{entries, name, read};

/// Longest line of the manual, characters.
const LINE_CHARS_MAX: usize = 160;
/// Most sentences of a paragraph of the manual.
const SENTENCES_MAX: usize = 5;
/// The directories with documents.
const DOCUMENTS: [&str; 6] = [
    ".",
    "docs",
    "docs/book",
    "docs/book/reference",
    "docs/formats",
    "docs/performance",
];

pub fn faults(root: &Path) -> Vec<String> {
    let mut faults = Vec::new();
    let contents = read(&root.join("docs/SUMMARY.md"));
    for directory in DOCUMENTS {
        for page in pages(&root.join(directory)) {
            let text = read(&page);
            let shown = Path::new(directory).join(name(&page)).display().to_string();
            let dead = links(&text).into_iter().filter(|link| !leads(&page, link));
            faults.extend(dead.map(|link| format!("{shown}: the link {link} leads nowhere")));
            if let Some(part) = directory.strip_prefix("docs/book") {
                let listed = format!("(book{part}/{})", name(&page));
                if !contents.contains(&listed) {
                    faults.push(format!("docs/SUMMARY.md does not list {shown}"));
                }
                faults.extend(
                    faults_of_form(&text)
                        .into_iter()
                        .map(|fault| format!("{shown}: {fault}")),
                );
            }
        }
    }
    let terms = terms(&read(&root.join("docs/glossary.md")));
    if let Some([one, next]) = terms.windows(2).find(|two| !two.is_sorted()) {
        faults.push(format!("docs/glossary.md: {next} comes before {one}"));
    }
    faults
}

/// The Markdown files of a directory, without those below it.
fn pages(directory: &Path) -> Vec<PathBuf> {
    let mut pages = entries(directory);
    pages.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
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
fn anchors(text: &str) -> BTreeSet<String> {
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
    let text = without_code(text);
    let targets = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'));
    targets
        .map(|(target, _)| target.to_owned())
        .filter(|target| !target.contains("://"))
        .collect()
}

/// Whether the link of a page leads to a file, and to a heading of it.
fn leads(page: &Path, link: &str) -> bool {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match (file, page.parent()) {
        ("", _) | (_, None) => page.to_owned(),
        (file, Some(parent)) => parent.join(file),
    };
    target.exists() && (anchor.is_empty() || anchors(&read(&target)).contains(anchor))
}

/// The long lines and paragraphs of a chapter. The length of paragraphs does not matter in those that are made of tables of the program.
fn faults_of_form(text: &str) -> Vec<String> {
    let long = text
        .lines()
        .filter(|line| line.chars().count() > LINE_CHARS_MAX);
    let mut faults: Vec<String> = long.map(|line| format!("a long line: {line}")).collect();
    if text.contains("<!-- Made by") {
        return faults;
    }
    let plain = without_code(text);
    for paragraph in plain.split("\n\n").flat_map(|block| block.split("\n- ")) {
        let words = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        let ends = [". ", "? ", "! "];
        let sentences: usize = ends.iter().map(|end| words.matches(end).count()).sum();
        if sentences + 1 > SENTENCES_MAX && !words.starts_with('|') {
            faults.push(format!("a long paragraph: {words}"));
        }
    }
    faults
}

/// The terms of the glossary, in their order.
fn terms(glossary: &str) -> Vec<String> {
    let rows = glossary
        .lines()
        .skip_while(|line| !line.starts_with("|---"))
        .skip(1);
    let terms = rows.filter_map(|row| row.split('|').nth(1));
    terms
        .map(|term| term.replace('`', "").trim().to_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_anchors_are_read_outside_code() {
        let text = "# A b-c `d`\n\nSee [it](x.md#y), `[not](z.md)` and [out](https://x.example/).\n\n    [nor](this.md)\n";
        assert_eq!(links(text), ["x.md#y"]);
        assert!(anchors(text).contains("a-b-c-d"));
    }

    #[test]
    fn long_lines_and_paragraphs_are_found() {
        let long = format!(
            "{}\n\nOne. Two. Three. Four. Five. Six.\n\nOne. Two.\n",
            "x".repeat(161)
        );
        assert_eq!(faults_of_form(&long).len(), 2);
        assert_eq!(terms("|---|---|\n| `B` | x |\n| a | y |\n"), ["b", "a"]);
    }
}
