//! An import that is killed goes on where it stopped: every article is filed once, under its number. What cannot be filed is kept and named.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use crate::program;

use program::Program;
use program::articles::{id, many, with};
use program::daemon::until;

/// The files of an INN with tradspool, made by hand: no INN is needed.
struct Made {
    program: Program,
    history: String,
}

impl Made {
    fn new() -> Made {
        let program = Program::new();
        for dir in [
            "inn/spool/articles/comp/test",
            "inn/spool/articles/alt/none",
        ] {
            fs::create_dir_all(program.path(dir)).unwrap();
        }
        let root = program.path("inn").display().to_string();
        let conf = format!(
            "pathhost: inn.example.org\npathetc: {root}\npathdb: {root}\npathspool: {root}/spool\n"
        );
        program.write("inn/inn.conf", conf.as_bytes());
        program.write("inn/active", b"comp.test 0000100000 0000000001 y\n");
        program.write("inn/expire.ctl", b"/remember/:10\n*:A:never:never:never\n");
        program.write("inn/spool/tradspool.map", b"comp/test 1\nalt/none 2\n");
        Made {
            program,
            history: String::new(),
        }
    }

    fn add(&mut self, article: &[u8], group: &str, number: usize) {
        let id = program::corpus::id(article);
        let xref = format!("Xref: inn.example.org {group}:{number}\n");
        let text = [xref.as_bytes(), article].concat();
        let folder = group.replace('.', "/");
        self.program
            .write(&format!("inn/spool/articles/{folder}/{number}"), &text);
        let class = if group == "comp.test" { 1 } else { 2 };
        let token = format!("@0500{class:08X}00000000{number:08X}00000000@");
        self.line(&id, &format!("\t{token}"));
    }

    fn line(&mut self, id: &str, token: &str) {
        let hash = store::seen_hashes::md5_of(id.as_bytes());
        let digits: String = hash.iter().map(|byte| format!("{byte:02X}")).collect();
        writeln!(self.history, "[{digits}]\t1700000000~-~1600000000{token}").unwrap();
    }

    fn done(self) -> Program {
        self.program.write("inn/history", self.history.as_bytes());
        self.program
    }
}

const IMPORT: [&str; 5] = ["import", "inn", "inn", "--dir", "news"];

#[test]
fn every_article_is_filed_once() {
    const COUNT: usize = 2000;
    let mut made = Made::new();
    for (number, article) in (1..).zip(many("k", COUNT, "comp.test", 3000)) {
        // The numbers fall now and then.
        let number = if number % 10 == 9 {
            number + 1
        } else if number % 10 == 0 {
            number - 1
        } else {
            number
        };
        made.add(&article, "comp.test", number);
        made.line(&format!("<seen.{number}@example.com>"), "");
    }
    let program = made.done();
    let told = program.run(&[&IMPORT[..], &["--settings-only"]].concat());
    assert_eq!(told.status, 0, "{told:?}");
    program.set_commit_bytes("32 KiB");
    let mut kills = 0;
    for round in 0..6 {
        let mut child = program
            .command(&IMPORT)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let before = fs::read(program.path("news/import.state")).unwrap_or_default();
        until("it goes on, or is done", || {
            fs::read(program.path("news/import.state")).unwrap_or_default() != before
                || child.try_wait().unwrap().is_some()
        });
        std::thread::sleep(Duration::from_millis(3 * round));
        kills += usize::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(kills > 0);
    let told = program.run(&IMPORT);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(!program.path("news/import.state").exists());
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    assert_eq!(rows.lines().count(), COUNT);
    for (number, row) in (1..).zip(rows.lines()) {
        let from = if number % 10 == 9 {
            number + 1
        } else if number % 10 == 0 {
            number - 1
        } else {
            number
        };
        assert!(row.starts_with(&format!("{number}\t")), "{row}");
        assert!(row.contains(&id("k", from)), "{row}");
    }
    let seen = fs::metadata(program.path("news/seen.hashes"))
        .unwrap()
        .len();
    assert_eq!(seen, 24 + 20 * COUNT as u64);
    program.assert_clean();
}

#[test]
fn what_cannot_be_filed_is_kept_and_named() {
    let mut made = Made::new();
    made.add(
        &with("<1@example.com>", "comp.test", "", b"one\n"),
        "comp.test",
        5,
    );
    made.add(
        &with("<2@example.com>", "alt.none", "", b"two\n"),
        "alt.none",
        5,
    );
    // Another article with a number that is taken: its file is elsewhere.
    let third = with("<3@example.com>", "comp.test", "", b"three\n");
    made.add(&third, "comp.test", 6);
    let text = [&b"Xref: inn.example.org comp.test:5\n"[..], &third].concat();
    made.program.write("inn/spool/articles/comp/test/6", &text);
    // The file of another article, one that is gone, and a line that is none.
    made.add(
        &with("<4@example.com>", "comp.test", "", b"four\n"),
        "comp.test",
        7,
    );
    made.program.write("inn/spool/articles/comp/test/7", &text);
    made.line(
        "<5@example.com>",
        "\t@050000000001000000000000006300000000@",
    );
    made.history.push_str("garbled\n");
    let program = made.done();
    let told = program.run(&[&IMPORT[..], &["--json"]].concat());
    assert_eq!(told.status, 1, "{told:?}");
    let answer: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    let counts = &answer["counts"];
    for (key, count) in [("filed", 1), ("unfiled", 3), ("gone", 1), ("garbled", 1)] {
        assert_eq!(counts[key], count, "{key}: {told:?}");
    }
    for part in [
        "<3@example.com>: number 5 of comp.test is taken",
        "<2@example.com>: none of its groups",
        "another article in its place",
    ] {
        assert!(told.err.contains(part), "{part}: {told:?}");
    }
    let kept = program.read("news/bad/import.unfiled");
    assert!(kept.contains("two\n") && kept.contains("three\n"));
    assert_eq!(kept.matches("#! rnews ").count(), 2);
    program.assert_clean();
}

#[test]
fn another_text_with_a_known_id_is_kept() {
    let mut made = Made::new();
    for (number, article) in (5..).zip(many("o", 2, "comp.test", 20)) {
        made.add(&article, "comp.test", number);
    }
    let program = made.done();
    assert_eq!(counts(&program, 0)["filed"], 2);
    let other = with(
        &id("o", 1),
        "comp.test",
        "Xref: inn.example.org comp.test:5\n",
        b"other\n",
    );
    program.write("inn/spool/articles/comp/test/5", &other);
    let counts = counts(&program, 1);
    assert_eq!(
        (&counts["known"], &counts["unfiled"]),
        (&1.into(), &1.into())
    );
    let refused = program.read("news/import.refused");
    assert!(
        refused.contains("<o.1@example.com>: another article with this id is here"),
        "{refused}"
    );
    assert!(
        program
            .read("news/bad/import.unfiled")
            .ends_with("\nother\n")
    );
}

fn counts(program: &Program, status: i32) -> serde_json::Value {
    let told = program.run(&[&IMPORT[..], &["--json"]].concat());
    assert_eq!(told.status, status, "{told:?}");
    let answer: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    answer["counts"].clone()
}

#[test]
fn a_last_line_without_a_newline_waits() {
    let mut made = Made::new();
    for (number, article) in (5..).zip(many("l", 2, "comp.test", 20)) {
        made.add(&article, "comp.test", number);
    }
    let whole = made.history.clone();
    // Cut after its dates, it looks like the line of an id that is only remembered.
    made.history.truncate(whole.rfind("\t@").unwrap());
    let program = made.done();
    let told = program.run(&IMPORT);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(
        told.err.contains("its last line has no newline"),
        "{told:?}"
    );
    assert!(told.out.contains("\n1 articles filed"), "{told:?}");
    program.write("inn/history", whole.as_bytes());
    let counts = counts(&program, 0);
    assert_eq!((&counts["filed"], &counts["known"]), (&1.into(), &1.into()));
    program.assert_clean();
}

#[test]
fn articles_that_an_earlier_run_did_not_find_are_filed() {
    let mut made = Made::new();
    for (number, article) in (5..).zip(many("m", 2, "comp.test", 20)) {
        made.add(&article, "comp.test", number);
    }
    let program = made.done();
    // Nothing of the spool is mounted, then one article, then both.
    let spool = program.path("inn/spool/articles/comp/test");
    let away = program.path("away");
    fs::rename(&spool, &away).unwrap();
    assert_eq!(counts(&program, 1)["gone"], 2);
    fs::create_dir_all(&spool).unwrap();
    fs::rename(away.join("5"), spool.join("5")).unwrap();
    assert_eq!(counts(&program, 0)["filed"], 1);
    fs::rename(away.join("6"), spool.join("6")).unwrap();
    let counts = counts(&program, 0);
    assert_eq!((&counts["filed"], &counts["known"]), (&1.into(), &1.into()));
    program.assert_clean();
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    assert_eq!(rows.lines().count(), 2, "{rows}");
    let article = &many("m", 2, "comp.test", 20)[1];
    let told = program.rnews(&program::articles::batch(std::slice::from_ref(article)));
    assert_eq!(told.count("duplicates"), 1);
}

#[test]
fn numbers_that_newsreaders_cannot_use_are_refused() {
    const HIGHEST: u64 = groups::active::READABLE_NUMBER_MAX;
    let mut made = Made::new();
    let numbers = [u64::MAX, HIGHEST + 1, HIGHEST];
    for (place, (number, article)) in (5..).zip(numbers.iter().zip(many("n", 3, "comp.test", 20))) {
        made.add(&article, "comp.test", place);
        let text = [
            format!("Xref: inn.example.org comp.test:{number}\n").as_bytes(),
            &article,
        ]
        .concat();
        let path = format!("inn/spool/articles/comp/test/{place}");
        made.program.write(&path, &text);
    }
    let program = made.done();
    let counts = counts(&program, 1);
    assert_eq!(
        (&counts["filed"], &counts["unfiled"]),
        (&0.into(), &3.into())
    );
    let refused = program.read("news/import.refused");
    assert_eq!(refused.matches("is too high").count(), 3, "{refused}");
    let new = with("<new@example.com>", "comp.test", "", b"x\n");
    let told = program.rnews(&program::articles::batch(&[new]));
    assert_eq!(told.count("accepted"), 1);
    program.assert_clean();
}
