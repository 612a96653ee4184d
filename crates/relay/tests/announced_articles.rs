//! What a peer announces by id over NNTP is taken as it is, or refused by name.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::newsdir;

use article::wire_facts::WireFacts;
use newsdir::{NOW, Newsdir};
use relay::Verdict;

fn article(id: &str, body: &str) -> Vec<u8> {
    format!(
        "Path: far.example!not-for-mail\r\nFrom: a@b.example\r\nNewsgroups: comp.std\r\nSubject: s\r\n\
         Date: Fri, 1 Jun 2001 11:00:00 GMT\r\nMessage-ID: {id}\r\n\r\n{body}"
    )
    .into_bytes()
}

#[test]
fn one_with_another_id_is_refused() {
    let newsdir = Newsdir::new();
    let mut filer = newsdir.filer();
    let text = article("<1@far.example>", "text\r\n");
    let other = filer
        .file_announced(None, b"<2@far.example>", (&text, WireFacts::of(&text)), NOW)
        .unwrap();
    assert!(matches!(other, Verdict::Refused(_)));
    let own = filer
        .file_announced(None, b"<1@far.example>", (&text, WireFacts::of(&text)), NOW)
        .unwrap();
    assert_eq!(own, Verdict::Filed);
}

/// Our name is put before Path, and `us!.POSTED` is what a post made here has.
#[test]
fn one_that_looks_as_if_it_was_posted_here_is_refused() {
    let newsdir = Newsdir::new();
    let mut filer = newsdir.filer();
    let mut verdict = |id: &str, path: &str| {
        let text = String::from_utf8(article(id, "text\r\n")).unwrap();
        let text = text.replacen("far.example!not-for-mail", path, 1);
        let facts = WireFacts::of(text.as_bytes());
        filer
            .file_announced(None, id.as_bytes(), (text.as_bytes(), facts), NOW)
            .unwrap()
    };
    let refused = [
        ".POSTED!u",
        ".POSTED.x.example!u",
        ".posted!u",
        " .POSTED!u",
    ];
    for (number, path) in (1..).zip(refused) {
        let verdict = verdict(&format!("<{number}@far.example>"), path);
        assert!(matches!(verdict, Verdict::Refused(_)), "{path}");
    }
    let filed = ["far.example!.POSTED!u", ".POSTEDX!u", "u"];
    for (number, path) in (11..).zip(filed) {
        let verdict = verdict(&format!("<{number}@far.example>"), path);
        assert_eq!(verdict, Verdict::Filed, "{path}");
    }
}
