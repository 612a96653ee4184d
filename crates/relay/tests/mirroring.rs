//! A mirror takes groups and numbers from the Xref of the site it mirrors.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::newsdir;

use article::Form;
use newsdir::{NOW, Newsdir, article};
use relay::{FilerOptions, Rules, Verdict};

fn file(newsdir: &Newsdir, texts: &[&str]) -> Vec<Verdict> {
    let options = FilerOptions {
        mirror: Some(b"near.example".to_vec()),
        ..FilerOptions::default()
    };
    let mut filer = newsdir.filer_with(Rules::new(newsdir::HOST.as_bytes()), options);
    let verdicts = texts
        .iter()
        .map(|text| filer.file(text.as_bytes(), Form::Native, NOW).unwrap())
        .collect();
    filer.commit().unwrap();
    verdicts
}

#[test]
fn numbers_are_taken_over_and_path_is_left_alone() {
    let newsdir = Newsdir::new();
    let xref = "Xref: near.example comp.std:7 comp.lang.c:99 alt.none:3 comp.x:2";
    let text = article("<1@a>", "comp.std,comp.lang.c", &[xref]);
    assert_eq!(file(&newsdir, &[&text]), [Verdict::Filed]);
    assert_eq!(newsdir.links("<1@a>").unwrap(), "comp.lang.c/99 comp.std/7");
    assert!(
        newsdir
            .article("<1@a>")
            .starts_with("Xref: us.example comp.lang.c:99 comp.std:7\nPath: near.example!user\n")
    );
    // What is filed the ordinary way afterwards comes after it.
    newsdir.file(&[&article("<2@a>", "comp.std", &[])]);
    assert_eq!(newsdir.links("<2@a>").unwrap(), "comp.std/8");
}

#[test]
fn what_cannot_be_mirrored_is_refused() {
    let newsdir = Newsdir::new();
    let verdicts = file(
        &newsdir,
        &[
            &article("<1@a>", "comp.std", &[]),
            &article("<2@a>", "comp.std", &["Xref: far.example comp.std:7"]),
            &article(
                "<3@a>",
                "comp.lang.c",
                &["Xref: near.example comp.lang.c:41"],
            ),
            &article("<4@a>", "comp.std", &["Xref: near.example alt.none:1"]),
        ],
    );
    assert_eq!(verdicts.len(), 4);
    let is_refused = |verdict: &Verdict| matches!(verdict, Verdict::Refused(_));
    assert!(verdicts.iter().all(is_refused), "{verdicts:?}");
    assert_eq!(
        newsdir.log(),
        [
            "near.example b <1@a> no Xref: in believe-Xref mode",
            "near.example b <2@a> article received from wrong site `far.example' in believe-Xref mode",
            "near.example b <3@a> article #41 in group `comp.lang.c' supplied but occupied!",
            "near.example b <4@a> no known groups in Xref: in believe-Xref mode",
        ]
    );
}
