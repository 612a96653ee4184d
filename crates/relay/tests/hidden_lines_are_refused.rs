//! Only CRLF ends a line of what peers send. An LF alone, which others take for the end of a line, must not hide header fields or the
//! end of the article.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::newsdir;

use article::wire_facts::WireFacts;
use newsdir::{NOW, Newsdir, article};
use relay::Verdict;

#[test]
fn in_the_header_and_in_front_of_dots() {
    let newsdir = Newsdir::new();
    let mut filer = newsdir.filer();
    let mut number = 0;
    let mut verdict = |field: &str, body: &str| {
        number += 1;
        let id = format!("<{number}@a>");
        let native = article(&id, "comp.std", &[]);
        let (header, _) = native.split_once("\n\n").unwrap();
        let header = header.replace('\n', "\r\n");
        let wire = format!("{header}\r\n{field}\r\n\r\n{body}");
        filer
            .file_announced(
                None,
                id.as_bytes(),
                (wire.as_bytes(), WireFacts::of(wire.as_bytes())),
                NOW,
            )
            .unwrap()
    };
    assert_eq!(verdict("A: b", "c\r\n"), Verdict::Filed);
    // Wrong, too, but nobody is led astray.
    assert_eq!(verdict("A: b", "c\nd\re\r\n"), Verdict::Filed);
    assert_eq!(verdict("A: b", "..c\r\n..\r\n"), Verdict::Filed);
    assert!(matches!(
        verdict("A: b\nControl: cancel <x@a>", "c\r\n"),
        Verdict::Refused(_)
    ));
    assert!(matches!(verdict("A: b\n", "c\r\n"), Verdict::Refused(_)));
    // Nor a CR alone, which a post may not have either.
    for field in ["A: b\rControl: cancel <x@a>", "A: b\r"] {
        assert!(matches!(verdict(field, "c\r\n"), Verdict::Refused(_)));
    }
    assert!(matches!(
        verdict("A: b", "c\n.\r\n240 d\r\n"),
        Verdict::Refused(_)
    ));
    assert!(matches!(verdict("A: b", "\n.\n"), Verdict::Refused(_)));
    assert!(matches!(
        verdict("A: b", "c\r\n.\n224 d\r\n"),
        Verdict::Refused(_)
    ));
    assert!(matches!(verdict("A: b", ".\nc\r\n"), Verdict::Refused(_)));
    assert_eq!(verdict("A: b", "..\nc\r\n"), Verdict::Filed);
    for (field, body) in [("A: b\0", "c\r\n"), ("A: b", "c\0\r\n")] {
        assert!(matches!(verdict(field, body), Verdict::Refused(_)));
    }
    filer.commit().unwrap();
    assert!(newsdir.log()[3].ends_with("- <4@a> a line ends with LF without CR"));
}
