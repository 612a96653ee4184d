//! rnews, readers and expire at the same time: all go on, nothing is lost but what should go, and nothing is damaged.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::UNIX_EPOCH;

use program::articles::{batch, id, many};
use program::{Program, Told};

const ACTIVE: &str = "control 0 1 n\njunk 0 1 n\ngo.fast 0 1 y\nstay.here 0 1 y\n";
/// Batches, and articles of each in either group.
const BATCHES: usize = 40;
const ARTICLES: usize = 40;

/// With segments so small that many are sealed, and go.
fn news() -> Program {
    let program = Program::with_small_segments(ACTIVE, 1);
    upact(&program);
    assert_eq!(program.run(&["check", "--dir", "news"]).status, 0);
    program.write(
        "news/explist",
        b"/expired/ x never -\ngo.fast x 1 -\nall x never -\n",
    );
    program
}

fn file_all(program: &Program) {
    for number in 0..BATCHES {
        let mut articles = many(&format!("go{number}"), ARTICLES, "go.fast", 2000);
        articles.extend(many(&format!("stay{number}"), ARTICLES, "stay.here", 100));
        let told = program.rnews(&batch(&articles));
        assert_eq!(
            (told.status, told.count("accepted")),
            (0, 2 * ARTICLES as u64),
            "{told:?}"
        );
    }
}

/// All that is there has come long ago: what may go goes.
fn expire(program: &Program) -> Told {
    let later = (UNIX_EPOCH.elapsed().unwrap().as_secs() + 10 * 86_400).to_string();
    let told = program.run(&[
        "expire", "--dir", "news", "--now", &later, "--force", "--json",
    ]);
    assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
    told
}

/// No mark may rise above an article that came meanwhile.
fn upact(program: &Program) {
    let told = program.run(&["upact", "--dir", "news"]);
    assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
}

/// Numbers of a group, as readers see them.
fn numbers(program: &Program, group: &str) -> Vec<u64> {
    let told = program.run(&["overview", "--dir", "news", group]);
    assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
    let number = |row: &str| row.split('\t').next().unwrap().parse().unwrap();
    told.out.lines().map(number).collect()
}

/// Ends the other loops, also when filing failed.
struct Until<'f>(&'f AtomicBool);

impl Drop for Until<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

#[test]
fn each_finishes_its_work() {
    let program = news();
    let filing = AtomicBool::new(true);
    let gone = AtomicUsize::new(0);
    let runs = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _until = Until(&filing);
            file_all(&program);
        });
        scope.spawn(|| {
            while filing.load(Ordering::SeqCst) {
                let went = expire(&program).count("articles");
                gone.fetch_add(went as usize, Ordering::SeqCst);
                runs.fetch_add(1, Ordering::SeqCst);
            }
        });
        scope.spawn(|| {
            while filing.load(Ordering::SeqCst) {
                upact(&program);
            }
        });
        scope.spawn(|| {
            let mut stayed = 0;
            while filing.load(Ordering::SeqCst) {
                let here = numbers(&program, "stay.here");
                assert!(
                    here.iter().copied().eq(1..=here.len() as u64),
                    "all from the first on: {here:?}"
                );
                assert!(here.len() >= stayed, "none of these goes");
                stayed = here.len();
                numbers(&program, "go.fast");
            }
        });
    });
    let all = BATCHES * ARTICLES;
    let (gone, runs) = (gone.into_inner(), runs.into_inner());
    eprintln!("{runs} runs of expire, {gone} of {all} gone before the end");
    assert!(runs > 1 && gone > 0, "expire ran while rnews did");
    let last = expire(&program).count("articles") as usize;
    assert_eq!(gone + last, all, "each goes once");
    assert_eq!(expire(&program).count("articles"), 0);
    assert!(numbers(&program, "go.fast").is_empty());
    assert_eq!(numbers(&program, "stay.here").len(), all);
    program.assert_clean();
    let last = id(&format!("go{}", BATCHES - 1), ARTICLES);
    assert_eq!(program.run(&["article", "--dir", "news", &last]).status, 1);
    assert_eq!(
        program
            .run(&["history", "find", "--dir", "news", &last])
            .status,
        0,
        "remembered"
    );
    let active = program.read("news/active");
    let marks = |group: &str| -> Vec<usize> {
        let line = active.lines().find(|line| line.starts_with(group)).unwrap();
        let words = line.split(' ').skip(1);
        words.filter_map(|word| word.parse().ok()).collect()
    };
    assert_eq!(marks("go.fast "), [all, all + 1]);
    assert_eq!(marks("stay.here "), [all, 1]);
    // What is left can be made again from the articles.
    assert_eq!(
        program.run(&["history", "rebuild", "--dir", "news"]).status,
        0
    );
    assert!(numbers(&program, "go.fast").is_empty());
    assert_eq!(numbers(&program, "stay.here").len(), all);
    program.assert_clean();
}

/// Nothing stays, so whole segments are removed under the readers' hands.
#[test]
fn segments_go_while_others_look() {
    let program = news();
    // Their history goes as well.
    program.write("news/explist", b"/expired/ x 0 -\nall x 1 -\n");
    let filing = AtomicBool::new(true);
    let removed = AtomicUsize::new(0);
    let expire = || {
        let told = expire(&program).count("segments_removed");
        removed.fetch_add(told as usize, Ordering::SeqCst);
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _until = Until(&filing);
            for number in 0..BATCHES {
                let articles = many(&format!("go{number}"), ARTICLES, "go.fast", 20_000);
                let told = program.rnews(&batch(&articles));
                assert_eq!(told.count("accepted"), ARTICLES as u64, "{told:?}");
            }
        });
        scope.spawn(|| {
            while filing.load(Ordering::SeqCst) {
                expire();
            }
        });
        scope.spawn(|| {
            while filing.load(Ordering::SeqCst) {
                upact(&program);
            }
        });
        scope.spawn(|| {
            while filing.load(Ordering::SeqCst) {
                numbers(&program, "go.fast");
                let told = program.run(&["history", "find", "--dir", "news", &id("go0", 1)]);
                assert!(told.status < 2, "{told:?}");
                let told = program.run(&["history", "dump", "--dir", "news"]);
                assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
            }
        });
    });
    expire();
    let removed = removed.into_inner();
    assert!(removed > 1, "segments went: {removed}");
    assert!(numbers(&program, "go.fast").is_empty());
    let whole = |path: &std::path::PathBuf| path.extension().is_some_and(|end| end == "art");
    let left = program
        .files("news/segments")
        .into_iter()
        .filter(whole)
        .count();
    assert!(left <= 2, "{left} segments left");
    program.assert_clean();
}
