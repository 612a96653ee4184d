//! What lies in in.coming/ and is no good batch: links, directories, FIFOs, foreign names, damaged batches. Nothing of it
//! hangs newsrun or keeps the good ones from being filed.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::os::unix::fs::symlink;
use std::process::Command;

use program::Program;
use program::articles::{article, batch};

const ACTIVE: &str = "comp.test 0000000000 00001 y\n";

fn one(id: &str) -> Vec<u8> {
    batch(&[article(&format!("<{id}@example.com>"), "comp.test")])
}

#[test]
fn what_is_no_file_stays_and_is_told() {
    let program = Program::with_news(ACTIVE);
    program.write("elsewhere", &one("linked"));
    symlink(
        program.path("elsewhere"),
        program.path("news/in.coming/7501234560.t"),
    )
    .unwrap();
    std::fs::create_dir(program.path("news/in.coming/7501234561.t")).unwrap();
    let made = Command::new("mkfifo")
        .arg(program.path("news/in.coming/7501234562.t"))
        .status();
    assert!(made.unwrap().success());
    program.write("news/in.coming/7501234569.t", &one("good"));
    for run in 0..2 {
        let told = program.run(&["newsrun", "--dir", "news", "--json"]);
        assert_eq!(told.status, 2, "{told:?}");
        assert_eq!(told.count("left"), 3, "{told:?}");
        assert_eq!(told.count("accepted"), u64::from(run == 0));
        assert!(
            told.err.contains("7501234560.t: it is a symbolic link"),
            "{told:?}"
        );
        assert!(
            told.err.contains("7501234561.t: it is not a regular file"),
            "{told:?}"
        );
        assert!(
            told.err.contains("7501234562.t: it is not a regular file"),
            "{told:?}"
        );
    }
    assert_eq!(program.files("news/in.coming").len(), 3);
    assert!(program.path("elsewhere").exists());
}

#[test]
fn foreign_names_are_left_alone() {
    let program = Program::with_news(ACTIVE);
    let names = [
        "README",
        "nspool.123",
        "nntp.7501234560",
        ".7501234560.t",
        "07501234560.t",
        "x y\n",
    ];
    for name in names {
        program.write(&format!("news/in.coming/{name}"), &one("foreign"));
    }
    let told = program.run(&["newsrun", "--dir", "news", "--json"]);
    assert_eq!((told.status, told.count("articles")), (0, 0), "{told:?}");
    assert_eq!(told.err, "");
    assert_eq!(program.files("news/in.coming").len(), names.len());
    let told = program.run(&["status", "--dir", "news", "--json"]);
    assert_eq!(told.count("in_coming"), 0, "{told:?}");
}

#[test]
fn bad_batches_go_to_bad_and_the_others_are_filed() {
    let program = Program::with_news(ACTIVE);
    let good = one("first");
    let torn = &one("torn")[..40];
    let damaged = b"#! cunbatch\nthis was never compressed";
    let out_of_step = [&one("before")[..], b"garbage\n", &one("behind")].concat();
    for (name, text) in [
        ("7501234560.t", &good[..]),
        ("7501234561.t", torn),
        ("7501234562.Z", damaged),
        ("7501234563.t", &out_of_step),
        ("7501234564.t", &one("last")),
    ] {
        program.write(&format!("news/in.coming/{name}"), text);
    }
    let told = program.run(&["newsrun", "--dir", "news", "--json"]);
    assert_eq!(told.status, 2, "{told:?}");
    assert_eq!((told.count("files"), told.count("bad")), (5, 3), "{told:?}");
    assert_eq!(
        (told.count("left"), told.count("accepted")),
        (0, 4),
        "{told:?}"
    );
    assert!(program.files("news/in.coming").is_empty());
    let kept = program.files("news/bad");
    let texts: Vec<Vec<u8>> = kept
        .iter()
        .map(|path| std::fs::read(path).unwrap())
        .collect();
    for text in [torn, damaged, &out_of_step] {
        assert!(texts.iter().any(|kept| kept == text), "{kept:?}");
    }
    assert_eq!(kept.len(), 3);
    for name in ["7501234561.t", "7501234562.Z", "7501234563.t"] {
        assert!(told.err.contains(name), "{told:?}");
    }
    // Nothing is left to do.
    assert_eq!(program.run(&["newsrun", "--dir", "news"]).status, 0);
}

#[test]
fn what_a_killed_program_left_goes_after_a_day() {
    let program = Program::with_news(ACTIVE);
    for (name, age) in [("nspool.1", "2 days ago"), ("nspool.2", "1 hour ago")] {
        program.write(&format!("news/in.coming/{name}"), b"half a bat");
        let touched = Command::new("touch")
            .args(["-d", age])
            .arg(program.path(&format!("news/in.coming/{name}")))
            .status();
        assert!(touched.unwrap().success());
    }
    program.write("news/in.coming/7501234560.t", &one("good"));
    let told = program.run(&["newsrun", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(told.err.contains("nspool.1"), "{told:?}");
    assert_eq!(
        program.files("news/in.coming"),
        [program.path("news/in.coming/nspool.2")]
    );
}

#[test]
fn a_second_newsrun_goes_away_and_the_first_sees_what_came() {
    let program = Program::with_news(ACTIVE);
    program.write("news/in.coming/7501234560.t", &one("waits"));
    let turn = store::Lock::take_named(&program.path("news"), "lock.input", true).unwrap();
    let told = program.run(&["newsrun", "--dir", "news", "--json"]);
    assert_eq!((told.status, told.count("files")), (0, 0), "{told:?}");
    drop(turn);
    // A program that another test starts just now may have it for a moment more.
    drop(store::Lock::take_named(&program.path("news"), "lock.input", true).unwrap());

    let mut running: Vec<_> = (0..4)
        .map(|_| program.command(&["newsspool", "--dir", "news", "-i"]))
        .enumerate()
        .map(|(number, mut command)| {
            program.write(&format!("batch{number}"), &one(&number.to_string()));
            command.arg(program.path(&format!("batch{number}")));
            command.spawn().unwrap()
        })
        .collect();
    for child in &mut running {
        assert!(child.wait().unwrap().success());
    }
    // Whoever ended last has filed everything.
    assert!(program.files("news/in.coming").is_empty());
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    assert_eq!(rows.lines().count(), 5, "{rows}");
    program.assert_clean();
}
