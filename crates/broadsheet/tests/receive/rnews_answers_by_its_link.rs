//! A link called rnews, with BROADSHEET_DIR, files a batch as in 1987.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::io::Write;
use std::process::{Command, Stdio};

use program::articles::{article, batch};
use program::{Program, has_default_directory};

#[test]
fn from_standard_input_and_from_files() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    program.write("batch", &batch(&[article("<2@example.com>", "comp.test")]));
    for (name, words) in [
        ("rnews", vec![]),
        ("relaynews", vec!["batch"]),
        ("cunbatch", vec![]),
    ] {
        let link = program.path(name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_broadsheet"), &link).unwrap();
        let mut child = Command::new(&link)
            .args(&words)
            .current_dir(program.path(""))
            .env("BROADSHEET_DIR", program.path("news"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        if words.is_empty() {
            let id = format!("<{name}@example.com>");
            input
                .write_all(&batch(&[article(&id, "comp.test")]))
                .unwrap();
        }
        drop(input);
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{name}: {done:?}");
        assert!(
            done.stdout.is_empty() && done.stderr.is_empty(),
            "it is quiet: {done:?}"
        );
    }
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    assert_eq!(rows.lines().count(), 3, "{rows}");
}

/// The classic front end ran a program of that name; here the bytes tell.
#[test]
fn the_name_of_a_decompressor_has_no_effect() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let gzipped = |id: &str| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let text = batch(&[article(id, "comp.test")]);
        packer.write_all(&text).unwrap();
        packer.finish().unwrap()
    };
    for name in ["rnews", "relaynews", "cunbatch"] {
        let link = program.path(name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_broadsheet"), &link).unwrap();
    }
    for (name, words, id) in [
        ("rnews", &["-d", "gunzip"][..], "<1@x>"),
        ("rnews", &["-d", "gunzip", "--spool"], "<2@x>"),
        ("cunbatch", &["-d", "uncompress"], "<3@x>"),
    ] {
        let words = [&["--dir", "news"], words].concat();
        let told = program.run_as(&program.path(name), &words, &gzipped(id));
        assert_eq!((told.status, told.err.as_str()), (0, ""), "{name} {told:?}");
    }
    assert_eq!(program.run(&["newsrun", "--dir", "news"]).status, 0);
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    assert_eq!(rows.lines().count(), 3, "{rows}");
    // There it is a flag without a value, and the next word a batch.
    program.write("batch", &gzipped("<4@x>"));
    let told = program.run_as(
        &program.path("relaynews"),
        &["--dir", "news", "-d", "batch"],
        b"",
    );
    assert_eq!(told.status, 64, "{told:?}");
    assert!(told.err.contains("broadsheet explain"), "{told:?}");
    let told = program.run(&["relaynews", "--dir", "news", "-d", "batch"]);
    assert_eq!(told.status, 64, "{told:?}");
}

#[test]
fn without_a_news_directory_it_says_what_to_do() {
    let program = Program::new();
    let link = program.path("rnews");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_broadsheet"), &link).unwrap();
    if !has_default_directory("rnews without a news directory") {
        let told = program.run_as(&link, &[], b"");
        // Of a pipe: its sender keeps what he has.
        assert_eq!(told.status, 75);
        assert!(told.err.contains("BROADSHEET_DIR"), "{told:?}");
    }
    let told = program.run_as(&link, &["--dir", "nowhere"], b"");
    assert_ne!(told.status, 0);
    assert!(told.err.contains("broadsheet init"), "{told:?}");
}
