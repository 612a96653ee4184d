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
