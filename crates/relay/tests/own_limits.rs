//! The limits that C News did not have, and their texts.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)] // test code may panic

use crate::newsroom;

use newsroom::{Newsroom, article};

#[test]
fn each_limit_refuses_what_is_one_over_it() {
    let text = article(&[]);
    let header = text.find("\n\n").unwrap() + 1;
    let mut newsroom = Newsroom::new();
    newsroom.rules.article_bytes_max = text.len();
    newsroom.rules.header_bytes_max = header;
    newsroom.rules.message_id_bytes_max = "<1@far.example>".len();
    newsroom.rules.groups_max = 1;
    assert_eq!(newsroom.verdict(&text), "accept comp.lang.c");

    newsroom.rules.groups_max = 0;
    assert_eq!(
        newsroom.verdict(&text),
        "refuse too many groups: 1, the limit is 0"
    );
    newsroom.rules.message_id_bytes_max -= 1;
    assert_eq!(
        newsroom.verdict(&text),
        "refuse Message-ID too long: 15 bytes, the limit is 14"
    );
    newsroom.rules.header_bytes_max -= 1;
    assert_eq!(
        newsroom.verdict(&text),
        format!(
            "refuse header too large: {header} bytes, the limit is {}",
            header - 1
        )
    );
    newsroom.rules.article_bytes_max -= 1;
    assert_eq!(
        newsroom.verdict(&text),
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
        Newsroom::new().verdict(&text),
        "refuse too many groups: 10000, the limit is 256"
    );
}
