//! Expire gets a news directory out of a disk that is full to the last byte, whatever happened before.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::os::unix::fs::MetadataExt;

use program::articles::{batch, many};
use program::daemon::Daemon;
use program::small::Small;
use program::{Program, Told};

const ACTIVE: &str = "comp.test 0000000000 00001 y\n";

fn has_reserve(program: &Program, dir: &str) -> bool {
    let told = std::fs::metadata(program.path(dir).join("reserve"));
    told.is_ok_and(|told| told.blocks() * 512 >= 2 << 20)
}

/// A news directory made on a small disk, which articles fill. `None` where no file system may be mounted.
fn full_disk() -> Option<(Program, Small)> {
    let program = Program::new();
    program.write("active.list", ACTIVE.as_bytes());
    std::fs::create_dir(program.path("news")).unwrap();
    let Some(small) = Small::mount(&program.path("news"), "24m") else {
        eprintln!("skipped: a full disk (no file system may be mounted here)");
        return None;
    };
    program.init("news", "news.example.org");
    program.keep_nothing_free();
    program.set_commit_bytes("128 KiB");
    // Several segments.
    let settings = program.read("news/broadsheet.toml");
    let smaller = settings
        .replace("segment_bytes = \"256 MiB\"", "segment_bytes = \"4 MiB\"")
        .replace(
            "article_bytes_max = \"8 MiB\"",
            "article_bytes_max = \"1 MiB\"",
        );
    program.write("news/broadsheet.toml", smaller.as_bytes());
    program.write("news/explist", b"/expired/ x 30 -\nall x 10 -\n");
    program.write("batch", &batch(&many("full", 3000, "comp.test", 5000)));
    let told = program.run(&["rnews", "--dir", "news", "batch"]);
    assert_eq!(told.status, 0, "{told:?}");
    small.fill(0);
    Some((program, small))
}

fn expire(program: &Program) -> Told {
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() + 30 * 86_400;
    program.run(&[
        "expire",
        "--dir",
        "news",
        "--force",
        "--now",
        &now.to_string(),
    ])
}

#[test]
fn before_the_first_expire() {
    let Some((program, small)) = full_disk() else {
        return;
    };
    assert!(has_reserve(&program, "news"));
    let told = expire(&program);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(told.out.contains("3000 articles removed"), "{told:?}");
    assert!(has_reserve(&program, "news"));
    program.assert_clean();
    drop(small);
}

/// (removed, of so many) of the line "N articles removed, X of Y links".
fn links(told: &Told) -> (u64, u64) {
    let line = told
        .out
        .lines()
        .find(|line| line.contains(" articles removed, "));
    let words: Vec<&str> = line
        .unwrap_or_else(|| panic!("{told:?}"))
        .split([' ', ','])
        .collect();
    let of = words.iter().position(|word| *word == "of").unwrap();
    (
        words[of - 1].parse().unwrap(),
        words[of + 1].parse().unwrap(),
    )
}

fn remains(program: &Program) -> Vec<std::path::PathBuf> {
    let mut files = program.files("news/segments");
    files.retain(|path| path.extension().is_some_and(|end| end == "remake"));
    files
}

#[test]
fn after_a_failed_rebuild() {
    let Some((program, small)) = full_disk() else {
        return;
    };
    let told = program.run(&["history", "rebuild", "--dir", "news"]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(told.err.contains("make room"), "{told:?}");
    assert!(!told.err.contains("batch"), "{told:?}");
    assert!(remains(&program).is_empty());
    assert!(!program.path("news/index").exists());
    small.make_room();
    small.fill(0);
    let told = expire(&program);
    assert_eq!(told.status, 0, "{told:?}");
    let (removed, of) = links(&told);
    assert!(removed == 3000 && of >= removed, "{told:?}");
    assert!(has_reserve(&program, "news"));
    program.assert_clean();
    drop(small);
}

#[test]
fn files_of_a_killed_rebuild_go_with_the_next_start() {
    let program = Program::with_news(ACTIVE);
    program.write("news/segments/00000000000000004096.ovr.remake", b"rows");
    std::fs::remove_file(program.path("news/index")).unwrap();
    let told = program.rnews(&batch(&many("one", 1, "comp.test", 10)));
    assert_eq!(told.status, 0, "{told:?}");
    assert!(remains(&program).is_empty());
}

#[test]
fn a_restored_directory_has_the_reserve_and_so_has_one_that_a_daemon_serves() {
    let program = Program::with_news(ACTIVE);
    for words in [
        ["backup", "--dir", "news", "kept"],
        ["restore", "--dir", "again", "kept"],
    ] {
        let told = program.run(&words);
        assert_eq!(told.status, 0, "{told:?}");
    }
    assert!(has_reserve(&program, "again"));
    std::fs::remove_file(program.path("news/reserve")).unwrap();
    let daemon = Daemon::start(&program);
    assert!(has_reserve(&program, "news"));
    daemon.stop();
}
