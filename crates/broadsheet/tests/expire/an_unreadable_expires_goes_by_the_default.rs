//! An Expires in which no date can be read: history keeps its text, the default life rules, and `expire -g` tells of it.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use crate::program;

use program::articles::{batch, with};
use program::{Program, Told};

const DAY: u64 = 86_400;

/// What the headers say, and what history keeps of that. The bytes `##` stand for some that are no UTF-8.
const CASES: [(&str, &[u8]); 9] = [
    ("whenever", b"whenever"),
    ("Fri, 99 Foo 2093", b"Fri, 99 Foo 2093"),
    ("caf## soon", b"caf\xff\xe9 soon"),
    ("a\tb~c~", b"a b c "),
    ("folded\n\tin two", b"folded  in two"),
    ("20930101000000 ", b" 20930101000000"),
    ("-", b" -"),
    ("", b"-"),
    ("Thu, 1 Jan 2099 00:00:00 GMT", b"4070908800"),
];

/// Of these the first so many cannot be read.
const UNREADABLE: usize = 7;

fn id(place: usize) -> String {
    format!("<case.{place}@example.com>")
}

fn news() -> Program {
    let program =
        Program::with_classic_cancels("test.a 0000000000 00001 y\nother 0000000000 00001 y\n");
    let article = |(place, (text, _)): (usize, &(&str, &[u8]))| {
        let header = format!("Expires: {text}\n");
        let mut article = with(&id(place), "test.a", &header, b"hello\n");
        if let Some(at) = article.windows(2).position(|pair| pair == b"##") {
            article[at..at + 2].copy_from_slice(b"\xff\xe9");
        }
        article
    };
    let articles: Vec<_> = CASES.iter().enumerate().map(article).collect();
    let told = program.rnews(&batch(&articles));
    assert_eq!(told.status, 0, "{told:?}");
    program.write("news/explist", b"/expired/ x 900 -\nall x 10 -\n");
    program
}

/// A run of expire so many days after now.
fn expire(program: &Program, days: u64, more: &[&str]) -> Told {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let now = (now + days * DAY).to_string();
    let mut words = vec!["expire", "--dir", "news", "--now", &now, "--json"];
    words.extend(more);
    program.run(&words)
}

/// What `-g` must say of all of them.
fn complaints() -> String {
    let line = |place: usize| {
        let text = groups::shown(CASES[place].1);
        let (number, id) = (place + 1, id(place));
        format!(
            "broadsheet: test.a/{number} {id}: Expires `{text}' cannot be read, the default applies\n"
        )
    };
    (0..UNREADABLE).map(line).collect()
}

fn subfield(program: &Program, place: usize) -> Vec<u8> {
    let line = program.run_bytes(&["history", "find", "--dir", "news", &id(place)]);
    line.split(|b| *b == b'~').nth(1).unwrap().to_vec()
}

#[test]
fn history_keeps_what_it_says() {
    let program = news();
    for (place, (text, kept)) in CASES.iter().enumerate() {
        assert_eq!(subfield(&program, place), *kept, "{text}");
    }
    let find = |place| {
        let told = program.run(&["history", "find", "--json", "--dir", "news", &id(place)]);
        let told = told.summary();
        (told["expires"].as_i64(), told["expires_unreadable"].clone())
    };
    assert_eq!(find(0), (None, "whenever".into()));
    assert_eq!(find(7), (None, serde_json::Value::Null));
    assert_eq!(find(8), (Some(4_070_908_800), serde_json::Value::Null));
    program.assert_clean();
    let told = program.run(&["history", "rebuild", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    program.assert_clean();
    assert_eq!(subfield(&program, 3), CASES[3].1);
    let told = expire(&program, 1, &["-g"]);
    assert_eq!(told.err, complaints());
}

#[test]
fn a_text_of_any_length_is_cut() {
    let program = news();
    let header = format!("Expires: {}\n", "never ".repeat(100));
    let long = with("<long@example.com>", "test.a", &header, b"hello\n");
    assert_eq!(program.rnews(&batch(&[long])).status, 0);
    let line = program.run_bytes(&["history", "find", "--dir", "news", "<long@example.com>"]);
    let text = line.split(|b| *b == b'~').nth(1).unwrap();
    assert_eq!(text.len(), store::expires_header::TEXT_BYTES_MAX);
    program.assert_clean();
}

#[test]
fn it_goes_by_the_default_and_is_told_while_it_is_there() {
    let program = news();
    // Beside them one without Expires, which goes on the same day.
    let plain = with("<plain@example.com>", "test.a", "", b"hello\n");
    assert_eq!(program.rnews(&batch(&[plain])).status, 0);

    let told = expire(&program, 9, &[]);
    assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
    assert_eq!(
        (told.count("links"), told.count("expires_unreadable")),
        (0, UNREADABLE as u64)
    );
    let told = expire(&program, 9, &["-g"]);
    assert_eq!((told.status, told.err), (0, complaints()));

    // In the run that they go in, too; the one with a date stays.
    let told = expire(&program, 11, &["-g", "-n", "--force"]);
    assert_eq!((told.status, told.err.as_str()), (0, complaints().as_str()));
    let told = expire(&program, 11, &["-g", "--force"]);
    assert_eq!((told.status, told.err.as_str()), (0, complaints().as_str()));
    assert_eq!(told.count("articles"), UNREADABLE as u64 + 2);
    for place in 0..CASES.len() {
        let told = program.run(&["article", "--dir", "news", &id(place)]);
        assert_eq!(told.status == 0, place == 8, "{told:?}");
    }
    let told = expire(&program, 11, &["-g"]);
    assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
    assert_eq!(told.count("expires_unreadable"), 0);
    program.assert_clean();
}

#[test]
fn what_was_cancelled_is_not_told() {
    let program = news();
    let control = format!("Control: cancel {}\n", id(0));
    let cancel = with("<cancel@example.com>", "test.a", &control, b"gone\n");
    assert_eq!(program.rnews(&batch(&[cancel])).status, 0);
    let told = expire(&program, 1, &["-g"]);
    let (_, rest) = complaints()
        .split_once('\n')
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    assert_eq!(told.err, rest);
}

#[test]
fn what_is_told_one_by_one_is_bounded() {
    let program = Program::with_classic_cancels("test.a 0000000000 00001 y\n");
    let count = expire::unreadable_expires::LISTED_MAX + 2;
    let article = |place| with(&id(place), "test.a", "Expires: never\n", b"hello\n");
    let articles: Vec<_> = (0..count).map(article).collect();
    assert_eq!(program.rnews(&batch(&articles)).status, 0);
    program.write("news/explist", b"all x 10 -\n");
    let told = expire(&program, 1, &["-g"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(told.count("expires_unreadable"), count as u64);
    let lines: Vec<_> = told.err.lines().collect();
    assert_eq!(lines.len(), expire::unreadable_expires::LISTED_MAX + 1);
    assert_eq!(
        lines.last().copied(),
        Some("broadsheet: and 2 more articles with an unreadable Expires")
    );
}
