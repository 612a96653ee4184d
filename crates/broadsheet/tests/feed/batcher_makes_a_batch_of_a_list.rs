//! `batcher`: names in a list, a batch out.
#![allow(clippy::indexing_slicing, reason = "a test fails by panicking")]

use crate::program;
use program::{Program, articles};

fn filled() -> Program {
    let program = Program::with_news("test.a 0000000000 00001 y\n");
    let list = articles::many("out", 5, "test.a", 300);
    assert_eq!(program.rnews(&articles::batch(&list)).count("accepted"), 5);
    program
}

/// The articles with these numbers, as they were filed, in a batch.
fn expected(program: &Program, numbers: &[usize]) -> Vec<u8> {
    let filed = |number: &usize| {
        let id = articles::id("out", *number);
        program.run_bytes(&["article", "--dir", "news", &id])
    };
    articles::batch(&numbers.iter().map(filed).collect::<Vec<_>>())
}

#[test]
fn ids_numbers_and_files_are_found_and_others_passed_over() {
    let program = filled();
    program.write("an article", b"not read");
    program.write("plain", b"Path: x\n\nhello");
    let plain = program.path("plain");
    // Nobody writes to it; it is passed over as others are.
    let fifo = program.path("fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, 0o600.into()).expect("a FIFO");
    let list = format!(
        "<out.3@example.com>\ntest.a/1 9999\ntest/a/5\t<x>\n\n  test.a/99\nno.such/1\n<none@x>\n{0}\n{0}.none\n{1}\n/\nplain\nx\n<out.2@example.com>",
        plain.display(),
        fifo.display()
    );
    program.write("list", list.as_bytes());
    let mut wanted = expected(&program, &[3, 1, 5]);
    wanted.extend_from_slice(b"#! rnews 14\nPath: x\n\nhello");
    wanted.extend(expected(&program, &[2]));
    assert_eq!(
        program.run_bytes(&["batcher", "--dir", "news", "list"]),
        wanted
    );
    let told = program.feed(&["batcher", "--dir", "news", "--json"], list.as_bytes());
    assert_eq!(told.out.as_bytes(), wanted);
    let counts: serde_json::Value = serde_json::from_str(&told.err).expect(&told.err);
    assert_eq!(counts["articles"], 5);
    assert_eq!(counts["missing"], 8);
    assert_eq!(counts["bytes"], wanted.len());
}

#[test]
fn compressed_batches_are_taken_by_rnews() {
    let program = filled();
    let list: String = (1..=5).map(|number| format!("test.a/{number}\n")).collect();
    program.write("list", list.as_bytes());
    for how in ["none", "compress", "gzip-9", "bzip2", "xz-0", "zstd-1"] {
        let batch = program.run_bytes(&["batcher", "--dir", "news", "--compress", how, "list"]);
        program.write("batch", &batch);
        let name = format!("far.{how}");
        program.init(&name, "far");
        let told = program.run(&["rnews", "--dir", &name, "--json", "batch"]);
        assert_eq!(told.count("accepted"), 5, "{how}: {told:?}");
    }
    let told = program.run(&["batcher", "--dir", "news", "--compress", "zip", "list"]);
    assert_eq!(told.status, 64, "{told:?}");
}

#[test]
fn a_line_too_long_is_passed_over() {
    let program = filled();
    let list = format!("{}\ntest.a/2\n", "x".repeat(10_000));
    let told = program.feed(&["batcher", "--dir", "news"], list.as_bytes());
    assert_eq!(told.out.as_bytes(), expected(&program, &[2]));
}

#[test]
fn a_damaged_article_is_left_out_and_the_others_go() {
    let program = filled();
    let wanted = expected(&program, &[1, 2, 4, 5]);
    let files = program.files("news/segments");
    let is_art = |path: &&std::path::PathBuf| path.extension().is_some_and(|end| end == "art");
    let path = files.iter().find(is_art).expect("a segment");
    let mut bytes = std::fs::read(path).expect("read");
    // The header of its record stands before its history line.
    let line = memchr::memmem::find(&bytes, articles::id("out", 3).as_bytes()).expect("it");
    bytes[line - 16..line].fill(0x55);
    std::fs::write(path, bytes).expect("written");
    let list: String = (1..=5).map(|number| format!("test.a/{number}\n")).collect();
    let told = program.feed(&["batcher", "--dir", "news", "--json"], list.as_bytes());
    assert_eq!(told.status, 2, "{told:?}");
    assert_eq!(told.out.as_bytes(), wanted);
    for part in [
        "broadsheet: test.a/3: ",
        "\"damaged\":1",
        "because they are damaged: 1",
    ] {
        assert!(told.err.contains(part), "{part}: {told:?}");
    }
}

/// The overview of another server, with the same articles under other numbers: its rows are whole, and wrong.
#[test]
fn no_article_goes_by_the_number_of_another() {
    let list = articles::many("out", 5, "test.a", 300);
    let filled = |high: u32| {
        let program = Program::with_news(&format!("test.a {high:010} 00001 y\n"));
        assert_eq!(program.rnews(&articles::batch(&list)).count("accepted"), 5);
        program
    };
    let (program, other) = (filled(30), filled(20));
    let overview = |program: &Program| {
        let mut files = program.files("news/segments");
        files.retain(|path| path.extension().is_some_and(|end| end == "ovr"));
        assert_eq!(files.len(), 1);
        files.remove(0)
    };
    std::fs::copy(overview(&other), overview(&program)).expect("a copy");
    let told = program.feed(&["batcher", "--dir", "news"], b"test.a/21\n");
    assert_eq!((told.status, told.out.as_str()), (2, ""), "{told:?}");
    assert!(told.err.contains("has another number"), "{told:?}");
    let mut tree = mount::Tree::open(&program.path("news"), mount::Caches::default()).expect("it");
    let mut directory = 1;
    for part in [&b"test"[..], b"a"] {
        let found = tree.lookup(directory, part, 7).expect("read");
        directory = found.expect("a directory").number;
    }
    assert!(tree.lookup(directory, b"21", 7).is_err());
}
