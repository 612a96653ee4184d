//! What the log says of each fate of an article.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::newsdir;

use newsdir::{Newsdir, article};

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
