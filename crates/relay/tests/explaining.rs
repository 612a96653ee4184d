//! `explain` tells what would be done with an article, and changes nothing.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::newsdir;

use article::Form;
use article::date::Utc;
use groups::Sites;
use groups::active::Active;
use groups::matrix::Matrix;
use newsdir::{ACTIVE, HOST, NOW, SYS, article};
use relay::decide::State;
use relay::explain::{ExpectedResult, Explanation, explain};
use relay::{Arrival, Rules};

fn explained(text: &str) -> Explanation {
    let active = Active::parse(ACTIVE.as_bytes().to_vec()).unwrap();
    let sys = Sites::parse(SYS.as_bytes(), HOST.as_bytes()).unwrap();
    let mut matrix = Matrix::new(&active, &sys);
    let mut state = State {
        active: &active,
        matrix: &mut matrix,
        zone: &Utc,
        sender: None,
        is_announced: false,
    };
    let seen = |id: &[u8]| Ok::<_, std::convert::Infallible>(id == b"<old@a>");
    let arrival = Arrival {
        seconds: NOW.seconds,
    };
    let rules = Rules::new(HOST.as_bytes());
    let Ok(explanation) = explain(
        (text.as_bytes(), Form::Native, false),
        arrival,
        &mut state,
        &sys,
        &rules,
        seen,
    );
    explanation
}

fn texts(list: &[Vec<u8>]) -> Vec<&str> {
    list.iter()
        .map(|text| std::str::from_utf8(text).unwrap())
        .collect()
}

#[test]
fn an_article_that_would_be_filed() {
    let text = article(
        "<1@a>",
        "comp.std,comp.alias,comp.x,alt.none,comp.lang.c",
        &["Expires: 1 Jul 2001 00:00:00 GMT", "Supersedes: <0@a>"],
    );
    let explained = explained(&text);
    assert_eq!(explained.expected_result, ExpectedResult::Accept);
    assert_eq!(explained.message_id, b"<1@a>");
    assert_eq!(explained.date, Some(991_389_600));
    assert_eq!(explained.expires, Some(993_945_600));
    assert_eq!(explained.hops, 1);
    assert_eq!(explained.site, b"near.example");
    assert_eq!(explained.text, b"all.example");
    assert_eq!(texts(&explained.filed_in), ["comp.lang.c", "comp.std"]);
    assert_eq!(texts(&explained.excluded), ["comp.x"]);
    assert_eq!(texts(&explained.sites), ["all.example"]);
    assert_eq!(texts(&explained.cancels), ["<0@a>"]);
    assert_eq!(explained.path, b"us.example!near.example!user");
    let groups: Vec<_> = explained
        .groups
        .iter()
        .map(|group| {
            let text = |bytes: &Vec<u8>| String::from_utf8(bytes.clone()).unwrap();
            let flag = group.flag.as_ref().map_or(String::new(), text);
            let filed_as = group.filed_as.as_ref().map_or(String::new(), text);
            format!(
                "{} {flag} {filed_as} {}",
                text(&group.name),
                group.subscribed
            )
        })
        .collect();
    assert_eq!(
        groups,
        [
            "comp.std y comp.std true",
            "comp.alias =comp.std comp.std true",
            "comp.x x  true",
            "alt.none   false",
            "comp.lang.c y comp.lang.c true",
        ]
    );
}

#[test]
fn articles_that_would_be_refused() {
    for (text, wanted, remembered) in [
        (article("<old@a>", "comp.std", &[]), "duplicate", false),
        (
            article("<1@a>", "comp.x", &[]),
            "all groups `comp.x' excluded in active",
            true,
        ),
        (String::new(), "no Message-ID: header", false),
    ] {
        let explained = explained(&text);
        assert_eq!(explained.expected_result, ExpectedResult::Refuse);
        assert_eq!(String::from_utf8(explained.text).unwrap(), wanted);
        assert_eq!(explained.remembered, remembered);
        assert!(explained.sites.is_empty() && explained.filed_in.is_empty());
    }
}

#[test]
fn control_and_junk() {
    let control = article("<1@a>", "comp.std", &["Control: newgroup comp.new"]);
    assert_eq!(explained(&control).expected_result, ExpectedResult::Control);
    let junk = article("<1@a>", "comp.none", &[]);
    assert_eq!(explained(&junk).expected_result, ExpectedResult::Junk);
}
