//! Every well-formed real article is accepted, comes back byte for byte but for Path and Xref, and is a
//! duplicate the second time.

mod program;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use program::{Program, Told, shared};

/// Real articles that the rules refuse: the reason as the log has it, and how many of feed/ it is.
const REFUSED: &[(&str, usize)] = &[];

#[test]
fn all_of_feed_is_accepted_once_and_comes_back() {
    let Some(corpus) = shared("corpus") else {
        return;
    };
    let program = news(&corpus);
    let batches = batches(&corpus.join("feed"));
    let (duplicates, feed): (Vec<_>, Vec<_>) = batches
        .into_iter()
        .partition(|path| name(path).starts_with("duplicates"));

    let told = rnews(&program, &feed);
    assert_eq!(told.status, 0, "{}", told.err);
    let summary = json(&told);
    let refused: usize = REFUSED.iter().map(|(_, count)| count).sum();
    assert_eq!(
        refusals(&program),
        REFUSED
            .iter()
            .map(|(why, count)| ((*why).to_owned(), *count))
            .collect()
    );
    assert_eq!(summary["articles"], 15_161);
    assert_eq!(summary["accepted"], 15_161 - refused);

    let again = json(&rnews(&program, &duplicates));
    assert_eq!(
        (again["articles"].clone(), again["duplicates"].clone()),
        (521.into(), 521.into())
    );
    let again = json(&rnews(&program, &feed));
    assert_eq!(again["duplicates"], 15_161 - refused);
    assert_eq!(again["accepted"], 0);

    let mut compared = 0;
    for batch in &feed {
        let text = unpack(batch);
        let articles = unbatch(&text);
        for some in articles.chunks(500) {
            compared += compare(&program, some);
        }
    }
    assert_eq!(compared, 15_161 - refused);
    let told = program.run(&["fsck", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
}

#[test]
fn wrapped_batches_give_the_same_sixty_articles() {
    let Some(corpus) = shared("corpus") else {
        return;
    };
    for path in batches(&corpus.join("wrapped")) {
        let program = news(&corpus);
        let summary = json(&rnews(&program, std::slice::from_ref(&path)));
        assert_eq!(summary["accepted"], 60, "{}", path.display());
        let text = unpack_plain(&corpus.join("wrapped/plain"));
        assert_eq!(compare(&program, &unbatch(&text)), 60, "{}", path.display());
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
            assert_eq!(told.status, 0, "{}: {}", path.display(), told.err);
            assert_eq!(summary["articles"], met, "{}", path.display());
            let fsck = program.run(&["fsck", "--dir", "news"]);
            assert_eq!(fsck.status, 0, "{}: {fsck:?}", path.display());
        }
    }
}

fn news(corpus: &Path) -> Program {
    let active = std::fs::read_to_string(corpus.join("admin/active.corpus")).unwrap();
    Program::with_news(&active)
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

fn batches(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
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

fn unpack(path: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    flate2::read::MultiGzDecoder::new(std::fs::File::open(path).unwrap())
        .read_to_end(&mut text)
        .unwrap();
    text
}

fn unpack_plain(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

/// The articles of a well-formed batch.
fn unbatch(mut text: &[u8]) -> Vec<Vec<u8>> {
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

fn split_header(article: &[u8]) -> (&[u8], &[u8]) {
    let end = article
        .windows(2)
        .position(|two| two == b"\n\n")
        .map_or(article.len(), |at| at + 2);
    article.split_at(end)
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

fn id(article: &[u8]) -> String {
    let (header, _) = split_header(article);
    let header = String::from_utf8_lossy(header);
    let line = header
        .lines()
        .find(|line| line.to_ascii_lowercase().starts_with("message-id:"));
    line.and_then(|line| line.split_once(':'))
        .map(|(_, id)| id.trim().to_owned())
        .unwrap_or_default()
}
