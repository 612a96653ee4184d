//! Every well-formed real article is accepted, comes back byte for byte but for Path and Xref, and is a
//! duplicate the second time.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use program::corpus::{batches, id, name, split_header, unbatch, unpack};
use program::{Program, Told, shared};

/// Real articles of feed/ that the rules refuse, by the reason as the log has it, and how many they are.
/// `why_refused` finds the reason again by other means, article by article.
const REFUSED: &[(&str, usize)] = &[
    // A moderated group among the groups (of today's list: in 1993 some were not), and no Approved header.
    ("unapproved article in moderated group(s)", 163),
    // A header of the present century written as `Name:value`: C News wants white space after the colon.
    ("article \"header\" contains non-RFC-1036-header line", 3),
];
/// Articles of feed/, and of feed/duplicates.
const FEED: usize = 15_161;
const DUPLICATES: usize = 521;
/// Articles of feed/ that a later one of feed/ supersedes: filed, and gone again.
const SUPERSEDED: usize = 1;

#[test]
fn all_of_feed_is_accepted_once_and_comes_back() {
    let Some(corpus) = shared("corpus") else {
        return;
    };
    let program = news(&corpus);
    let (again, feed): (Vec<_>, Vec<_>) = batches(&corpus.join("feed"))
        .into_iter()
        .partition(|path| name(path).starts_with("duplicates"));
    let moderated = moderated(&corpus);
    let refused: usize = REFUSED.iter().map(|(_, count)| count).sum();

    let told = rnews(&program, &feed);
    assert_eq!(told.status, 0, "{}", told.err);
    let summary = json(&told);
    let by_name: BTreeMap<String, usize> = REFUSED
        .iter()
        .map(|(why, count)| ((*why).to_owned(), *count))
        .collect();
    assert_eq!(refusals(&program), by_name);
    assert_eq!(summary["articles"], FEED);
    assert_eq!(summary["accepted"], FEED - refused);

    // A second copy of what was refused by name is refused by name; all others are duplicates.
    let refused_again = unbatch(&unpack(&again[0]))
        .iter()
        .filter(|article| why_refused(article, &moderated).is_some())
        .count();
    let second = json(&rnews(&program, &again));
    assert_eq!(second["articles"], DUPLICATES);
    assert_eq!(second["duplicates"], DUPLICATES - refused_again);
    assert_eq!(second["refused"], refused_again);
    let second = json(&rnews(&program, &feed));
    assert_eq!(second["accepted"], 0);
    assert_eq!(second["duplicates"], FEED - refused);

    let gone = superseded(&feed, &moderated);
    let mut found = BTreeMap::new();
    let mut compared = 0;
    for batch in &feed {
        let (bad, good): (Vec<_>, Vec<_>) = unbatch(&unpack(batch))
            .into_iter()
            .partition(|article| why_refused(article, &moderated).is_some());
        for why in bad
            .iter()
            .filter_map(|article| why_refused(article, &moderated))
        {
            *found.entry(why.to_owned()).or_default() += 1;
        }
        let kept: Vec<_> = good
            .into_iter()
            .filter(|article| !gone.contains(&id(article)))
            .collect();
        for some in kept.chunks(500) {
            compared += compare(&program, some);
        }
    }
    assert_eq!(found, by_name);
    assert_eq!(gone.len(), SUPERSEDED);
    assert_eq!(compared, FEED - refused - gone.len());
    for id in &gone {
        assert_eq!(program.run(&["article", "--dir", "news", id]).status, 1);
    }
    let told = program.run(&["fsck", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
}

#[test]
fn wrapped_batches_give_the_same_sixty_articles() {
    let Some(corpus) = shared("corpus") else {
        return;
    };
    let moderated = moderated(&corpus);
    let plain = unbatch(&std::fs::read(corpus.join("wrapped/plain")).unwrap());
    assert_eq!(plain.len(), 60);
    let good: Vec<_> = plain
        .into_iter()
        .filter(|article| why_refused(article, &moderated).is_none())
        .collect();
    let wrapped = batches(&corpus.join("wrapped"));
    assert_eq!(wrapped.len(), 6);
    for path in wrapped {
        let program = news(&corpus);
        let summary = json(&rnews(&program, std::slice::from_ref(&path)));
        assert_eq!(summary["articles"], 60, "{}", path.display());
        assert_eq!(summary["accepted"], good.len(), "{}", path.display());
        assert_eq!(compare(&program, &good), good.len(), "{}", path.display());
    }
}

#[test]
fn odd_and_incomplete_articles_never_stop_a_run() {
    let Some(corpus) = shared("corpus") else {
        return;
    };
    for part in ["edge", "incomplete"] {
        for path in batches(&corpus.join(part)) {
            let program = news(&corpus);
            let told = rnews(&program, std::slice::from_ref(&path));
            let summary = json(&told);
            let met = unbatch(&unpack(&path)).len();
            // One without a single article of the right form is a bad batch.
            let log = program.read("news/log");
            let mut lines = log.lines().filter(|line| !line.contains(" s <> "));
            let expected = i32::from(lines.all(is_refused_for_form));
            assert_eq!(told.status, expected, "{}: {}", path.display(), told.err);
            let kept = program.files("news/bad").len();
            assert_eq!(kept, expected as usize, "{}", path.display());
            assert_eq!(summary["articles"], met, "{}", path.display());
            let fsck = program.run(&["fsck", "--dir", "news"]);
            assert_eq!(fsck.status, 0, "{}: {fsck:?}", path.display());
        }
    }
}

/// Whether a line of the log has an article whose header is not that of one: `Mon D TIME SITE - ID TEXT`.
fn is_refused_for_form(line: &str) -> bool {
    let (before, after) = line.split_once(" - ").unwrap_or((line, ""));
    let text = after.split_once(' ').map_or("", |(_, text)| text);
    let kind = relay::reason::RefusalKind::of_text(text.as_bytes());
    before.split_whitespace().count() == 4 && kind == relay::reason::RefusalKind::Malformed
}

fn news(corpus: &Path) -> Program {
    let active = std::fs::read_to_string(corpus.join("admin/active.corpus")).unwrap();
    Program::with_classic_cancels(&active)
}

fn rnews(program: &Program, batches: &[PathBuf]) -> Told {
    let mut words = vec!["rnews", "--dir", "news", "--json"];
    words.extend(batches.iter().map(|path| path.to_str().unwrap()));
    program.run(&words)
}

fn json(told: &Told) -> serde_json::Value {
    serde_json::from_str(told.out.lines().last().unwrap_or_default()).expect(&told.err)
}

/// Reasons of the `-` lines of the log, counted; what is in quotes is left out.
fn refusals(program: &Program) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in program.read("news/log").lines() {
        let words: Vec<&str> = line.splitn(7, ' ').collect();
        if words.get(4) == Some(&"-") {
            let why = words
                .get(6)
                .unwrap_or(&"")
                .split('`')
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned();
            *counts.entry(why).or_default() += 1;
        }
    }
    counts
}

/// Names of the moderated groups of active.corpus.
pub fn moderated(corpus: &Path) -> HashSet<String> {
    let active = std::fs::read_to_string(corpus.join("admin/active.corpus")).unwrap();
    active
        .lines()
        .filter_map(|line| line.strip_suffix(" m")?.split(' ').next())
        .map(str::to_owned)
        .collect()
}

/// Ids of articles that an accepted one after them supersedes.
pub fn superseded(feed: &[PathBuf], moderated: &HashSet<String>) -> HashSet<String> {
    let mut before = HashSet::new();
    let mut gone = HashSet::new();
    for batch in feed {
        for article in unbatch(&unpack(batch)) {
            if why_refused(&article, moderated).is_some() {
                continue;
            }
            let (header, _) = split_header(&article);
            let header = String::from_utf8_lossy(header);
            let names = |name: &str| {
                let line = header
                    .lines()
                    .find(|line| line.to_ascii_lowercase().starts_with(name));
                line.map(|line| line[name.len()..].to_owned())
            };
            let ids = names("supersedes:").or_else(|| {
                let control = names("control:").or_else(|| names("also-control:"))?;
                control.trim().strip_prefix("cancel ").map(str::to_owned)
            });
            for id in ids.iter().flat_map(|ids| ids.split_whitespace()) {
                if before.contains(id) {
                    gone.insert(id.to_owned());
                }
            }
            before.insert(id(&article));
        }
    }
    gone
}

/// Why the rules refuse this article, read off the article line by line: not by the code under test.
pub fn why_refused(article: &[u8], moderated: &HashSet<String>) -> Option<&'static str> {
    let (header, _) = split_header(article);
    let header = String::from_utf8_lossy(header);
    let is_fold = |line: &str| line.starts_with([' ', '\t']);
    let without_blank = |line: &str| match line.split_once(':') {
        Some((name, value)) => {
            name.contains(' ') || !value.starts_with([' ', '\t']) && !value.is_empty()
        }
        None => true,
    };
    if header
        .lines()
        .any(|line| !line.is_empty() && !is_fold(line) && without_blank(line))
    {
        return Some("article \"header\" contains non-RFC-1036-header line");
    }
    let mut lines = header
        .lines()
        .skip_while(|line| !line.starts_with("Newsgroups:"));
    let first = lines.next()?.strip_prefix("Newsgroups:")?;
    let folded = lines.take_while(|line| is_fold(line));
    let groups: String = std::iter::once(first).chain(folded).collect();
    let groups: Vec<&str> = groups.split(',').map(str::trim).collect();
    let approved = header.lines().any(|line| line.starts_with("Approved:"));
    if !approved && groups.iter().any(|group| moderated.contains(*group)) {
        return Some("unapproved article in moderated group(s)");
    }
    let has_blank = |group: &&str| group.contains([' ', '\t']);
    groups.iter().any(has_blank).then_some("space in groups")
}

/// Compares filed articles with what was given, Path and Xref aside; returns how many there were.
fn compare(program: &Program, articles: &[Vec<u8>]) -> usize {
    let mut compared = 0;
    let ids: Vec<String> = articles.iter().map(|article| id(article)).collect();
    let mut words = vec!["article", "--dir", "news"];
    words.extend(ids.iter().map(String::as_str));
    let out = program.run_bytes(&words);
    let mut rest = out.as_slice();
    for article in articles {
        let filed = split_filed(&mut rest, article);
        assert!(filed, "{} did not come back as it was given", id(article));
        compared += 1;
    }
    assert!(rest.is_empty());
    compared
}

/// Takes one filed article off the front of `out` if it equals `given` but for Path and Xref.
fn split_filed(out: &mut &[u8], given: &[u8]) -> bool {
    let (_, body) = split_header(given);
    let Some(header_end) = out.windows(2).position(|two| two == b"\n\n") else {
        return false;
    };
    let (header, rest) = out.split_at(header_end + 2);
    let Some(after) = rest.strip_prefix(body) else {
        return false;
    };
    *out = after;
    without_path_and_xref(header) == without_path_and_xref(&given[..given.len() - body.len()])
        && header
            .windows(19)
            .any(|window| window == b"Path: news.example.")
}

fn without_path_and_xref(header: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut dropping = false;
    for line in header.split_inclusive(|&b| b == b'\n') {
        if !matches!(line.first(), Some(b' ' | b'\t')) {
            let lower: Vec<u8> = line.iter().take(6).map(u8::to_ascii_lowercase).collect();
            dropping = lower.starts_with(b"path:") || lower.starts_with(b"xref:");
        }
        if !dropping {
            kept.extend_from_slice(line);
        }
    }
    kept
}
