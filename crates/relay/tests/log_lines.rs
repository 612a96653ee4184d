//! What the log says of each fate of an article.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::newsdir;

use newsdir::{Newsdir, article, batch};
use relay::rnews::Options;

#[test]
fn a_line_for_each_decision() {
    let newsdir = Newsdir::new();
    newsdir.file(&[
        &article("<1@a>", "comp.std", &[]),
        &article("<1@a>", "comp.std", &[]),
        &article("<2@a>", "comp.none", &[]),
        &article("<3@a>", "comp.x,comp.std", &[]),
        &article("<4@a>", "comp.x", &[]),
        &article("<5@a>", "alt.none", &[]),
        &article("<6@a>", "comp.std", &["Distribution: local"]),
        &article("<7@a>", "comp.std", &[]).replace("near.example!user", "far.example!near!user"),
        &article("<8@a>", "comp.std", &[]).replace("near.example!user", "user"),
        &article("<9@a>", "comp.std", &[]).replace("Message-ID: <9@a>\n", ""),
        &article("<10@a>", "comp.std", &["a\x01b"]),
    ]);
    assert_eq!(
        newsdir.log(),
        [
            "near.example + <1@a> all.example",
            "near.example - <1@a> duplicate",
            "near.example + <2@a> all.example",
            "near.example j <2@a> junked due to groups `comp.none'",
            "near.example a <3@a> group `comp.x' is 'x'ed",
            "near.example + <3@a> all.example",
            "near.example a <4@a> group `comp.x' is 'x'ed",
            "near.example - <4@a> all groups `comp.x' excluded in active",
            "near.example - <5@a> no subscribed groups in `alt.none'",
            "near.example + <6@a> all.example",
            "far.example + <7@a> all.example",
            "(local) + <8@a> all.example",
            "near.example - <> no Message-ID: header",
            "near.example - <10@a> article \"header\" contains non-RFC-1036-header line `a^Ab'",
        ]
    );
}

#[test]
fn refused_for_groups_is_remembered_and_then_a_duplicate() {
    let newsdir = Newsdir::new();
    let text = article("<4@a>", "comp.x", &[]);
    newsdir.file(&[&text, &text]);
    assert_eq!(newsdir.links("<4@a>").unwrap(), "");
    assert_eq!(
        newsdir.log().last().unwrap(),
        "near.example - <4@a> duplicate"
    );
}

/// Whether the article before was a duplicate, and whatever else is wrong with this one.
#[test]
fn what_the_history_has_is_a_duplicate_before_all_else() {
    let newsdir = Newsdir::new();
    let known = article("<1@a>", "comp.std", &[]);
    let known_and = |from: &str, to: &str| known.replace(from, to);
    let texts = batch(&[
        &known,
        &known_and("Subject:", "X-Subject:"),
        &known_and("comp.std", "alt.none"),
        &known_and("Message-ID: <1@a>", "Message-ID:  <1@a>"),
        &known_and("near.example!user", "far.example!near.example!user"),
        &article("<2@a>", "comp.std", &[]),
        &known_and("Date:", "X-Date:"),
        &known_and("Message-ID: <1@a>\n", ""),
        &known_and("Path: near.example!user\n", ""),
        &article("<3@a>", "comp.std", &[]),
    ]);
    newsdir.rnews(&[newsdir.input("one", &texts)], Options::default());
    assert_eq!(
        newsdir.log(),
        [
            "near.example + <1@a> all.example",
            "near.example - <1@a> duplicate",
            "near.example - <1@a> duplicate",
            "near.example - <1@a> duplicate",
            "far.example - <1@a> duplicate",
            "near.example + <2@a> all.example",
            "near.example - <1@a> duplicate",
            "near.example - <> no Message-ID: header",
            "(local) - <1@a> duplicate",
            "near.example + <3@a> all.example",
        ]
    );
}
