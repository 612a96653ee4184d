//! What lies in a new directory is on the disk only when the name of the directory is: each one that a command makes for articles is synced
//! in the directory above it.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use program::articles::{batch, many};
use program::{Program, faults};

/// The directories that a command made and whose names it did not sync afterwards; and the number of those that it made.
fn unsynced(program: &Program, words: &[&str]) -> (BTreeSet<PathBuf>, usize) {
    let root = program.path("").canonicalize().unwrap();
    let mut strace = faults::strace(&root, "mkdir,mkdirat,fsync,syncfs", &["-f", "-y"]);
    strace.args(words).status().unwrap();
    let trace = std::fs::read_to_string(root.join("trace")).unwrap();
    let mut made = 0;
    let mut waiting = BTreeSet::new();
    for line in trace.lines().filter(|line| line.ends_with(" = 0")) {
        let between = |open, close| {
            let (_, rest) = line.split_once(open)?;
            Some(rest.split_once(close)?.0.to_owned())
        };
        if line.contains("syncfs") {
            waiting.clear();
        } else if line.contains("mkdir") {
            made += 1;
            waiting.insert(plain(&root.join(between('"', '"').unwrap())));
        } else if let Some(synced) = between('<', '>') {
            waiting.retain(|path| path.parent() != Some(Path::new(&synced)));
        }
    }
    (waiting, made)
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

#[test]
fn those_of_lists_and_trees() {
    if !faults::can_trace() {
        return;
    }
    for via in [
        "files = \"../new/deep/list\", form = \"n\"",
        "tree = \"../new/deep/tree\"",
    ] {
        let program = Program::with_news("comp.test 0000000000 00001 y\n");
        let site = format!("\n[[site]]\nname = \"west\"\ngroups = \"comp\"\nvia = {{ {via} }}\n");
        let settings = program.read("news/broadsheet.toml") + &site;
        program.write("news/broadsheet.toml", settings.as_bytes());
        program.write("batch", &batch(&many("a", 1, "comp.test", 50)));
        // It starts the program that feeds these sites at once.
        let (unsynced, made) = unsynced(&program, &["rnews", "--dir", "news", "batch"]);
        assert!(program.path("new/deep").is_dir());
        assert!(
            made >= 2 && unsynced.is_empty(),
            "{via}: {made} {unsynced:?}"
        );
    }
}

#[test]
fn that_of_bad_batches() {
    if !faults::can_trace() {
        return;
    }
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let _ = std::fs::remove_dir(program.path("news/bad"));
    program.write("garbage", &[0xfe; 10_000]);
    let (unsynced, made) = unsynced(&program, &["rnews", "--dir", "news", "garbage"]);
    assert_eq!((unsynced, made), (BTreeSet::new(), 1));
}
