//! The strict syntax of header fields, checked with the tables of shared/cases.
// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::panic)]

use crate::shared_tables;

use article::syntax;
use shared_tables::{bytes, rows};

/// Whether this is a whole field: a name, a colon, a blank, and a body.
fn is_valid_field(field: &[u8]) -> bool {
    let Some(colon) = field.iter().position(|&byte| byte == b':') else {
        return false;
    };
    let (name, rest) = field.split_at(colon);
    syntax::valid_name(name) && rest.strip_prefix(b": ").is_some_and(syntax::valid_body)
}

#[test]
fn fields_names_and_bodies_are_valid_as_listed() {
    let Some(rows) = rows("cases/inn/header-syntax.tsv") else {
        return;
    };
    for row in rows {
        let text = bytes(&row[2]).unwrap_or_default();
        let judged = match row[1].as_str() {
            "name" => syntax::valid_name(&text),
            "body" => syntax::valid_body(&text),
            "field" => is_valid_field(&text),
            other => panic!("unknown kind {other}"),
        };
        assert_eq!(judged.to_string(), row[3], "row {}: {}", row[0], row[2]);
    }
}

#[test]
fn utf8_is_judged_as_listed() {
    let Some(rows) = rows("cases/inn/utf8-valid.tsv") else {
        return;
    };
    for row in rows {
        let text = bytes(&row[1]).unwrap_or_default();
        assert_eq!(
            syntax::is_utf8_like(&text).to_string(),
            row[2],
            "row {}",
            row[0]
        );
    }
}

#[test]
fn comments_and_folding_are_stripped_as_listed() {
    let Some(rows) = rows("cases/inn/cfws-strip.tsv") else {
        return;
    };
    for row in rows {
        let stripped = bytes(&row[1]).map(|text| syntax::strip_cfws(&text));
        assert_eq!(stripped, bytes(&row[2]), "row {}", row[0]);
    }
}

#[test]
fn folding_needs_text_on_every_line() {
    assert!(syntax::valid_body(b"a\r\n b"));
    assert!(!syntax::valid_body(b"a\r\n \r\n b"));
    assert!(!syntax::valid_body(b"a\r\n"));
    assert!(!syntax::valid_body(b"a\n"));
    assert!(!syntax::valid_body(b""));
    assert!(!syntax::valid_body(b" \t"));
    assert!(!syntax::valid_body(b"a\0b"));
    assert_eq!(syntax::strip_cfws(b"a (never closed"), b"a");
    assert_eq!(syntax::strip_cfws(b"a) b"), b"a) b");
}

#[test]
fn unclosed_comments_are_found() {
    for open in [
        "(",
        "a (b",
        "a ((b)",
        "a (b\\)",
        "a (\"b) (",
        "\"a\" (",
        "a (b) ((((",
    ] {
        assert!(syntax::has_unclosed_comment(open.as_bytes()), "{open}");
    }
    for closed in [
        "",
        "a",
        "a)",
        "a (b (c)) d",
        "a (b\\()",
        "\"a (b\" c",
        "\"a\\\" (b\" c",
        "a (5\" long)",
    ] {
        assert!(!syntax::has_unclosed_comment(closed.as_bytes()), "{closed}");
    }
}
