//! INN's `expire.ctl` is converted to an `explist` that rules each group the same way.

#![allow(clippy::unwrap_used, clippy::indexing_slicing)] // helpers of tests, too

use expire::expire_ctl::convert;
use expire::{Explist, Policy};
use groups::Active;
use proptest::prelude::*;

fn shown(text: &str) -> String {
    String::from_utf8(convert(text.as_bytes()).unwrap()).unwrap()
}

#[test]
fn lines_come_out_in_reverse_and_exact() {
    let text = "\
## comment
/remember/:11
*:A:1:10:never          # the default
*:M:1:30:365
local.*,local:A:NEVER:99999:99999999999
alt.binaries.*:U:0:0.5:2
";
    assert_eq!(
        shown(text),
        "\
# Brought over from INN's expire.ctl; there the last match counted, here the first.
/expired/\tx\t11\t-
alt.binaries.all\tu\t0-0.5-2\t-
local.all\tx\tnever-never-never\t-
local,!local.all\tx\tnever-never-never\t-
all\tm\t1-30-365\t-
all\tx\t1-10-never\t-
"
    );
}

#[test]
fn without_a_default_line_the_rest_is_kept() {
    let text = shown("comp.*:A:1:10:20\n");
    assert!(text.ends_with("all\tx\tnever-never-never\t-\n"), "{text}");
}

#[test]
fn storage_classes_are_converted_only_as_a_default() {
    assert!(shown("/remember/:10\n*:14:14:14\n").ends_with("all\tx\t14-14-14\t-\n"));
    let failed = convert(b"*:14:14:14\n1:1:2:3\n").unwrap_err();
    assert_eq!(failed.faults.len(), 1);
    assert_eq!(failed.faults[0].line, 2);
    assert!(failed.faults[0].why.starts_with("rules storage class 1"));
    assert!(
        failed
            .to_string()
            .starts_with("1 line of expire.ctl cannot be converted to explist")
    );
}

#[test]
fn lines_without_an_equivalent_become_comments_and_errors() {
    let text = "\
*:A:1:10:never
uunet*:A:never:never:never
a.*:AX:1:2:3
a.*:Q:1:2:3
a.*:A:3:2:1
a.*:A:1:2
a.*:A:1:2:-3
a.*:A:1:2:3:4
/remember/:1
/remember/:2
,:A:1:2:3
";
    let failed = convert(text.as_bytes()).unwrap_err();
    let lines: Vec<_> = failed.faults.iter().map(|fault| fault.line).collect();
    assert_eq!(lines, [2, 3, 4, 5, 6, 7, 8, 10, 11]);
    let explist = String::from_utf8(failed.explist.clone()).unwrap();
    assert_eq!(explist.matches("# NOT BROUGHT OVER, line ").count(), 9);
    assert!(explist.contains("# NOT BROUGHT OVER, line 2: uunet*:A:never:never:never\n"));
    let list = Explist::parse(&failed.explist, "explist", None).unwrap();
    assert_eq!(list.rules.len(), 1);
}

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["a", "b", "c"])
}

/// A pattern with an equivalent: words, perhaps `.*`, perhaps `!`.
fn pattern() -> impl Strategy<Value = String> {
    let words = prop::collection::vec(word(), 1..3).prop_map(|words| words.join("."));
    prop_oneof![
        1 => Just("*".to_owned()),
        8 => (any::<bool>(), words, any::<bool>()).prop_map(|(not, words, star)| format!(
            "{}{words}{}", if not { "!" } else { "" }, if star { ".*" } else { "" }
        )),
    ]
}

fn matches(pattern: &str, group: &str) -> bool {
    match pattern.strip_prefix('!') {
        Some(pattern) => !matches(pattern, group),
        None if pattern == "*" => true,
        None => match pattern.strip_suffix('*') {
            Some(stem) => group.starts_with(stem),
            None => group == pattern,
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Each line's default is its own number of days, so the days show which one ruled.
    #[test]
    fn every_group_gets_the_line_inn_would_give_it(
        lines in prop::collection::vec((prop::collection::vec(pattern(), 1..4), prop::sample::select(vec!['A', 'M', 'U'])), 1..8),
        groups in prop::collection::btree_map("[abc](\\.[abc]){0,2}", any::<bool>(), 1..10),
    ) {
        let text: String = lines.iter().enumerate()
            .map(|(days, (patterns, flag))| format!("{}:{flag}:0:{days}:100\n", patterns.join(",")))
            .collect();
        let explist = convert(text.as_bytes()).unwrap();
        let table: String = groups.iter()
            .map(|(name, moderated)| format!("{name} 0000000000 00001 {}\n", if *moderated { 'm' } else { 'y' }))
            .collect();
        let active = Active::parse(table.into_bytes()).unwrap();
        let list = Explist::parse(&explist, "explist", None).unwrap();
        let (policy, _) = Policy::compile(list, &active).unwrap();
        for (name, moderated) in &groups {
            // INN reads the file, and the patterns of each line, and
            // the last match counts.
            let mut ruled = "never".to_owned();
            for (days, (patterns, flag)) in lines.iter().enumerate() {
                for pattern in patterns {
                    let kind = match flag { 'M' => *moderated, 'U' => !moderated, _ => true };
                    if kind && matches(pattern, name) {
                        ruled = days.to_string();
                    }
                }
            }
            let rule = policy.rule(active.find(name.as_bytes()).unwrap()).unwrap();
            prop_assert_eq!(rule.dates.default().to_string(), ruled, "{} in\n{}", name, text);
        }
    }

    #[test]
    fn any_text_is_converted_or_rejected(text in prop::collection::vec(
        prop::sample::select(b"ab*!,.:AMUX019never/#\n \0[".to_vec()), 0..200)) {
        let explist = match convert(&text) {
            Ok(explist) => explist,
            Err(failed) => failed.explist,
        };
        // The result is a valid explist.
        if let Err(error) = Explist::parse(&explist, "explist", None) {
            prop_assert!(matches!(error, expire::Error::Empty { .. }), "{}", error);
        }
    }
}
