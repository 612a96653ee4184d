//! Batches in in.coming/ are filed by grade, then by time; `newsrunning off` holds up all but grade 0; and only what was
//! asked for is filed.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::articles::{article, batch};
use program::{Program, Told};

const ACTIVE: &str = "comp.test 0000000000 00001 y\n";

fn one(id: &str) -> Vec<u8> {
    batch(&[article(&format!("<{id}@example.com>"), "comp.test")])
}

fn newsrun(program: &Program, words: &[&str]) -> Told {
    let mut all = vec!["newsrun", "--dir", "news", "--json"];
    all.extend(words);
    program.run(&all)
}

/// The ids in the order they were filed, without `@example.com`.
fn filed(program: &Program) -> Vec<String> {
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    let id = |row: &str| row.split('\t').nth(4).unwrap().to_owned();
    rows.lines()
        .map(id)
        .map(|id| id.trim_matches(['<', '>']).replace("@example.com", ""))
        .collect()
}

#[test]
fn by_grade_then_by_time() {
    let program = Program::with_news(ACTIVE);
    for (name, id) in [
        ("7501234560.t", "none.old"),
        ("7501234570.t", "none.new"),
        ("9.7501234560.t", "nine"),
        ("4.7501234580.t", "four.late"),
        ("4.750123456b.t", "four.second"),
        ("4.750123456a.t", "four.first"),
        ("0.7501234590.t", "zero"),
    ] {
        program.write(&format!("news/in.coming/{name}"), &one(id));
    }
    let told = newsrun(&program, &[]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!((told.count("files"), told.count("accepted")), (7, 7));
    let right = [
        "zero",
        "four.first",
        "four.second",
        "four.late",
        "nine",
        "none.old",
        "none.new",
    ];
    assert_eq!(filed(&program), right);
    assert!(program.files("news/in.coming").is_empty());
    program.assert_clean();
}

#[test]
fn four_comes_before_none_as_newsspool_names_them() {
    let program = Program::with_news(ACTIVE);
    let spool = |words: &[&str], id: &str| {
        let mut all = vec!["newsspool", "--dir", "news"];
        all.extend(words);
        let told = program.feed(&all, &one(id));
        assert_eq!(told.status, 0, "{told:?}");
        assert_eq!((told.out.as_str(), told.err.as_str()), ("", ""));
    };
    spool(&[], "none");
    spool(&["-g", "4"], "four");
    spool(&["-g0"], "zero");
    assert_eq!(program.files("news/in.coming").len(), 3);
    assert_eq!(newsrun(&program, &[]).status, 0);
    assert_eq!(filed(&program), ["zero", "four", "none"]);

    let told = program.feed(&["newsspool", "--dir", "news", "-g", "10"], &one("no"));
    assert_eq!(told.status, 64, "{told:?}");
}

#[test]
fn only_what_was_asked_for() {
    let program = Program::with_news(ACTIVE);
    for (name, id) in [
        ("7501234560.t", "none"),
        ("0.7501234560.t", "zero"),
        ("3.7501234560.t", "three"),
        ("3.7501234560.x", "x"),
    ] {
        program.write(&format!("news/in.coming/{name}"), &one(id));
    }
    assert_eq!(newsrun(&program, &["-s", "x"]).count("files"), 1);
    assert_eq!(newsrun(&program, &["03"]).count("files"), 2);
    assert_eq!(filed(&program), ["x", "zero", "three"]);
    assert_eq!(newsrun(&program, &["all"]).status, 64);
    assert_eq!(newsrun(&program, &[]).count("files"), 1);
}

#[test]
fn off_holds_up_all_but_grade_zero() {
    let program = Program::with_news(ACTIVE);
    let newsrunning = |words: &[&str]| {
        let mut all = vec!["newsrunning", "--dir", "news"];
        all.extend(words);
        let told = program.run(&all);
        assert_eq!(told.status, 0, "{told:?}");
        told.out
    };
    assert_eq!(newsrunning(&[]), "on\n");
    newsrunning(&["off"]);
    newsrunning(&["off"]);
    assert_eq!(newsrunning(&[]), "off\n");
    program.write("news/in.coming/7501234560.t", &one("none"));
    program.write("news/in.coming/1.7501234560.t", &one("one"));
    program.write("news/in.coming/0.7501234560.t", &one("zero"));
    let told = newsrun(&program, &[]);
    assert_eq!((told.status, told.count("files")), (0, 1), "{told:?}");
    assert_eq!(filed(&program), ["zero"]);
    newsrunning(&["on"]);
    assert_eq!(newsrunning(&[]), "on\n");
    assert_eq!(newsrun(&program, &[]).count("files"), 2);
    assert_eq!(filed(&program), ["zero", "one", "none"]);
    assert_eq!(
        program.run(&["newsrunning", "--dir", "news", "of"]).status,
        64
    );
}

#[test]
fn many_small_ones_share_commits_and_all_arrive() {
    let program = Program::with_news(ACTIVE);
    for number in 0..333 {
        let name = format!("news/in.coming/{}0.t", 750_123_456 + number);
        program.write(&name, &one(&number.to_string()));
    }
    let told = newsrun(&program, &[]);
    assert_eq!((told.count("files"), told.count("accepted")), (333, 333));
    let right: Vec<String> = (0..333).map(|number| number.to_string()).collect();
    assert_eq!(filed(&program), right);
    program.assert_clean();
}
