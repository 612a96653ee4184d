//! COVERAGE.md contains every case and only existing ones; INN.md explains every expected failure.

use std::collections::BTreeSet;
use std::path::Path;

use conformance::case;
use conformance::report::expected;

fn text(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).expect(name)
}

fn cases() -> BTreeSet<String> {
    case::all()
        .expect("understood")
        .into_iter()
        .map(|case| case.name)
        .collect()
}

/// The names in backquotes with a slash: `FILE/CASE` or `FILE/*`.
fn named(text: &str) -> BTreeSet<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted
        .filter(|name| name.starts_with("rfc") && name.contains('/'))
        .collect()
}

fn is_named(case: &str, names: &BTreeSet<&str>) -> bool {
    let all = |name: &&str| {
        name.strip_suffix('*')
            .is_some_and(|stem| case.starts_with(stem))
    };
    names.contains(case) || names.iter().any(all)
}

#[test]
fn every_name_is_a_case() {
    let coverage = text("COVERAGE.md");
    let cases = cases();
    let stale: Vec<_> = named(&coverage)
        .into_iter()
        .filter(|name| match name.strip_suffix('*') {
            Some(stem) => !cases.iter().any(|case| case.starts_with(stem)),
            None => !cases.contains(*name),
        })
        .collect();
    assert!(stale.is_empty(), "no such case: {stale:#?}");
}

#[test]
fn every_case_is_named() {
    let coverage = text("COVERAGE.md");
    let names = named(&coverage);
    let missing: Vec<_> = cases()
        .into_iter()
        .filter(|case| !is_named(case, &names))
        .collect();
    assert!(missing.is_empty(), "COVERAGE.md lacks {missing:#?}");
    assert!(names.len() > 200);
}

#[test]
fn every_expected_failure_is_explained() {
    let document = text("INN.md");
    let explained = named(&document);
    for name in expected(&text("expected/inn.txt")) {
        assert!(explained.contains(name.as_str()), "INN.md lacks {name}");
    }
    for name in explained {
        assert!(
            expected(&text("expected/inn.txt")).contains(name),
            "INN.md names {name}, which is not expected to fail"
        );
    }
}

#[test]
fn a_case_that_is_not_named_would_be_seen() {
    let names = named("| 1 | x | `rfc1-a/b` `rfc2-c/*` |");
    assert!(is_named("rfc1-a/b", &names) && is_named("rfc2-c/d", &names));
    assert!(!is_named("rfc1-a/c", &names));
}
