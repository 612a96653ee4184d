//! Articles that go by their own Expires, before others of their group: the low mark and the count of GROUP follow.

// A test fails by panicking.
#![allow(clippy::indexing_slicing)]

use crate::program;

use std::time::UNIX_EPOCH;

use program::Program;
use program::articles::{batch, date, with};
use program::nntp::{ALL_MAY, Served, listen};

#[test]
fn group_tells_what_is_there() {
    let program = Program::with_news("test.a 0000000000 00001 y\nlate 0000000040 00041 y\n");
    program.write("news/explist", b"/expired/ x 900 -\nall x 1-200-400 -\n");
    listen(&program, ALL_MAY);
    let now = UNIX_EPOCH.elapsed().expect("a clock behind 1970").as_secs();
    // 30 with an Expires, 8 without; of these two behind some that go.
    let article = |number: u64, group: &str| {
        let expires = match number {
            29 | 30 | 33..=38 => String::new(),
            _ => format!("Expires: {}\n", date(now + 5 * 86_400)),
        };
        with(
            &format!("<{group}.{number}@example.com>"),
            group,
            &expires,
            b"text\n",
        )
    };
    let articles: Vec<_> = ["test.a", "late"]
        .iter()
        .flat_map(|group| (1..=38).map(|number| article(number, group)))
        .collect();
    let told = program.rnews(&batch(&articles));
    assert_eq!(told.count("accepted"), 76, "{told:?}");
    let at = (now + 6 * 86_400).to_string();
    let told = program.run(&["expire", "--dir", "news", "--now", &at, "--force"]);
    assert_eq!(told.status, 0, "{told:?}");
    let served = Served::start(&program);
    let mut client = served.client();
    for (group, told) in [
        ("test.a", "211 8 29 38 test.a"),
        ("late", "211 8 69 78 late"),
    ] {
        assert_eq!(client.ask(&format!("GROUP {group}")), told);
        assert!(
            client
                .ask(&format!("LIST ACTIVE {group}"))
                .starts_with("215 ")
        );
        let words: Vec<&str> = told.split(' ').collect();
        let line = format!("{group} {} {} y", words[3], words[2]);
        assert_eq!(client.lines(), [line]);
    }
}
