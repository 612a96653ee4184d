//! A FIFO in the place of a file of the news directory: commands end, and name it.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::path::Path;
use std::process::Command;

use program::articles::{batch, many};
use program::{Program, Told};

/// Runs a command for 30 seconds at most; after that its status is 124.
fn run(program: &Program, words: &[&str], input: &[u8]) -> Told {
    let words = [&["30", env!("CARGO_BIN_EXE_broadsheet")], words].concat();
    program.run_as(Path::new("/usr/bin/timeout"), &words, input)
}

#[test]
fn whatever_file_it_stands_for() {
    let site = "\n[[site]]\nname = \"west\"\ngroups = \"comp\"\nvia = { directory = \"../west\", size = \"10 kB\" }\n";
    for name in [
        "cancels",
        "cancels.early",
        "checkgroups.serials",
        "expired",
        "index",
        "index.key",
        "active",
        "active.times",
        "newsgroups",
        "sys",
        "feeds.names",
        "sites.known",
        "feeds/west/cursor",
        ".art",
        ".his",
        ".ovr",
    ] {
        let program = Program::with_news("comp.test 0000000000 00001 y\n");
        let settings = program.read("news/broadsheet.toml") + site;
        program.write("news/broadsheet.toml", settings.as_bytes());
        let text = batch(&many("a", 1, "comp.test", 100));
        assert_eq!(program.rnews(&text).status, 0);
        let path = match name.strip_prefix('.') {
            None => program.path("news").join(name),
            Some(end) => program
                .files("news/segments")
                .into_iter()
                .find(|path| path.extension().is_some_and(|known| known == end))
                .unwrap(),
        };
        let _ = std::fs::remove_file(&path);
        let made = Command::new("mkfifo")
            .args(["-m", "666"])
            .arg(&path)
            .status();
        assert!(made.unwrap().success(), "{}", path.display());
        let more = batch(&many("b", 1, "comp.test", 100));
        for (words, input) in [
            (&["fsck", "--dir", "news"][..], &b""[..]),
            (&["rnews", "--dir", "news"], &more),
            (&["feed", "list", "--dir", "news"], b""),
            (&["overview", "--dir", "news", "comp.test"], b""),
            (&["check", "--dir", "news"], b""),
            (&["fsck", "--repair", "--dir", "news"], b""),
        ] {
            let told = run(&program, words, input);
            assert_ne!(told.status, 124, "{name} {words:?}: {told:?}");
            assert_ne!(told.status, 101, "{name} {words:?}: {told:?}");
            println!("{name} {words:?}: {} {}", told.status, told.err.trim_end());
        }
    }
}
