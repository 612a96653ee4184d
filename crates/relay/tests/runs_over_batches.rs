//! A run files the articles of its inputs, counts what became of them, and ends with 0.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::newsdir;

use std::fs;

use newsdir::{Newsdir, article, batch};
use relay::rnews::{Input, Options, Status};

#[test]
fn counts_and_status() {
    let newsdir = Newsdir::new();
    let articles = [
        article("<1@a>", "comp.std", &[]),
        article("<1@a>", "comp.std", &[]),
        article("<2@a>", "comp.none", &[]),
        article("<3@a>", "alt.none", &[]),
    ];
    let [a, b, c, d] = articles.each_ref().map(String::as_str);
    let inputs = [
        newsdir.input("one", &batch(&[a, b, c])),
        newsdir.input("two", d.as_bytes()),
        newsdir.input("empty", b""),
    ];
    let (outcome, told) = newsdir.rnews(&inputs, Options::default());
    assert_eq!((outcome.status, told), (Status::Fine, vec![]));
    let summary = outcome.summary;
    assert_eq!(
        (
            summary.articles,
            summary.accepted,
            summary.duplicates,
            summary.refused,
            summary.junked
        ),
        (4, 2, 1, 1, 1)
    );
    let bytes: usize = articles.iter().map(String::len).sum();
    assert_eq!(summary.bytes, bytes as u64);
    assert!(newsdir.bad().is_empty());
}

#[test]
fn small_commits_give_the_same() {
    let newsdir = Newsdir::new();
    let articles: Vec<String> = (0..50)
        .map(|at| article(&format!("<{at}@a>"), "comp.std", &[]))
        .collect();
    let texts: Vec<&str> = articles.iter().map(String::as_str).collect();
    let input = newsdir.input("one", &batch(&texts));
    let options = Options {
        commit_bytes: 1000,
        ..Options::default()
    };
    let (outcome, _) = newsdir.rnews(&[input], options);
    assert_eq!(outcome.summary.accepted, 50);
    assert_eq!(newsdir.links("<49@a>").unwrap(), "comp.std/50");
    assert_eq!(newsdir.log().len(), 50);
}

#[test]
fn strict_makes_a_refusal_count() {
    let newsdir = Newsdir::new();
    let text = article("<1@a>", "comp.std", &[]);
    let input = newsdir.input("one", &batch(&[&text, &text]));
    let strict = Options {
        strict: true,
        unlink: true,
        ..Options::default()
    };
    let (outcome, _) = newsdir.rnews(std::slice::from_ref(&input), strict);
    assert_eq!(outcome.status, Status::Bad);
    let Input::File(path) = &input else {
        panic!("a file")
    };
    assert!(path.exists());
    let (outcome, _) = newsdir.rnews(std::slice::from_ref(&input), Options::default());
    assert_eq!(outcome.status, Status::Fine);
}

#[test]
fn unlink_removes_what_is_filed_and_nothing_else() {
    let newsdir = Newsdir::new();
    let text = article("<1@a>", "comp.std", &[]);
    let good = newsdir.input("good", &batch(&[&text, &text]));
    let short = newsdir.input("short", b"#! rnews 9\nabc");
    let unlink = Options {
        unlink: true,
        ..Options::default()
    };
    let (outcome, _) = newsdir.rnews(&[good, short], unlink);
    assert_eq!(outcome.status, Status::Bad);
    assert!(!newsdir.path().join("good").exists());
    assert!(newsdir.path().join("short").exists());
}

#[test]
fn a_missing_file_does_not_stop_the_others() {
    let newsdir = Newsdir::new();
    let text = article("<1@a>", "comp.std", &[]);
    let missing = Input::File(newsdir.path().join("missing"));
    let good = newsdir.input("good", text.as_bytes());
    let (outcome, told) = newsdir.rnews(&[missing, good], Options::default());
    assert_eq!(outcome.status, Status::Attention);
    assert_eq!(outcome.summary.accepted, 1);
    assert!(told[0].contains("missing"), "{told:?}");
}

#[test]
fn an_article_over_the_limit_is_refused_and_the_rest_goes_on() {
    let newsdir = Newsdir::new();
    let big = article("<1@a>", "comp.std", &[&"x".repeat(9 << 20)]);
    let good = article("<2@a>", "comp.std", &[]);
    let input = newsdir.input("one", &batch(&[&big, &good]));
    let (outcome, told) = newsdir.rnews(&[input], Options::default());
    assert_eq!(outcome.status, Status::Fine);
    assert_eq!((outcome.summary.accepted, outcome.summary.refused), (1, 1));
    assert!(told[0].contains("article too large"), "{told:?}");
    fs::metadata(newsdir.path().join("log")).unwrap();
}
