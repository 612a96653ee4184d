//! INN's wildmat, checked with its tables, bounds on its work, and a slow model.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::shared;

use groups::Wildmat;
use groups::wildmat::WildmatResult;
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
            b"match" => WildmatResult::Match,
            b"fail" => WildmatResult::Fail,
            b"poison" => WildmatResult::Poison,
            other => panic!("result {}", other.escape_ascii()),
        };
        assert_eq!(wildmat.result(&text), expected, "row {}", id.escape_ascii());
    }
}

#[test]
fn the_rightmost_pattern_decides() {
    let result =
        |list: &str, text: &str| Wildmat::parse_poison(list.as_bytes()).result(text.as_bytes());
    assert_eq!(
        result("news.*,!news.misc,*.misc", "news.misc"),
        WildmatResult::Match
    );
    assert_eq!(
        result("news.*,!news.misc", "news.misc"),
        WildmatResult::Fail
    );
    assert_eq!(result("*,@news.misc", "news.misc"), WildmatResult::Poison);
    assert_eq!(result("@news.misc,*", "news.misc"), WildmatResult::Match);
    assert_eq!(
        result("@news.misc,!news.*", "news.misc"),
        WildmatResult::Fail
    );
    assert!(Wildmat::parse(b"comp.*").matches_any(b"rec.x,comp.y"));
    assert!(!Wildmat::parse(b"*").matches_any(b",,"));
    assert!(Wildmat::parse(b"comp.*").matches_any(b"rec.x,\r\n\tcomp.y"));
}

#[test]
fn many_stars_cost_little_work() {
    let pattern = "*a".repeat(2000) + "b";
    let text = "a".repeat(20_000);
    assert!(!Wildmat::parse(pattern.as_bytes()).matches(text.as_bytes()));
    let pattern = "*[^b]?".repeat(200) + "*";
    assert!(Wildmat::parse(pattern.as_bytes()).matches(text.as_bytes()));
}

/// The most expensive patterns that fit a command line: parts that nearly match at every position of a long text.
#[test]
fn work_is_proportional_to_the_text() {
    use groups::wildmat::WORK_PER_BYTE_MAX;
    let sets = "*".to_owned() + &"[^b]".repeat(112) + "b";
    let questions = "*".to_owned() + &"?".repeat(450) + "b";
    let letters = "*".to_owned() + &"a".repeat(450) + "b";
    let both = format!("*{}b*{}c", "a?".repeat(110), "?a".repeat(110));
    let ranges = format!("*[{}]b*", "c-dx-z".repeat(70));
    let stars = "*a".repeat(225) + "b";
    let short = "*aaaaaaab".repeat(50);
    for pattern in [sets, questions, letters, both, ranges, stars, short] {
        assert!(pattern.len() <= 512);
        for letter in ["a", "\u{e9}", "\u{20ac}"] {
            let text = letter.repeat(100_000);
            let mut work = 0;
            let wildmat = Wildmat::parse_simple(pattern.as_bytes());
            assert!(!wildmat.matches_counted(text.as_bytes(), &mut work));
            let most = text.len() * WORK_PER_BYTE_MAX + 512;
            assert!(work <= most, "{work} steps of {most}: {pattern}");
        }
    }
}

#[test]
fn long_parts_are_found() {
    let fits = |pattern: &str, text: &str| {
        let wildmat = Wildmat::parse_simple(pattern.as_bytes());
        wildmat.matches(text.as_bytes())
    };
    let long = "0123456789".repeat(20);
    assert!(fits(&format!("*{long}*"), &format!("x{long}y")));
    assert!(fits(&format!("*{long}"), &format!("{long}{long}")));
    assert!(!fits(&format!("*{long}"), &format!("{long}{long}x")));
    assert!(!fits(&format!("*{long}?*"), &format!("x{long}")));
    let questions = "?".repeat(130);
    assert!(fits(&format!("*{questions}"), &"\u{20ac}".repeat(130)));
    assert!(!fits(&format!("*{questions}"), &"\u{20ac}".repeat(129)));
    assert!(fits(
        "*abcdefgh[\u{e0}-\u{ef}][^x]*",
        "__abcdefgh\u{e9}\u{20ac}__"
    ));
    assert!(!fits(
        "*abcdefgh[\u{e0}-\u{ef}][^x]*",
        "__abcdefgh\u{e9}x__"
    ));
}

/// Matches one pattern of letters, `?`, `*` and `S` (a set of a and the Euro sign) by the definition: a table of whether each suffix of the pattern
/// matches each suffix of the text.
fn model(pattern: &[char], text: &[char]) -> bool {
    let mut fits = vec![vec![false; text.len() + 1]; pattern.len() + 1];
    fits[pattern.len()][text.len()] = true;
    for p in (0..pattern.len()).rev() {
        for t in (0..=text.len()).rev() {
            let here = text.get(t).copied();
            let is_one = match pattern[p] {
                '*' => {
                    fits[p][t] = fits[p + 1][t] || here.is_some() && fits[p][t + 1];
                    continue;
                }
                '?' => here.is_some(),
                'S' => matches!(here, Some('a' | '\u{20ac}')),
                letter => here == Some(letter),
            };
            fits[p][t] = is_one && fits[p + 1][t + 1];
        }
    }
    fits[0][0]
}

fn agrees(pattern: &str, text: &str) -> Result<(), TestCaseError> {
    let [steps, letters]: [Vec<char>; 2] = [pattern, text].map(|text| text.chars().collect());
    let wildmat = Wildmat::parse(pattern.replace('S', "[a\u{20ac}]").as_bytes());
    prop_assert_eq!(wildmat.matches(text.as_bytes()), model(&steps, &letters));
    Ok(())
}

proptest! {
    #[test]
    fn agrees_with_the_definition(pattern in "[ab?*]{0,8}", text in "[ab]{0,8}") {
        agrees(&pattern, &text)?;
    }

    #[test]
    fn agrees_for_long_parts(
        parts in prop::collection::vec("[a\u{20ac}?S]{0,3}|[a\u{20ac}?S]{6,12}|[a?S]{60,70}", 1..4),
        text in "[a\u{20ac}]{0,40}|[a\u{20ac}]{100,160}",
    ) {
        agrees(&parts.join("*"), &text)?;
    }

    #[test]
    fn any_bytes_are_parsed(
        list in prop::collection::vec(
            prop_oneof![3 => prop::sample::select(b"[]^-*?\\,!@a".to_vec()), 1 => any::<u8>()], 0..40),
        text in any::<Vec<u8>>(),
    ) {
        Wildmat::parse(&list).matches(&text);
        Wildmat::parse_poison(&list).result(&text);
        Wildmat::parse_simple(&list).matches_any(&text);
    }
}
