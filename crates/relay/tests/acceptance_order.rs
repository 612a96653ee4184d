//! Every test of acceptance has its text, and the tests run in the order of relaynews: an article
//! with all faults from some test on is refused for the first of them.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::decisions;

use decisions::{Decisions, article};

/// One fault, and the text it gives. In the order of the tests.
const FAULTS: &[(&str, &str)] = &[
    ("Message-ID", "no Message-ID: header"),
    ("Newsgroups", "no Newsgroups: header"),
    ("Path", "no Path: header"),
    ("Subject", "no Subject: header"),
    ("Date", "no Date: header"),
    ("From", "no From: header"),
];

#[test]
fn required_headers_in_their_order() {
    for (at, (_, text)) in FAULTS.iter().enumerate() {
        let missing: Vec<&str> = FAULTS.iter().skip(at).map(|(name, _)| *name).collect();
        let wanted = format!("refuse {text}");
        assert_eq!(Decisions::new().verdict(&article(&missing)), wanted);
        let empty: Vec<String> = missing.iter().map(|name| format!("{name}: ")).collect();
        let empty: Vec<&str> = empty.iter().map(String::as_str).collect();
        let wanted = wanted.replace("no ", "empty ");
        assert_eq!(Decisions::new().verdict(&article(&empty)), wanted);
    }
}

/// Faults that can stand in one article together, each after those it must come before.
const REST: &[(&str, &str)] = &[
    ("Message-ID: a b", "no @ in Message-ID"),
    ("Message-ID: a @b", "whitespace in Message-ID"),
    ("Message-ID: a@b", "Message-ID not bracketed by <>"),
    (
        "Message-ID: <a>@b>",
        "control character or > inside Message-ID",
    ),
    (
        "Newsgroups: comp.lang.c,comp.mod",
        "unapproved article in moderated group(s) `comp.lang.c,comp.mod'",
    ),
    ("Date: yesterday", "unparsable Date: `yesterday'"),
    (
        "Date: 2 Jun 2001 12:00:01 GMT",
        "Date: too far in the future: `2 Jun 2001 12:00:01 GMT'",
    ),
    (
        "Date: 1 Apr 2001 12:00:00 GMT",
        "ancient date `1 Apr 2001 12:00:00 GMT'",
    ),
    (
        "Newsgroups: misc.test, comp lang.c",
        "space in groups `misc.test, comp lang.c'",
    ),
    ("Message-ID: <old@a.example>", "duplicate"),
    (
        "Newsgroups: misc.test,alt.unknown",
        "no subscribed groups in `misc.test,alt.unknown', remembered",
    ),
    (
        "Newsgroups: comp.x,comp.xalias",
        "all groups `comp.x,comp.xalias' excluded in active, remembered x comp.x",
    ),
];

#[test]
fn the_other_tests_in_their_order() {
    let mut decisions = Decisions::new();
    decisions.rules.age_seconds_max = Some(30 * 86_400);
    for (at, (_, text)) in REST.iter().enumerate() {
        // Later faults first, so that of one header the earlier fault stays.
        let changes: Vec<&str> = REST.iter().skip(at).rev().map(|(line, _)| *line).collect();
        let wanted = format!("refuse {text}");
        assert_eq!(decisions.verdict(&article(&changes)), wanted);
    }
    assert_eq!(decisions.verdict(&article(&[])), "accept comp.lang.c");
}

#[test]
fn a_faulty_header_comes_before_all_of_these() {
    let twice = format!("Subject: a\n{}", article(&["Message-ID", "Newsgroups"]));
    assert_eq!(
        Decisions::new().verdict(&twice),
        "refuse duplicate required header `Subject'"
    );
    let no_header = article(&["Message-ID", "Hello world"]);
    assert_eq!(
        Decisions::new().verdict(&no_header),
        "refuse article \"header\" contains non-RFC-1036-header line `Hello world'"
    );
}

#[test]
fn no_limit_on_age_unless_asked_for() {
    let old = article(&["Date: 1 Jan 1985 00:00:00 GMT"]);
    assert_eq!(Decisions::new().verdict(&old), "accept comp.lang.c");
}

#[test]
fn one_day_ahead_is_allowed() {
    let ahead = article(&["Date: 2 Jun 2001 12:00:00 GMT"]);
    assert_eq!(Decisions::new().verdict(&ahead), "accept comp.lang.c");
}

/// RFC 5537, 3.6: an article that waited for its moderator has an old Date.
#[test]
fn the_injection_date_counts_instead_of_the_date() {
    let mut decisions = Decisions::new();
    decisions.rules.age_seconds_max = Some(30 * 86_400);
    let verdict = |date: &str, injected: &str| {
        let text = article(&[date]);
        decisions.verdict(&format!("Injection-Date: {injected}\n{text}"))
    };
    let old = "Date: 1 Apr 2001 12:00:00 GMT";
    let fresh = "Date: 1 Jun 2001 11:00:00 GMT";
    assert_eq!(
        verdict(old, "1 Jun 2001 11:00:00 GMT"),
        "accept comp.lang.c"
    );
    assert_eq!(
        verdict(fresh, "1 Apr 2001 12:00:00 GMT"),
        "refuse ancient date `1 Apr 2001 12:00:00 GMT'"
    );
    assert_eq!(
        verdict(fresh, "2 Jun 2001 12:00:01 GMT"),
        "refuse Date: too far in the future: `2 Jun 2001 12:00:01 GMT'"
    );
    assert_eq!(verdict(fresh, "soon"), "refuse unparsable Date: `soon'");
    // One day of Date ahead of the clock is allowed as before, and more with an Injection-Date.
    assert_eq!(
        verdict("Date: 9 Jun 2001 12:00:00 GMT", "1 Jun 2001 11:00:00 GMT"),
        "accept comp.lang.c"
    );
}
