//! OVER and HDR show the first of a repeated header, with its blanks (RFC 3977, 8.3.2 with erratum 2311, and 8.5.2), as INN does.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::articles::batch;
use program::nntp::{ALL_MAY, Served, listen};

const ARTICLE: &[u8] = b"Path: x!not-for-mail\nFrom:   two leading <a@b.example>  \nNewsgroups: comp.test\n\
    Subject: trailing blank \t \nDate: Thu, 19 Nov 2026 10:00:00 +0000 \nMessage-ID: <1@x.example>\n\
    References: <first@x> \nReferences: <second@x>\nX-One:  one  \nX-One: two\n\
    X-Fold: \n  folded  \n\tmore\t\nX-Tab:\ttab\nOrganization: o1 \nOrganization: o2\n\nbody\n";

#[test]
fn the_first_of_each_with_its_blanks() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    assert_eq!(
        program.rnews(&batch(&[ARTICLE.to_vec()])).count("accepted"),
        1
    );
    program.assert_clean();
    let served = Served::start(&program);
    let mut client = served.client();
    assert!(client.ask("GROUP comp.test").starts_with("211 "));
    assert!(client.ask("OVER 1").starts_with("224 "));
    let row = client.lines().remove(0);
    let columns: Vec<&str> = row.split('\t').collect();
    assert_eq!(
        columns[..6],
        [
            "1",
            "trailing blank   ",
            "  two leading <a@b.example>  ",
            "Thu, 19 Nov 2026 10:00:00 +0000 ",
            "<1@x.example>",
            "<first@x> "
        ]
    );
    for (name, value) in [
        ("Subject", "trailing blank   "),
        ("From", "  two leading <a@b.example>  "),
        ("References", "<first@x> "),
        ("X-One", " one  "),
        ("X-Fold", "  folded   more "),
        ("X-Tab", "tab"),
        ("Organization", "o1 "),
    ] {
        assert!(client.ask(&format!("HDR {name} 1")).starts_with("225 "));
        let expected = format!("1 {value}\r\n.\r\n");
        let shown = client.bytes(expected.len());
        assert_eq!(String::from_utf8_lossy(&shown), expected, "{name}");
    }
}
