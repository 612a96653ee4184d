//! `segments offload` and `segments fetch` killed before each system call that changes something: every article is there, and the next run
//! leaves the objects that segments name, and no others.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::fs;
use std::path::Path;

use program::Program;
use program::articles::{batch, filed, id, many};
use program::faults::{calls, can_trace, copy, inject, rounds, strace};

const CALLS: &str = "openat,pwrite64,write,fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat,ftruncate,mkdir,mkdirat,flock";
const ARTICLES: usize = 8;

fn objects(root: &Path) -> usize {
    let names = fs::read_dir(root.join("objects/news.example.org/segments"));
    names.map_or(0, Iterator::count)
}

fn killed(word: &str) {
    if !can_trace() {
        return;
    }
    let program = Program::with_small_segments("comp.test 0000000000 00001 y\n", 2);
    fs::create_dir(program.path("objects")).unwrap();
    let url = format!("url = \"file://{}\"", program.path("objects").display());
    program.set("url = \"\"", &url);
    let articles = many("old", ARTICLES, "comp.test", 400 << 10);
    for article in &articles {
        program.rnews(&batch(std::slice::from_ref(article)));
    }
    let words = [
        &["segments", word, "--dir", "news"][..],
        match word {
            "fetch" => &["--all"],
            _ => &["4096"],
        },
    ]
    .concat();
    if word == "fetch" {
        let told = program.run(&["segments", "offload", "--dir", "news", "4096"]);
        assert_eq!(told.status, 0, "{}", told.err);
    }
    let root = program.path("");
    copy(&root.join("news"), &root.join("news.before"));
    copy(&root.join("objects"), &root.join("objects.before"));
    let again = || {
        copy(&root.join("news.before"), &root.join("news"));
        copy(&root.join("objects.before"), &root.join("objects"));
    };
    let ended = strace(&root, CALLS, &["-f"]).args(&words).status().unwrap();
    assert!(ended.success());
    let all = calls(&root, "objects.unnamed");
    assert!(all.len() > 10, "{all:?}");
    let step = (all.len() / rounds(60)).max(1);
    for (name, count) in all.into_iter().step_by(step) {
        again();
        let fault = inject(&name, "signal=KILL", count);
        let ended = strace(&root, CALLS, &["-f", "-e", &fault])
            .args(&words)
            .status();
        assert!(!ended.unwrap().success(), "{name} {count}");
        for (place, article) in articles.iter().enumerate() {
            let told = program.run(&["article", "--dir", "news", &id("old", place + 1)]);
            let expected = filed(article, &format!("comp.test:{}", place + 1));
            assert!(
                told.out.as_bytes() == expected,
                "{name} {count}: {}",
                told.err
            );
        }
        let told = program.run(&words);
        assert_eq!(told.status, 0, "{name} {count}: {}", told.err);
        // The next run deletes objects that no segment names.
        let wanted = usize::from(word == "offload");
        if objects(&root) != wanted {
            let told = program.run(&["segments", "offload", "--dir", "news", "1"]);
            assert_eq!(told.status, 0, "{name} {count}: {}", told.err);
        }
        assert_eq!(objects(&root), wanted, "{name} {count}");
        program.assert_clean();
    }
}

#[test]
fn moving_away() {
    killed("offload");
}

#[test]
fn coming_back() {
    killed("fetch");
}
