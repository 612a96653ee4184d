//! Articles in moderated groups need Approved.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::decisions;

use decisions::{Decisions, article};

fn verdict(newsgroups: &str, approved: &str) -> String {
    Decisions::new().verdict(&article(&[&format!("Newsgroups: {newsgroups}"), approved]))
}

#[test]
fn any_moderated_group_refuses_an_unapproved_article() {
    for newsgroups in ["comp.mod", "comp.lang.c,comp.mod", "comp.modalias"] {
        assert_eq!(
            verdict(newsgroups, "Approved"),
            format!("refuse unapproved article in moderated group(s) `{newsgroups}'")
        );
        assert_eq!(
            verdict(newsgroups, "Approved: "),
            format!("refuse unapproved article in moderated group(s) `{newsgroups}'")
        );
    }
}

#[test]
fn an_approved_article_is_filed() {
    assert_eq!(
        verdict("comp.mod,comp.lang.c", "Approved: mod@far.example"),
        "accept comp.lang.c comp.mod"
    );
}
