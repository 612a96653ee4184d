//! An article from here (no hop in its Path) is not held to our subscription, but its groups must
//! be in active.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::decisions;

use decisions::{Decisions, article};

fn verdict(path: &str, newsgroups: &str) -> String {
    Decisions::new().verdict(&article(&[
        &format!("Path: {path}"),
        &format!("Newsgroups: {newsgroups}"),
    ]))
}

#[test]
fn a_local_article_is_filed_where_we_do_not_subscribe() {
    assert_eq!(verdict("user", "misc.test"), "accept misc.test");
    assert_eq!(
        verdict("far!user", "misc.test"),
        "refuse no subscribed groups in `misc.test', remembered"
    );
}

#[test]
fn a_local_article_in_an_unknown_group_is_refused() {
    assert_eq!(
        verdict("user", "alt.none"),
        "refuse all groups `alt.none' excluded in active, remembered"
    );
}

#[test]
fn one_that_a_peer_announced_is_never_local() {
    let mut decisions = Decisions::new();
    decisions.is_announced = true;
    for path in ["user", "far!user"] {
        let verdict = |decisions: &Decisions, groups: &str| {
            let lines = [format!("Path: {path}"), format!("Newsgroups: {groups}")];
            decisions.verdict(&article(&lines.each_ref().map(String::as_str)))
        };
        decisions.rules.junk = true;
        assert_eq!(
            verdict(&decisions, "misc.test"),
            "refuse no subscribed groups in `misc.test', remembered"
        );
        assert_eq!(verdict(&decisions, "comp.none"), "accept (junk) junk");
        decisions.rules.junk = false;
        let refused = verdict(&decisions, "comp.none");
        assert!(refused.starts_with("refuse"), "{refused}");
    }
}

#[test]
fn refused_ids_are_forgotten_on_request() {
    let mut decisions = Decisions::new();
    decisions.rules.remember_refused = false;
    assert_eq!(
        decisions.verdict(&article(&["Newsgroups: misc.test"])),
        "refuse no subscribed groups in `misc.test'"
    );
}
