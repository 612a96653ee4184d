//! The limits that C News did not have, and their texts.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::decisions;

use decisions::{Decisions, article};

#[test]
fn each_limit_refuses_what_is_one_over_it() {
    let text = article(&[]);
    let header = text.find("\n\n").unwrap() + 1;
    let mut decisions = Decisions::new();
    decisions.rules.article_bytes_max = text.len();
    decisions.rules.header_bytes_max = header;
    decisions.rules.message_id_bytes_max = "<1@far.example>".len();
    decisions.rules.groups_max = 1;
    assert_eq!(decisions.verdict(&text), "accept comp.lang.c");

    decisions.rules.groups_max = 0;
    assert_eq!(
        decisions.verdict(&text),
        "refuse too many groups: 1, the limit is 0"
    );
    decisions.rules.message_id_bytes_max -= 1;
    assert_eq!(
        decisions.verdict(&text),
        "refuse Message-ID too long: 15 bytes, the limit is 14"
    );
    decisions.rules.header_bytes_max -= 1;
    assert_eq!(
        decisions.verdict(&text),
        format!(
            "refuse header too large: {header} bytes, the limit is {}",
            header - 1
        )
    );
    decisions.rules.article_bytes_max -= 1;
    assert_eq!(
        decisions.verdict(&text),
        format!(
            "refuse article too large: {} bytes, the limit is {}",
            text.len(),
            text.len() - 1
        )
    );
}

#[test]
fn ten_thousand_groups_are_counted_and_refused() {
    let groups = vec!["comp.lang.c"; 10_000].join(",");
    let text = article(&[&format!("Newsgroups: {groups}")]);
    assert_eq!(
        Decisions::new().verdict(&text),
        "refuse too many groups: 10000, the limit is 256"
    );
}
