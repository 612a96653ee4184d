//! Which groups an accepted article is filed in.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::decisions;

use decisions::{Decisions, article};

fn groups(newsgroups: &str) -> String {
    Decisions::new().verdict(&article(&[&format!("Newsgroups: {newsgroups}")]))
}

#[test]
fn sorted_and_each_once() {
    assert_eq!(
        groups("comp.std,comp.lang.c,comp.std"),
        "accept comp.lang.c comp.std"
    );
}

#[test]
fn empty_names_are_ignored() {
    assert_eq!(groups(",comp.lang.c,,"), "accept comp.lang.c");
}

#[test]
fn an_alias_is_its_group() {
    assert_eq!(groups("comp.alias,comp.lang.c"), "accept comp.lang.c");
}

#[test]
fn a_group_not_subscribed_to_is_filed_beside_one_that_is() {
    assert_eq!(
        groups("misc.test,comp.lang.c"),
        "accept comp.lang.c misc.test"
    );
}

#[test]
fn unknown_groups_are_passed_over() {
    assert_eq!(
        groups("alt.none,comp.lang.c,comp.none"),
        "accept comp.lang.c"
    );
}

#[test]
fn x_groups_are_passed_over_with_a_comment() {
    assert_eq!(
        groups("comp.xalias,comp.x,comp.lang.c"),
        "accept comp.lang.c x comp.x"
    );
}

#[test]
fn unknown_groups_of_our_subscription_go_to_junk_once() {
    for newsgroups in [
        "comp.none",
        "comp.none,comp.nil",
        "comp.none,alt.none",
        "comp.none,comp.loop.a",
    ] {
        assert_eq!(groups(newsgroups), "accept (junk) junk");
    }
    assert_eq!(groups("comp.none,comp.x"), "accept (junk) junk x comp.x");
}

#[test]
fn aliases_that_lead_nowhere_are_unknown() {
    assert_eq!(groups("comp.loop.a"), "accept (junk) junk");
    assert_eq!(groups("comp.deadend"), "accept (junk) junk");
    let mut decisions = Decisions::new();
    decisions.rules.junk = false;
    for newsgroups in ["comp.loop.a", "comp.deadend", "comp.none"] {
        assert_eq!(
            decisions.verdict(&article(&[&format!("Newsgroups: {newsgroups}")])),
            format!("refuse no known groups in `{newsgroups}', remembered")
        );
    }
}

#[test]
fn control_messages_are_refused_by_name_without_a_usable_control() {
    let text = article(&["Control: cancel <2@a>", "Newsgroups: comp.lang.c"]);
    let refused = "refuse group control is excluded in active, or missing";
    let mut decisions = Decisions::new();
    let line = "control 0000000000 00001 y\n";
    assert!(decisions.active.contains(line));
    let whole = decisions.active.clone();
    decisions.active = whole.replace(line, "control 0000000000 00001 x\n");
    assert_eq!(decisions.verdict(&text), format!("{refused} x control"));
    decisions.active = whole.replace(line, "control 0000000000 00001 =comp.x\n");
    assert_eq!(decisions.verdict(&text), format!("{refused} x comp.x"));
    decisions.active = whole.replace(line, "");
    assert_eq!(decisions.verdict(&text), "accept (control) (junk) junk");
    decisions.active = decisions.active.replace("junk 0000000000 00001 y\n", "");
    assert_eq!(decisions.verdict(&text), refused);
}

#[test]
fn a_j_group_is_filed_in_junk_only() {
    assert_eq!(groups("comp.inn"), "accept (junk) junk");
    assert_eq!(groups("comp.inn,comp.lang.c"), "accept comp.lang.c");
}

#[test]
fn without_a_usable_junk_nothing_is_filed() {
    let text = article(&["Newsgroups: comp.none"]);
    let mut decisions = Decisions::new();
    decisions.active = decisions
        .active
        .replace("junk 0000000000 00001 y", "junk 0000000000 00001 x");
    assert_eq!(
        decisions.verdict(&text),
        "refuse no known groups in `comp.none' and junk group is excluded in active x junk"
    );
    decisions.active = decisions.active.replace("junk 0000000000 00001 x\n", "");
    assert_eq!(
        decisions.verdict(&text),
        "refuse no known groups in `comp.none' and no junk group"
    );
}

#[test]
fn a_control_message_goes_to_control_only() {
    for newsgroups in ["comp.lang.c", "comp.none", "comp.x"] {
        let text = article(&[
            "Control: cancel <2@a>",
            &format!("Newsgroups: {newsgroups}"),
        ]);
        assert_eq!(Decisions::new().verdict(&text), "accept (control) control");
    }
    // Empty, or only Also-Control: an ordinary article.
    let text = article(&["Control: ", "Also-Control: cancel <2@a>"]);
    assert_eq!(Decisions::new().verdict(&text), "accept comp.lang.c");
}

#[test]
fn an_article_posted_to_control_is_an_ordinary_one() {
    assert_eq!(groups("control"), "accept control");
}
