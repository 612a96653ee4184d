//! find, grep, tar and rsync over a mount, alone and while articles arrive, expire and are cancelled.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::program;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use program::Program;
use program::articles::{batch, id, with};
use program::daemon::Over;
use program::mounted::Mounted;

const ACTIVE: &str = "comp.lang.c 0 1 y\ncomp.lang.rust 0 1 y\nsci.math 0 1 y\n";

/// The article with a number: in one group or two, the last line says which it is.
fn made(number: usize) -> Vec<u8> {
    let groups = ["comp.lang.c", "comp.lang.c,comp.lang.rust", "sci.math"][number % 3];
    let body = format!(
        "{}\n.a dot\nend of {number}\n",
        "text ".repeat(number % 700)
    );
    with(&id("t", number), groups, "", body.as_bytes())
}

fn file(program: &Program, numbers: std::ops::Range<usize>) {
    let articles: Vec<_> = numbers.map(made).collect();
    let told = program.rnews(&batch(&articles));
    assert_eq!(told.count("accepted"), articles.len() as u64, "{told:?}");
}

fn run(program: &Program, words: &[&str]) -> Output {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(program.path(""));
    command.env("LC_ALL", "C").output().unwrap()
}

/// The files below a directory that are articles, by path.
fn articles_below(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(next) = directories.pop() {
        for entry in std::fs::read_dir(&next).unwrap() {
            let entry = entry.unwrap();
            let (path, name) = (entry.path(), entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                directories.push(path);
            } else if name.to_str().unwrap().parse::<u64>().is_ok() {
                let name = path.strip_prefix(directory).unwrap().to_str().unwrap();
                found.insert(name.to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn each_finds_everything() {
    let program = Program::with_news(ACTIVE);
    file(&program, 0..60);
    let Some(mounted) = Mounted::start(&program, &[]) else {
        return;
    };
    let expected = articles_below(&mounted.at);
    // Twenty are cross-posted.
    assert_eq!(expected.len(), 80);

    let found = run(
        &program,
        &["find", "spool", "-type", "f", "-name", "[0-9]*"],
    );
    assert_eq!(
        String::from_utf8_lossy(&found.stdout).lines().count(),
        80,
        "{found:?}"
    );
    let links = run(
        &program,
        &["find", "spool", "-links", "2", "-name", "[0-9]*"],
    );
    assert_eq!(
        String::from_utf8_lossy(&links.stdout).lines().count(),
        40,
        "{links:?}"
    );
    let found = run(&program, &["grep", "-rlx", "end of 31", "spool"]);
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    let mut found: Vec<_> = found.lines().collect();
    found.sort_unstable();
    assert_eq!(found, ["spool/comp/lang/c/22", "spool/comp/lang/rust/11"]);
    let links = run(&program, &["find", "spool", "-samefile", found[0]]);
    assert_eq!(
        String::from_utf8_lossy(&links.stdout).lines().count(),
        2,
        "{links:?}"
    );

    // The cross-posted are links in the archive, and in what comes out of it.
    std::fs::create_dir(program.path("out")).unwrap();
    let told = run(&program, &["tar", "-cf", "spool.tar", "-C", "spool", "."]);
    assert!(told.status.success(), "{told:?}");
    let told = run(&program, &["tar", "-xf", "spool.tar", "-C", "out"]);
    assert!(told.status.success(), "{told:?}");
    assert_eq!(articles_below(&program.path("out")), expected);
    let links = run(&program, &["find", "out", "-links", "2", "-name", "[0-9]*"]);
    assert_eq!(
        String::from_utf8_lossy(&links.stdout).lines().count(),
        40,
        "{links:?}"
    );
    let told = run(&program, &["tar", "-df", "spool.tar", "-C", "spool"]);
    assert!(told.status.success(), "{told:?}");

    if Command::new("rsync").arg("--version").output().is_err() {
        eprintln!("skipped: rsync from a mount (rsync is not there)");
        return;
    }
    let told = run(&program, &["rsync", "-aHc", "spool/", "copy"]);
    assert!(told.status.success(), "{told:?}");
    assert_eq!(articles_below(&program.path("copy")), expected);
    // Once more by size and time: nothing is new.
    let told = run(&program, &["rsync", "-aHi", "spool/", "copy"]);
    assert!(told.status.success(), "{told:?}");
    assert_eq!(String::from_utf8_lossy(&told.stdout), "", "{told:?}");
}

/// Articles arrive, and the old ones expire, until this is dropped.
fn change(program: &Program, over: &AtomicBool, rounds: &AtomicUsize) {
    let policy = "comp.lang.c x never -\nall x 1 -\n";
    program.write("news/explist", policy.as_bytes());
    let mut next = 1000;
    while !over.load(Ordering::SeqCst) {
        file(program, next..next + 30);
        next += 30;
        let cancel = format!("Control: cancel {}\n", id("t", next - 30 + 2));
        let cancel = with(&id("c", next), "sci.math", &cancel, b"gone\n");
        assert_eq!(program.rnews(&batch(&[cancel])).status, 0);
        let words = ["expire", "--dir", "news", "--now", "4102444800", "--force"];
        let told = program.run(&words);
        assert_eq!(told.status, 0, "{told:?}");
        rounds.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn articles_arrive_and_expire_meanwhile() {
    let program = Program::with_classic_cancels(ACTIVE);
    file(&program, 0..60);
    // The kernel keeps nothing: what is gone is gone at once.
    let Some(mounted) = Mounted::start(&program, &["--cache-seconds", "0"]) else {
        return;
    };
    let (over, rounds) = (AtomicBool::new(false), AtomicUsize::new(0));
    let kept = articles_below(&mounted.path("comp/lang/c"));
    assert_eq!(kept.len(), 40);
    std::thread::scope(|scope| {
        let changes = scope.spawn(|| change(&program, &over, &rounds));
        let end = Over(&over);
        let mut passes = 0;
        while (passes < 3 || rounds.load(Ordering::SeqCst) < 6) && !changes.is_finished() {
            passes += 1;
            // What stays is always found; what comes and goes may vanish while they look at it.
            let found = run(&program, &["find", "spool", "-type", "f", "-size", "-64k"]);
            let found = String::from_utf8_lossy(&found.stdout).into_owned();
            let found = found
                .lines()
                .filter(|path| path.starts_with("spool/comp/lang/c/"));
            assert!(found.count() > 40);
            let found = run(&program, &["grep", "-rsx", "end of 31", "spool"]);
            let found = String::from_utf8_lossy(&found.stdout).into_owned();
            assert!(
                found.contains("spool/comp/lang/c/22:end of 31\n"),
                "{found}"
            );
            let out = format!("out{passes}");
            std::fs::create_dir(program.path(&out)).unwrap();
            let words = [
                "tar",
                "-cf",
                "some.tar",
                "--exclude=.overview",
                "-C",
                "spool",
                ".",
            ];
            let told = run(&program, &words);
            // 1: something changed or vanished.
            assert!(matches!(told.status.code(), Some(0 | 1)), "{told:?}");
            let told = run(&program, &["tar", "-xf", "some.tar", "-C", &out]);
            assert!(told.status.success(), "{told:?}");
            let copied = articles_below(&program.path(&format!("{out}/comp/lang/c")));
            for (name, text) in &kept {
                assert_eq!(copied.get(name), Some(text), "{name}");
            }
            // Nothing is half an article.
            for text in articles_below(&program.path(&out)).values() {
                assert!(text.ends_with(b"\n") && text.windows(7).any(|part| part == b"\nSubjec"));
            }
        }
        drop(end);
        changes.join().unwrap();
    });
    assert_eq!(articles_below(&mounted.at), {
        // As another mount sees it that has seen nothing before.
        let fresh = Program::new();
        std::os::unix::fs::symlink(program.path("news"), fresh.path("news")).unwrap();
        let second = Mounted::start(&fresh, &[]).expect("as the first");
        articles_below(&second.at)
    });
}
