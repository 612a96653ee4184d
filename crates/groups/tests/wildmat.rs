//! INN's wildmat: its tables, bounded work, a slow model.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::shared;

use groups::Wildmat;
use groups::wildmat::{Outcome, is_lax_utf8};
use proptest::prelude::*;

#[test]
fn table_of_matches() {
    let Some(text) = shared::read("cases/inn/uwildmat.tsv") else {
        return;
    };
    let rows = shared::rows(&text);
    assert!(rows.len() > 80);
    for row in rows {
        let [id, mode, text, pattern, expected] = row[..] else {
            panic!("five fields a row");
        };
        let text = shared::unescape(text);
        let pattern = shared::unescape(pattern);
        let wildmat = match mode {
            b"list" => Wildmat::parse(&pattern),
            b"poison" => Wildmat::parse_poison(&pattern),
            b"simple" => Wildmat::parse_simple(&pattern),
            other => panic!("mode {}", other.escape_ascii()),
        };
        let expected = match expected {
            b"match" => Outcome::Match,
            b"fail" => Outcome::Fail,
            b"poison" => Outcome::Poison,
            other => panic!("outcome {}", other.escape_ascii()),
        };
        assert_eq!(
            wildmat.outcome(&text),
            expected,
            "row {}",
            id.escape_ascii()
        );
    }
}

#[test]
fn table_of_utf8() {
    let Some(text) = shared::read("cases/inn/utf8-valid.tsv") else {
        return;
    };
    for row in shared::rows(&text) {
        let valid = row[2] == b"true";
        assert_eq!(
            is_lax_utf8(&shared::unescape(row[1])),
            valid,
            "row {:?}",
            row[0]
        );
    }
}

#[test]
fn the_rightmost_pattern_decides() {
    let outcome =
        |list: &str, text: &str| Wildmat::parse_poison(list.as_bytes()).outcome(text.as_bytes());
    assert_eq!(
        outcome("news.*,!news.misc,*.misc", "news.misc"),
        Outcome::Match
    );
    assert_eq!(outcome("news.*,!news.misc", "news.misc"), Outcome::Fail);
    assert_eq!(outcome("*,@news.misc", "news.misc"), Outcome::Poison);
    assert_eq!(outcome("@news.misc,*", "news.misc"), Outcome::Match);
    assert_eq!(outcome("@news.misc,!news.*", "news.misc"), Outcome::Fail);
    assert!(Wildmat::parse(b"comp.*").matches_any(b"rec.x,comp.y"));
    assert!(!Wildmat::parse(b"*").matches_any(b",,"));
}

#[test]
fn many_stars_take_no_time() {
    let pattern = "*a".repeat(2000) + "b";
    let text = "a".repeat(20_000);
    assert!(!Wildmat::parse(pattern.as_bytes()).matches(text.as_bytes()));
    let pattern = "*[^b]?".repeat(200) + "*";
    assert!(Wildmat::parse(pattern.as_bytes()).matches(text.as_bytes()));
}

/// One ASCII pattern of letters, `?` and `*`, by the definition.
fn model(pattern: &[u8], text: &[u8]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some((b'*', rest)) => (0..=text.len()).any(|skip| model(rest, &text[skip..])),
        Some((b'?', rest)) => !text.is_empty() && model(rest, &text[1..]),
        Some((byte, rest)) => text.first() == Some(byte) && model(rest, &text[1..]),
    }
}

proptest! {
    #[test]
    fn agrees_with_the_definition(pattern in "[ab?*]{0,8}", text in "[ab]{0,8}") {
        let wildmat = Wildmat::parse(pattern.as_bytes());
        prop_assert_eq!(wildmat.matches(text.as_bytes()), model(pattern.as_bytes(), text.as_bytes()));
    }

    #[test]
    fn any_bytes_do(
        list in prop::collection::vec(
            prop_oneof![3 => prop::sample::select(b"[]^-*?\\,!@a".to_vec()), 1 => any::<u8>()], 0..40),
        text in any::<Vec<u8>>(),
    ) {
        Wildmat::parse(&list).matches(&text);
        Wildmat::parse_poison(&list).outcome(&text);
        Wildmat::parse_simple(&list).matches_any(&text);
        is_lax_utf8(&text);
    }
}
