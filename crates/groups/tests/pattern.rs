//! The C News pattern language, checked with its table, its special cases and a slow model.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::shared;

use groups::wildmat::WildmatResult;
use groups::{Pattern, Wildmat};
use proptest::prelude::*;

fn matches(list: &str, groups: &str) -> bool {
    Pattern::parse(list.as_bytes()).matches_any(groups.as_bytes())
}

#[test]
fn table_of_the_real_program() {
    let Some(text) = shared::read("cases/cnews/ngmatch.tsv") else {
        return;
    };
    let rows = shared::rows(&text);
    assert!(rows.len() > 10);
    for row in rows {
        let expected = row[2] == b"match";
        let groups = shared::unescape(row[1]);
        assert_eq!(
            Pattern::parse(row[0]).matches_any(&groups),
            expected,
            "{} on {}",
            row[0].escape_ascii(),
            groups.escape_ascii()
        );
    }
}

#[test]
fn special_cases_of_the_real_program() {
    assert!(!matches("comp,!comp", "comp.x"));
    assert!(matches("!comp,comp", "comp.x"));
    assert!(matches("all.b,!a.all", "a.b"));
    assert!(matches("!a.all,all.b", "a.b"));
    assert!(!matches("a.all,!all.b", "a.b"));
    assert!(!matches("!all.b,a.all", "a.b"));
}

#[test]
fn one_matching_group_is_enough() {
    assert!(matches("comp,!comp.os", "comp.os.linux,comp.x"));
    assert!(!matches("comp,!comp.os", "comp.os.linux,rec.x"));
    assert!(!matches("all", ""));
    assert!(!matches("all", ",,"));
    assert!(!matches("", "comp"));
    assert!(!matches("!,,", "comp"));
    assert!(matches("all", ",comp"));
    assert!(!matches("Comp", "comp"));
    assert!(!matches("com", "comp"));
}

#[test]
fn long_lists_and_names_are_matched_quickly() {
    let deep = vec!["all"; 20_000].join(".");
    let name = vec!["a"; 20_000].join(".");
    assert!(matches(&format!("{deep},!{name}.b"), &name));
    let wide: Vec<String> = (0..5000).map(|n| format!("g{n}.x")).collect();
    assert!(matches(&wide.join(","), "g4999.x.y"));
    assert!(!matches(&wide.join(","), "g5000.x"));
    // Branches at every word: each node is visited once, not once per path.
    let both = (0..200).map(|n| {
        let mut words = vec!["all"; 200];
        words[n] = "a";
        words.join(".")
    });
    let list = both.collect::<Vec<_>>().join(",");
    assert!(matches(&list, &vec!["a"; 300].join(".")));
}

/// The rules, pattern by pattern: highest score; among equal ones the pattern
/// whose first different word is `all`; among the same patterns the last.
fn model(list: &str, group: &str) -> bool {
    let words: Vec<&str> = group.split('.').collect();
    let mut best: Option<(usize, Vec<&str>, bool)> = None;
    for item in list.split(',') {
        let (includes, pattern) = match item.strip_prefix('!') {
            Some(pattern) => (false, pattern),
            None => (true, item),
        };
        if pattern.is_empty() {
            continue;
        }
        let pattern: Vec<&str> = pattern.split('.').collect();
        let fits = pattern.len() <= words.len()
            && pattern
                .iter()
                .zip(&words)
                .all(|(p, w)| *p == "all" || p == w);
        if !fits {
            continue;
        }
        let score = pattern
            .iter()
            .map(|p| if *p == "all" { 19 } else { 20 })
            .sum();
        let replaces = match &best {
            None => true,
            Some((highest, _, _)) if score != *highest => score > *highest,
            Some((_, held, _)) => {
                let differs = pattern.iter().zip(held).find(|(new, old)| new != old);
                differs.is_none_or(|(new, _)| *new == "all")
            }
        };
        if replaces {
            best = Some((score, pattern, includes));
        }
    }
    !group.is_empty() && best.is_some_and(|(_, _, includes)| includes)
}

#[test]
fn lists_become_wildmats() {
    for (list, expected) in [
        ("", ""),
        ("all", "*"),
        ("general", "general,general.*"),
        ("all,!local", "*,!local,!local.*"),
        ("!local,all", "*,!local,!local.*"),
        (
            "comp.os.linux,comp,!comp.os",
            "comp,comp.*,!comp.os,!comp.os.*,comp.os.linux,comp.os.linux.*",
        ),
        ("comp,!comp.all", "comp,comp.*,!comp.*"),
        ("!all.all,all", "*,!*.*"),
        // The last sign of a repeated pattern counts.
        ("comp,news,!comp", "!comp,!comp.*,news,news.*"),
        // Of equal scores the earliest `all' decides.
        ("!all.b,a.all", "a.*,!*.b,!*.b.*"),
        ("a?,@b", "\\@b,\\@b.*,a\\?,a\\?.*"),
    ] {
        assert_eq!(
            Pattern::parse(list.as_bytes()).as_wildmat().list,
            expected,
            "{list}"
        );
    }
    let told = Pattern::parse(b"comp.all.test,!all.x.all,all.all,b").as_wildmat();
    assert_eq!(told.widened, ["comp.all.test", "!all.x.all"]);
}

proptest! {
    /// A wildmat has the results of its list, unless a pattern is named as widened.
    #[test]
    fn wildmats_agree_with_their_lists(
        list in "(!?((a|b|c\\?|@|)\\.){0,3}(a|b||all(\\.all){0,2}),){0,8}",
        other in "(!?(all\\.)?(a|b))?",
        groups in prop::collection::vec("((a|b|cx|@)\\.){0,5}(a|b|)", 1..20),
    ) {
        let list = list + &other;
        let pattern = Pattern::parse(list.as_bytes());
        let told = pattern.as_wildmat();
        prop_assert_eq!(told.widened.is_empty(), !other.contains("all."));
        let wildmat = Wildmat::parse_poison(told.list.as_bytes());
        for group in groups.iter().filter(|group| !group.is_empty() && told.widened.is_empty()) {
            let expected = if pattern.matches(group.as_bytes()) { WildmatResult::Match } else { WildmatResult::Fail };
            prop_assert_eq!(wildmat.result(group.as_bytes()), expected, "{} as {:?} on {}", list, told, group);
        }
    }

    #[test]
    fn agrees_with_the_rules(
        list in "(!?((a|b|all|)\\.){0,4}(a|b|all|),){0,8}",
        group in "((a|b)\\.){0,5}(a|b|)",
    ) {
        prop_assert_eq!(matches(&list, &group), model(&list, &group), "{} on {}", list, group);
    }

    #[test]
    fn any_bytes_are_parsed(list in any::<Vec<u8>>(), group in any::<Vec<u8>>()) {
        Pattern::parse(&list).matches_any(&group);
    }
}
