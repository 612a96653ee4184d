//! `broadsheet explain`: what rnews would do with an article, in words and in JSON, and that rnews does it.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::articles::{article, batch, with};
use program::{Program, golden};

fn news() -> Program {
    let program = Program::with_news(
        "comp.test 0000000004 00001 y\ncomp.old 0000000000 00001 =comp.test\ncomp.mod 0000000000 00001 m\n\
         comp.gone 0000000000 00001 x\n",
    );
    program.write(
        "news/sys",
        b"ME:all,!local\nbig:comp,control/all:f:\nfar:all:f:\nsmall/near:all:f:\nworldly:all/!world:f:\n",
    );
    program
}

fn cases() -> Vec<(&'static str, Vec<u8>)> {
    let groups = "comp.old,comp.gone,comp.test,comp.new";
    let moderated = "comp.test,comp.mod";
    vec![
        (
            "accepted",
            with(
                "<1@example.com>",
                groups,
                "Expires: 1 Jan 2099 00:00:00 GMT\n",
                b"x\n",
            ),
        ),
        ("unapproved", article("<1@example.com>", moderated)),
        (
            "approved",
            with(
                "<1@example.com>",
                moderated,
                "Approved: mod@example.com\n",
                b"x\n",
            ),
        ),
        ("junk", article("<1@example.com>", "comp.unknown")),
        ("excluded", article("<1@example.com>", "comp.gone")),
        ("unsubscribed", article("<1@example.com>", "local.test")),
        (
            "cancel",
            with(
                "<1@example.com>",
                "comp.test",
                "Control: cancel <2@example.com>\n",
                b"x\n",
            ),
        ),
        ("no-article", b"Subject: only\n\n".to_vec()),
    ]
}

#[test]
fn in_words_and_in_json() {
    let mut words = String::new();
    let mut objects = String::new();
    for (name, text) in cases() {
        let program = news();
        program.write("article", &text);
        let told = program.run(&["explain", "--dir", "news", "article"]);
        words.push_str(&format!("== {name} (status {})\n{}", told.status, told.out));
        let told = program.feed(&["explain", "--dir", "news", "--json"], &text);
        let object: serde_json::Value = serde_json::from_str(&told.out).expect("one object");
        objects.push_str(&format!("== {name}\n{object:#}\n"));
    }
    golden("explain.txt", &words);
    golden("explain.json.txt", &objects);
}

#[test]
fn rnews_does_what_was_explained() {
    for (name, text) in cases() {
        let program = news();
        let told = program.feed(&["explain", "--dir", "news", "--json"], &text);
        let object: serde_json::Value = serde_json::from_str(&told.out).unwrap();
        let verdict = object["verdict"].as_str().unwrap();
        let explained = object["text"].as_str().unwrap();
        let done = program.rnews(&batch(&[text]));
        let is_accepted = done.count("accepted") == 1;
        assert_eq!(
            verdict.starts_with("accepted"),
            is_accepted,
            "{name}: {object} {done:?}"
        );
        assert_eq!(told.status == 0, is_accepted, "{name}");
        assert_eq!(
            verdict == "accepted, junk",
            done.count("junked") == 1,
            "{name}"
        );
        let log = program.read("news/log");
        assert!(
            log.lines().any(|line| line.ends_with(explained)),
            "{name}: the log has the text `{explained}':\n{log}"
        );
    }
}

#[test]
fn nothing_is_filed() {
    let program = news();
    let text = article("<1@example.com>", "comp.test");
    for _ in 0..2 {
        assert_eq!(program.feed(&["explain", "--dir", "news"], &text).status, 0);
    }
    assert!(!program.path("news/log").exists());
    assert_eq!(
        program
            .rnews(&batch(std::slice::from_ref(&text)))
            .count("accepted"),
        1
    );
    let told = program.feed(&["explain", "--dir", "news"], &text);
    assert_eq!(told.status, 1);
    assert!(told.out.contains("duplicate"), "{told:?}");
    assert!(!told.out.contains("otherwise"), "{told:?}");
    // An id that is known because the article was refused.
    let text = article("<2@example.com>", "no.such.group");
    assert_eq!(program.rnews(&batch(std::slice::from_ref(&text))).status, 0);
    let told = program.feed(&["explain", "--dir", "news"], &text);
    assert!(
        told.out
            .contains("otherwise  no known groups in `no.such.group'"),
        "{told:?}"
    );
}

#[test]
fn bytes_that_are_not_utf8_are_escaped_in_json() {
    let program = news();
    let text = with("<1@example.com>", "comp.test", "", b"x\n");
    let text = String::from_utf8(text).unwrap().replace("<1@", "<\u{0}@");
    for (byte, id) in [(0xe9, "<\\xe9@example.com>"), (0xe8, "<\\xe8@example.com>")] {
        let text: Vec<u8> = text
            .bytes()
            .map(|b| if b == 0 { byte } else { b })
            .collect();
        let told = program.feed(&["explain", "--dir", "news", "--json"], &text);
        let said: serde_json::Value = serde_json::from_str(&told.out).unwrap();
        assert_eq!(said["id"], id, "{told:?}");
    }
}

#[test]
fn no_byte_of_an_article_reaches_the_terminal_raw() {
    let program = news();
    let text = with("<1@example.com>", "comp.test,x.\u{1b}[2Jy", "", b"x\n");
    let told = program.feed(&["explain", "--dir", "news"], &text);
    assert!(told.out.contains("x.\\x1b[2Jy"), "{told:?}");
    assert!(!told.out.contains('\u{1b}'), "{told:?}");
}
