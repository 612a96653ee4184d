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

/// The directories and files that a command synced.
fn synced(program: &Program, words: &[&str]) -> BTreeSet<PathBuf> {
    let root = program.path("").canonicalize().unwrap();
    let mut strace = faults::strace(&root, "fsync", &["-f", "-y"]);
    assert!(strace.args(words).status().unwrap().success(), "{words:?}");
    let trace = std::fs::read_to_string(root.join("trace")).unwrap();
    let paths = trace.lines().filter_map(|line| {
        let (_, rest) = line.split_once('<')?;
        Some(PathBuf::from(rest.split_once('>')?.0))
    });
    paths.collect()
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

#[test]
fn that_of_backups() {
    if !faults::can_trace() {
        return;
    }
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    program.write("batch", &batch(&many("a", 1, "comp.test", 50)));
    let words = ["backup", "backups", "--dir", "news"];
    let (unsynced, made) = unsynced(&program, &words);
    assert!(made >= 2 && unsynced.is_empty(), "{made} {unsynced:?}");
    // One that was interrupted before it had a list.
    let root = program.path("").canonicalize().unwrap();
    std::fs::remove_dir_all(program.path("backups")).unwrap();
    std::fs::create_dir(program.path("backups")).unwrap();
    assert!(synced(&program, &words).contains(&root));
    assert!(!synced(&program, &words).contains(&root));
}

/// A run of expire that was killed made them, and let no article go.
#[test]
fn those_of_archives_that_a_killed_run_made() {
    if !faults::can_trace() {
        return;
    }
    for is_there in [false, true] {
        let program = Program::with_news("comp.test 0000000000 00001 y\n");
        let table = "\n[[expire]]\npatterns = \"all\"\nkeep_days = 10\narchive = \"../old\"\n";
        let settings = program.read("news/broadsheet.toml") + table;
        program.write("news/broadsheet.toml", settings.as_bytes());
        assert_eq!(
            program.rnews(&batch(&many("a", 1, "comp.test", 50))).status,
            0
        );
        std::fs::create_dir_all(program.path("old/comp/test")).unwrap();
        if is_there {
            let article = program.run_bytes(&["article", "--dir", "news", "comp.test/1"]);
            program.write("old/comp/test/1", &article);
        }
        let later = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() + 11 * 86_400;
        let later = later.to_string();
        let words = ["expire", "--dir", "news", "--force", "--now", &later];
        let synced = synced(&program, &words);
        let root = program.path("").canonicalize().unwrap();
        for level in ["old/comp/test", "old/comp", "old"] {
            assert!(synced.contains(&root.join(level)), "{level}: {synced:?}");
        }
        assert!(program.path("old/comp/test/1").exists());
    }
}

#[test]
fn that_of_a_second_news_directory_that_a_killed_run_made() {
    if !faults::can_trace() {
        return;
    }
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let tables = "\n[expiry]\narchive_directory = \"../archives/old\"\n[[expire]]\npatterns = \"all\"\nkeep_days = 10\narchive = \"segments\"\n";
    let settings = program.read("news/broadsheet.toml") + tables;
    program.write("news/broadsheet.toml", settings.as_bytes());
    std::fs::create_dir(program.path("archives")).unwrap();
    let root = program.path("").canonicalize().unwrap();
    let later = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs() + 11 * 86_400;
    let later = later.to_string();
    let words = ["expire", "--dir", "news", "--force", "--now", &later];
    for prefix in ["a", "b"] {
        let batch = batch(&many(prefix, 1, "comp.test", 50));
        assert_eq!(program.rnews(&batch).status, 0);
        assert!(synced(&program, &words).contains(&root.join("archives")));
        assert!(program.path("archives/old/segments").is_dir());
    }
}
