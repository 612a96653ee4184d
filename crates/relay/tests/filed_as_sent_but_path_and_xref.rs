//! An article is filed as it came, but for Path and Xref.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::newsdir;

use newsdir::{Newsdir, article};
use relay::reason::RefusalKind;
use relay::{FilerOptions, Refusal, Rules, Verdict};

const ID: &str = "<1@near.example>";

#[test]
fn xref_first_path_prefixed_the_rest_untouched() {
    let text = article(
        ID,
        "comp.std,comp.lang.c",
        &["Xref: near.example a:1", "X-Odd:\tx "],
    );
    let newsdir = Newsdir::new();
    assert_eq!(newsdir.file(&[&text]), [Verdict::Filed]);
    let wanted = text
        .replace("Xref: near.example a:1\n", "")
        .replace("Path: near", "Path: us.example!near");
    assert_eq!(
        newsdir.article(ID),
        format!("Xref: us.example comp.lang.c:42 comp.std:1\n{wanted}")
    );
    assert_eq!(newsdir.links(ID).unwrap(), "comp.lang.c/42 comp.std/1");
}

#[test]
fn without_xref_on_articles_of_one_group() {
    let mut rules = Rules::new(newsdir::HOST.as_bytes());
    rules.xref_single = false;
    let newsdir = Newsdir::new();
    let mut filer = newsdir.filer_with(rules, FilerOptions::default());
    for (id, groups) in [
        (ID, "comp.std"),
        ("<2@near.example>", "comp.std,comp.lang.c"),
    ] {
        let text = article(id, groups, &[]);
        filer
            .file(text.as_bytes(), article::Form::Native, newsdir::NOW)
            .unwrap();
    }
    filer.commit().unwrap();
    assert!(newsdir.article(ID).starts_with("Path: us.example!near"));
    assert!(
        newsdir
            .article("<2@near.example>")
            .starts_with("Xref: us.example comp.lang.c:42 comp.std:2\n")
    );
}

#[test]
fn numbers_are_taken_only_by_what_is_filed() {
    let newsdir = Newsdir::new();
    let one = article(ID, "comp.std", &[]);
    let bad = article("<2@near.example>", "comp.std", &["Hello"]);
    let two = article("<3@near.example>", "comp.std", &[]);
    let refusal = Refusal {
        kind: RefusalKind::Malformed,
        text: b"article \"header\" contains non-RFC-1036-header line `Hello'".to_vec(),
    };
    assert_eq!(
        newsdir.file(&[&one, &one, &bad, &two]),
        [
            Verdict::Filed,
            Verdict::Duplicate,
            Verdict::Refused(refusal),
            Verdict::Filed
        ]
    );
    assert_eq!(newsdir.links("<3@near.example>").unwrap(), "comp.std/2");
    assert_eq!(newsdir.links("<2@near.example>"), None);
}
