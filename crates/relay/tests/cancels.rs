//! Cancels, Supersedes and other control messages, as far as filing is concerned.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::newsdir;

use newsdir::{Newsdir, article};
use relay::Verdict;

#[test]
fn a_cancelled_article_is_gone_and_its_id_stays() {
    let newsdir = Newsdir::new();
    let text = article("<1@a>", "comp.std", &[]);
    newsdir.file(&[
        &text,
        &article("<2@a>", "comp.std", &["Control: cancel <1@a>"]),
    ]);
    assert_eq!(newsdir.article("<1@a>"), "");
    assert_eq!(newsdir.links("<1@a>").unwrap(), "comp.std/1");
    assert_eq!(newsdir.links("<2@a>").unwrap(), "control/1");
    assert_eq!(newsdir.file(&[&text]), [Verdict::Duplicate]);
}

#[test]
fn an_article_cancelled_in_advance_is_a_duplicate() {
    let newsdir = Newsdir::new();
    newsdir.file(&[&article(
        "<2@a>",
        "comp.std",
        &["Control: cancel <1@a> <3@a>"],
    )]);
    assert_eq!(
        newsdir.log(),
        [
            "near.example + <2@a> all.example",
            "(local) + <1@a>",
            "(local) + <3@a>"
        ]
    );
    assert_eq!(newsdir.links("<1@a>").unwrap(), "");
    assert_eq!(
        newsdir.file(&[&article("<3@a>", "comp.std", &[])]),
        [Verdict::Duplicate]
    );
}

#[test]
fn supersedes_files_the_article_and_cancels_the_old_one() {
    let newsdir = Newsdir::new();
    newsdir.file(&[
        &article("<1@a>", "comp.std", &[]),
        &article("<2@a>", "comp.std", &["Supersedes: <1@a>"]),
    ]);
    assert_eq!(newsdir.article("<1@a>"), "");
    let filed = newsdir.article("<2@a>");
    assert!(filed.contains("Supersedes: <1@a>\n"), "{filed}");
    assert_eq!(newsdir.links("<2@a>").unwrap(), "comp.std/2");
}

#[test]
fn a_malformed_cancel_does_nothing_but_a_log_line() {
    let newsdir = Newsdir::new();
    newsdir.file(&[
        &article("<1@a>", "comp.std", &[]),
        &article("<2@a>", "comp.std", &["Control: Cancel<1@a>"]),
        &article("<3@a>", "comp.std", &["Control: cancel 1@a"]),
    ]);
    assert_ne!(newsdir.article("<1@a>"), "");
    assert_eq!(
        newsdir.log()[1..],
        [
            "near.example + <2@a> all.example",
            "near.example c <2@a> malformed cancel `Cancel<1@a>'",
            "near.example + <3@a> all.example",
            "near.example c <3@a> malformed cancel `1@a'",
        ]
    );
}

#[test]
fn a_refused_cancel_cancels_nothing() {
    let newsdir = Newsdir::new();
    newsdir.file(&[
        &article("<1@a>", "comp.std", &[]),
        &article("<2@a>", "comp.mod", &["Control: cancel <1@a>"]),
    ]);
    assert_ne!(newsdir.article("<1@a>"), "");
}

#[test]
fn other_control_messages_are_filed_and_logged() {
    let newsdir = Newsdir::new();
    newsdir.file(&[&article(
        "<2@a>",
        "comp.std",
        &["Control: newgroup comp.new"],
    )]);
    assert_eq!(newsdir.links("<2@a>").unwrap(), "control/1");
    assert_eq!(
        newsdir.log(),
        [
            "near.example + <2@a> all.example",
            "near.example c <2@a> ignored control `newgroup comp.new': it is not signed by a trusted key: neither control.ctl nor controlperm decides it"
        ]
    );
}

#[test]
fn what_is_too_large_to_be_filed_cancels_nothing() {
    let newsdir = Newsdir::new();
    let options = store::Options {
        segment_bytes: 1 << 20,
        ..store::Options::default()
    };
    let spool = store::Spool::open(newsdir.path(), options).unwrap();
    let sys = groups::Sites::parse(newsdir::SYS.as_bytes(), newsdir::HOST.as_bytes()).unwrap();
    let rules = relay::Rules::new(newsdir::HOST.as_bytes());
    let mut filer = relay::Filer::new(spool, sys, rules, newsdir::classic()).unwrap();
    let mut file = |text: &str| {
        let form = ::article::Form::Native;
        filer.file(text.as_bytes(), form, newsdir::NOW).unwrap()
    };
    file(&article("<1@a>", "comp.std", &[]));
    let cancel = article("<2@a>", "comp.std", &["Control: cancel <1@a>"]);
    let large = format!("{cancel}{}", "\n".repeat(700_000));
    assert!(matches!(file(&large), relay::Verdict::NeedsAttention(_)));
    filer.commit().unwrap();
    drop(filer);
    assert_ne!(newsdir.article("<1@a>"), "");
}
