//! `rnews --sync each|commit|none`: the same articles are filed; how often they are forced to the disk differs.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::process::Command;

use program::Program;
use program::articles::{batch, many};

const ARTICLES: usize = 20;

fn news() -> Program {
    Program::with_news("comp.test 0000000000 00001 y\n")
}

#[test]
fn each_files_the_same() {
    let text = batch(&many("a", ARTICLES, "comp.test", 100));
    let mut rows = Vec::new();
    for how in ["each", "commit", "none"] {
        let program = news();
        let told = program.feed(&["rnews", "--dir", "news", "--json", "--sync", how], &text);
        assert_eq!(
            (told.status, told.count("accepted")),
            (0, ARTICLES as u64),
            "{how}: {told:?}"
        );
        program.assert_clean();
        rows.push(program.run(&["overview", "--dir", "news", "comp.test"]).out);
        assert_eq!(
            program.rnews(&text).count("duplicates"),
            ARTICLES as u64,
            "{how}"
        );
    }
    assert!(rows[0] == rows[1] && rows[1] == rows[2]);
    assert_eq!(
        news()
            .feed(&["rnews", "--dir", "news", "--sync", "often"], b"")
            .status,
        64
    );
}

#[test]
fn syncs_are_counted() {
    let traces = Command::new("strace").args(["-f", "true"]).output();
    if !traces.is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: counting syncs (strace is not present, or may not trace)");
        return;
    }
    let syncs = |how: &str| {
        let program = news();
        program.write("batch", &batch(&many("a", ARTICLES, "comp.test", 100)));
        let done = Command::new("strace")
            .args([
                "-f",
                "-o",
                "trace",
                "-e",
                "trace=fdatasync,fsync,sync_file_range",
            ])
            .args([
                env!("CARGO_BIN_EXE_broadsheet"),
                "rnews",
                "--dir",
                "news",
                "--sync",
                how,
                "batch",
            ])
            .current_dir(program.path(""))
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
        let trace = program.read("trace");
        trace
            .lines()
            .filter(|line| line.contains("fdatasync("))
            .count()
    };
    let (each, commit, none) = (syncs("each"), syncs("commit"), syncs("none"));
    assert!(each >= ARTICLES, "one for each article: {each}");
    assert!((1..ARTICLES).contains(&commit), "one for all: {commit}");
    assert!(none < commit || none == 0, "{none}");
}
