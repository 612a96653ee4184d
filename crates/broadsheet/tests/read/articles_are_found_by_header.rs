//! `overview --match --since --groups` finds articles by the fields of the overview, in all groups and segments, each article once.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::articles::{batch, id, many, with};
use program::{Program, Told};

const ACTIVE: &str = "comp.test 0 1 y\ncomp.misc 0 1 y\nalt.x 0 1 y\n";

fn find(program: &Program, words: &[&str]) -> Told {
    program.run(&[&["overview", "--dir", "news"], words].concat())
}

/// The ids that a search finds, in its order.
fn ids(program: &Program, words: &[&str]) -> Vec<String> {
    let told = find(program, words);
    assert!(told.err.is_empty(), "{words:?}: {told:?}");
    assert_eq!(told.status, i32::from(told.out.is_empty()), "{told:?}");
    let fields = told.out.lines().map(|line| line.split('\t').nth(4));
    fields.map(|id| id.unwrap().to_owned()).collect()
}

fn by(id: &str, groups: &str, from: &str, subject: &str) -> Vec<u8> {
    let text = String::from_utf8(with(id, groups, "", b"hello\n")).unwrap();
    let text = text.replace("User <user@example.com>", from);
    text.replace("Subject: a test", &format!("Subject: {subject}"))
        .into_bytes()
}

/// Articles in several segments.
fn news() -> Program {
    let program = Program::with_news(ACTIVE);
    let articles = [
        by(
            "<1@a>",
            "comp.test,comp.misc",
            "Spammer <Spam@Bad.example>",
            "MAKE money fast",
        ),
        by(
            "<2@a>",
            "alt.x",
            "=?ISO-8859-1?Q?J=FCrgen?= <j@good.example>",
            "[question] why?",
        ),
        by(
            "<3@a>",
            "comp.misc",
            "Other <spam@bad.example>",
            "more money, slowly",
        ),
    ];
    for article in articles {
        assert_eq!(program.rnews(&batch(&[article])).count("accepted"), 1);
        program.rnews(&batch(&many("filler", 3, "comp.test", 100)));
    }
    program
}

#[test]
fn parts_and_wildmats_of_fields_find_articles_once() {
    let program = news();
    let expected: &[(&[&str], &[&str])] = &[
        (&["--match", "From:spam@bad.EXAMPLE"], &["<1@a>", "<3@a>"]),
        (&["--match", "from: Jürgen"], &["<2@a>"]),
        (&["--match", "From:JÜRGEN"], &["<2@a>"]),
        (&["--match", "From:J=FCrgen"], &["<2@a>"]),
        (&["--match", "Subject:make*fast"], &["<1@a>"]),
        (&["--match", "Subject:money*"], &[]),
        (&["--match", "Subject:*money, *"], &["<3@a>"]),
        (&["--match", "Subject:[question] why?"], &["<2@a>"]),
        (&["--match", "Message-ID:@a>"], &["<1@a>", "<2@a>", "<3@a>"]),
        (&["--match", "Xref:comp.misc:"], &["<1@a>", "<3@a>"]),
        (
            &["--match", "From:spam@", "--match", "Subject:slowly"],
            &["<3@a>"],
        ),
        (
            &["--match", "From:spam@", "--groups", "comp.test"],
            &["<1@a>"],
        ),
        (&["--groups", "alt.*"], &["<2@a>"]),
        (&["comp.misc", "2", "--match", "From:spam@"], &["<3@a>"]),
        (
            &["--match", "From:spam@", "--since", "1 day"],
            &["<1@a>", "<3@a>"],
        ),
        (&["--match", "From:spam@", "--since", "1 Jan 2099"], &[]),
    ];
    for (words, wanted) in expected {
        assert_eq!(ids(&program, words), *wanted, "{words:?}");
    }
    let told = find(&program, &["--match", "From:spam@", "--json"]);
    let first: serde_json::Value = serde_json::from_str(told.out.lines().next().unwrap()).unwrap();
    assert_eq!(first["id"], "<1@a>");
    assert_eq!(first["subject"], "MAKE money fast");
    let links = serde_json::json!(["comp.misc/1", "comp.test/1"]);
    assert_eq!(first["links"], links);
    assert_eq!(first["lines"], 1);
    // A removed article is found no more.
    let told = program.run(&["article", "remove", "--dir", "news", "<1@a>"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(ids(&program, &["--match", "From:spam@"]), ["<3@a>"]);
}

#[test]
fn other_fields_are_an_error_that_names_those_that_are_there() {
    let program = news();
    for (words, part) in [
        (
            &["--match", "Newsgroups:alt.x"][..],
            "Message-ID, References",
        ),
        (&["--match", "spam"], "From:spam"),
        (&["--match", "From:"], "empty"),
        (&["--since", "yesterday-ish"], "3 days"),
        (&[], "--match"),
    ] {
        let told = find(&program, words);
        assert_eq!(told.status, 64, "{words:?}: {told:?}");
        assert!(told.err.contains(part), "{words:?}: {told:?}");
    }
}

#[test]
fn all_segments_are_searched_and_damage_is_reported() {
    let program = Program::with_small_segments(ACTIVE, 4);
    for round in 0..3 {
        let name = format!("round{round}");
        program.rnews(&batch(&many(&name, 40, "comp.test", 100_000)));
    }
    let segments = |ending: &str| -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(program.path("news/segments")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        let mut found: Vec<_> = paths
            .filter(|path| path.to_string_lossy().ends_with(ending))
            .collect();
        found.sort();
        found
    };
    assert!(segments(".art").len() >= 3, "{:?}", segments(".art"));
    let all = ids(&program, &["--match", "Message-ID:.7@"]);
    let wanted: Vec<String> = (0..3)
        .map(|round| id(&format!("round{round}"), 7))
        .collect();
    assert_eq!(all, wanted);
    let first = segments(".ovr").remove(0);
    let mut bytes = std::fs::read(&first).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(&first, bytes).unwrap();
    let told = find(&program, &["--match", "Message-ID:.7@"]);
    assert_ne!(told.status, 0, "{told:?}");
    assert!(told.err.contains("damaged"), "{told:?}");
    assert!(told.out.contains("<round2.7@"), "{told:?}");
}
