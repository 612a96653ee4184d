//! What a peer announces by id over NNTP is taken as it is, or refused by name.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

mod newsdir;

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
        .file_announced(b"<2@far.example>", &text, NOW)
        .unwrap();
    assert_eq!(other, Verdict::Refused);
    let own = filer
        .file_announced(b"<1@far.example>", &text, NOW)
        .unwrap();
    assert_eq!(own, Verdict::Filed);
}

/// Readers that end lines at LF would see the end of the article there, and then an answer of the server.
#[test]
fn one_that_ends_early_for_some_readers_is_refused() {
    let newsdir = Newsdir::new();
    let mut filer = newsdir.filer();
    for body in ["a\n.\r\n205 Goodbye\r\n", "\n", "a\r\nb\n"] {
        let text = article("<1@far.example>", body);
        let verdict = filer
            .file_announced(b"<1@far.example>", &text, NOW)
            .unwrap();
        assert_eq!(verdict, Verdict::Refused, "{body:?}");
        let why = String::from_utf8_lossy(filer.why()).into_owned();
        assert!(why.contains("LF without CR"), "{why}");
    }
    // What else there may be in a line is nobody's end of it.
    let text = article("<1@far.example>", "a\rb\0c\r\n..\r\n");
    let verdict = filer
        .file_announced(b"<1@far.example>", &text, NOW)
        .unwrap();
    assert_eq!(verdict, Verdict::Filed);
}
