//! newsspool and `rnews --spool` copy a batch into in.coming/ byte for byte, whatever it is wrapped in, and discard an
//! empty one; newsrun then files it.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::io::Write;

use program::Program;
use program::articles::{article, batch};

const ACTIVE: &str = "comp.test 0000000000 00001 y\n";

/// What compress(1) could have written: literal codes of 9 bits, and a clear before they would have to grow.
fn compressed(text: &[u8]) -> Vec<u8> {
    const CLEAR: u32 = 256;
    // A clear ends a group of eight codes, so that nothing has to be padded.
    const LITERALS: usize = 247;
    let mut codes = Vec::new();
    for piece in text.chunks(LITERALS) {
        codes.extend(piece.iter().map(|byte| u32::from(*byte)));
        if piece.len() == LITERALS {
            codes.push(CLEAR);
        }
    }
    let mut out = vec![0x1f, 0x9d, 0x90];
    let (mut bits, mut count) = (0_u32, 0);
    for code in codes {
        bits |= code << count;
        count += 9;
        while count >= 8 {
            out.push(bits as u8);
            bits >>= 8;
            count -= 8;
        }
    }
    if count > 0 {
        out.push(bits as u8);
    }
    out
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

#[test]
fn whatever_it_is_wrapped_in() {
    let program = Program::with_news(ACTIVE);
    let one = |id: &str| batch(&[article(&format!("<{id}@example.com>"), "comp.test")]);
    let wrapped = |line: &[u8], text: Vec<u8>| [line, &text].concat();
    let cases = [
        ("t", one("plain")),
        ("t", article("<bare@example.com>", "comp.test")),
        ("Z", compressed(&one("bare.compress"))),
        ("Z", wrapped(b"#! cunbatch\n", compressed(&one("cunbatch")))),
        ("gz", gzip(&one("bare.gzip"))),
        ("gz", wrapped(b"#! zunbatch\n", gzip(&one("zunbatch")))),
    ];
    for (number, (suffix, text)) in cases.iter().enumerate() {
        let told = program.feed(&["newsspool", "--dir", "news", "--json"], text);
        assert_eq!(told.status, 0, "{told:?}");
        assert_eq!(
            (told.count("spooled"), told.count("bytes")),
            (1, text.len() as u64)
        );
        let files = program.files("news/in.coming");
        assert_eq!(files.len(), number + 1, "{files:?}");
        let of_it = |path: &&std::path::PathBuf| std::fs::read(path).unwrap() == *text;
        let file = files.iter().find(of_it).expect("its bytes, unchanged");
        assert_eq!(file.extension().unwrap(), *suffix);
    }
    let told = program.run(&["newsrun", "--dir", "news", "--json"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!((told.count("files"), told.count("accepted")), (6, 6));
    assert!(program.files("news/in.coming").is_empty());
    assert!(program.files("news/bad").is_empty());
}

#[test]
fn empty_ones_are_discarded() {
    let program = Program::with_news(ACTIVE);
    for text in [
        &b""[..],
        b"\x1f\x9d\x90",
        b"#! cunbatch\n",
        b"#! cunbatch\n\x1f\x9d\x90",
    ] {
        let told = program.feed(&["newsspool", "--dir", "news", "--json"], text);
        assert_eq!(told.status, 0, "{told:?}");
        assert_eq!(
            (told.count("spooled"), told.count("empty")),
            (0, 1),
            "{text:?}"
        );
        assert!(program.files("news/in.coming").is_empty());
    }
}

#[test]
fn large_ones_whole() {
    let program = Program::with_news(ACTIVE);
    let text = batch(&program::articles::many("large", 900, "comp.test", 4000));
    assert!(text.len() > 3 << 20);
    program.write("batch", &text);
    let told = program.run(&["rnews", "--dir", "news", "--spool", "--json", "-u", "batch"]);
    assert_eq!((told.status, told.count("spooled")), (0, 1), "{told:?}");
    assert!(!program.path("batch").exists());
    let files = program.files("news/in.coming");
    assert!(std::fs::read(&files[0]).unwrap() == text);
    let told = program.run(&["newsrun", "--dir", "news", "--json"]);
    assert_eq!(told.count("accepted"), 900);
}

#[test]
fn files_and_standard_input_together() {
    let program = Program::with_news(ACTIVE);
    let one = |id: &str| batch(&[article(&format!("<{id}@example.com>"), "comp.test")]);
    program.write("a", &one("a"));
    program.write("c", &one("c"));
    let told = program.feed(
        &["newsspool", "--dir", "news", "--json", "a", "-", "c"],
        &one("b"),
    );
    assert_eq!(told.count("spooled"), 3);
    assert!(program.path("a").exists());
    let told = program.run(&["newsspool", "--dir", "news", "a", "missing"]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(told.err.contains("missing"), "{told:?}");
    let told = program.run(&["newsrun", "--dir", "news", "--json"]);
    assert_eq!((told.count("accepted"), told.count("duplicates")), (3, 1));
}

#[test]
fn at_once_when_asked() {
    let program = Program::with_news(ACTIVE);
    let text = batch(&[article("<now@example.com>", "comp.test")]);
    program.write(
        "news/in.coming/7501234560.t",
        &batch(&[article("<old@example.com>", "comp.test")]),
    );
    let told = program.feed(&["newsspool", "--dir", "news", "-i"], &text);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(program.files("news/in.coming").is_empty());
    let words = [
        "history",
        "find",
        "--dir",
        "news",
        "<now@example.com>",
        "<old@example.com>",
    ];
    assert_eq!(program.run(&words).status, 0);
}

#[test]
fn rnews_spools_when_others_file_for_long() {
    let program = Program::with_news(ACTIVE);
    let text = batch(&[article("<busy@example.com>", "comp.test")]);
    let settings = program
        .read("news/broadsheet.toml")
        .replace("spool_after_seconds = 0", "spool_after_seconds = 1");
    program.write("news/broadsheet.toml", settings.as_bytes());
    let lock = store::Lock::take(&program.path("news"), None).unwrap();
    let told = program.rnews(&text);
    assert_eq!((told.status, told.count("spooled")), (0, 1), "{told:?}");
    drop(lock);
    // With nobody in the way it files, as ever.
    let told = program.rnews(&batch(&[article("<free@example.com>", "comp.test")]));
    assert_eq!(told.count("accepted"), 1, "{told:?}");
    let told = program.run(&["newsrun", "--dir", "news", "--json"]);
    assert_eq!(told.count("accepted"), 1, "{told:?}");
}
