//! A real INN: its rnews takes our batches, plain and compressed, and our rnews takes what its batcher makes of the
//! articles.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::io::Write;
use std::process::{Command, Stdio};

use program::Program;
use program::articles::{batch, id, many};
use program::inn::Inn;

const ACTIVE: &str = "comp.test 0000000000 00001 y\n";
const ARTICLES: usize = 25;

/// What a filter makes of `text`; `None` where it is missing.
fn filtered(words: &[&str], text: &[u8]) -> Option<Vec<u8>> {
    let mut child = Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take().unwrap();
    let text = text.to_vec();
    let feeder = std::thread::spawn(move || drop(stdin.write_all(&text)));
    let done = child.wait_with_output().unwrap();
    feeder.join().unwrap();
    assert!(done.status.success(), "{words:?}");
    Some(done.stdout)
}

/// Lines that a header holds, without Path and Xref, which each site makes its own; and the body.
fn of_the_author(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(text.to_vec()).unwrap();
    let (header, body) = text.split_once("\n\n").unwrap();
    let lines = header
        .lines()
        .filter(|line| !line.starts_with("Path:") && !line.starts_with("Xref:"));
    let header: Vec<&str> = lines.collect();
    format!("{}\n\n{body}", header.join("\n")).into_bytes()
}

#[test]
fn both_ways() {
    let Some(inn) = Inn::start(&["comp.test"]) else {
        return;
    };
    // Bodies with what batches and NNTP treat specially.
    let odd = program::articles::with(
        "<odd@example.com>",
        "comp.test",
        "",
        b".\n..two\n#! rnews 7\nFrom here\n\n\xe9\x80 not UTF-8\n",
    );
    let mut all = vec![odd];
    let mut sets = vec![("#! rnews", batch(&all))];
    for (prefix, line, compressor) in [
        ("plain", "", None),
        ("gzip", "#! gunbatch\n", Some(&["gzip", "-c"][..])),
        ("compress", "#! cunbatch\n", Some(&["compress", "-c"])),
        ("bzip2", "#! bunbatch\n", Some(&["bzip2", "-c"])),
    ] {
        let articles = many(prefix, ARTICLES, "comp.test", 3000);
        let text = batch(&articles);
        let text = match compressor {
            None => Some(text),
            Some(words) => filtered(words, &text),
        };
        let Some(text) = text else {
            eprintln!("skipped: {prefix} batches (no program of that name)");
            continue;
        };
        sets.push((prefix, [line.as_bytes(), &text].concat()));
        all.extend(articles);
    }

    // To INN.
    let program = Program::with_news(ACTIVE);
    for (prefix, text) in &sets {
        program.write("to-inn", text);
        let done = inn.run("rnews", &["-N"], Some(&program.path("to-inn")));
        assert!(done.status.success(), "{prefix}: {done:?}");
        let known = match *prefix {
            "#! rnews" => vec!["<odd@example.com>".to_owned()],
            prefix => (1..=ARTICLES).map(|number| id(prefix, number)).collect(),
        };
        for id in known {
            assert!(inn.has(&id), "{prefix}: {id}");
        }
    }

    // And back.
    let flushed = inn.run("ctlinnd", &["flush", "elsewhere"], None);
    assert!(flushed.status.success(), "{flushed:?}");
    let togo = inn.path("spool/outgoing/elsewhere");
    let list = std::fs::read(&togo).unwrap();
    assert_eq!(list.split(|byte| *byte == b'\n').count() - 1, all.len());
    let again = |text: &[u8]| {
        std::fs::write(&togo, text).unwrap();
    };
    let plain = inn.run(
        "batcher",
        &["-r", "-b", "0", "elsewhere", togo.to_str().unwrap()],
        None,
    );
    assert!(plain.status.success(), "{plain:?}");
    let told = program.rnews(&plain.stdout);
    assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
    assert_eq!(told.count("accepted"), all.len() as u64, "{told:?}");
    for article in &all {
        let text = String::from_utf8_lossy(article).into_owned();
        let id = text
            .lines()
            .find_map(|line| line.strip_prefix("Message-ID: "));
        let held = program.run_bytes(&["article", "--dir", "news", id.unwrap()]);
        let held = String::from_utf8_lossy(&held).into_owned();
        assert!(
            of_the_author(held.as_bytes()) == of_the_author(text.as_bytes()),
            "{id:?}"
        );
        assert!(
            held.contains("\nPath: news.example.org!inn.example.org!"),
            "{held}"
        );
    }

    // In small compressed batches, as send-uucp and sendxbatches have them made.
    for (line, compressor) in [
        ("gunbatch", "gzip -c"),
        ("cunbatch", "compress -c"),
        ("bunbatch", "bzip2 -c"),
    ] {
        if filtered(
            &[compressor.split(' ').next().unwrap(), "-c"],
            &[b'x'; 1000],
        )
        .is_none()
        {
            eprintln!("skipped: {line} batches of INN (no {compressor})");
            continue;
        }
        again(&list);
        let other = Program::with_news(ACTIVE);
        let each = format!(
            "( echo '#! {line}'; exec {compressor} ) > {}/tmp/batch.$$",
            inn.path("").display()
        );
        let words = [
            "-r",
            "-b",
            "20000",
            "-p",
            &each,
            "elsewhere",
            togo.to_str().unwrap(),
        ];
        let done = inn.run("batcher", &words, None);
        assert!(done.status.success(), "{done:?}");
        let files: Vec<_> = std::fs::read_dir(inn.path("tmp"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        assert!(files.len() > 1, "{files:?}");
        let mut accepted = 0;
        for file in files {
            let told = other.rnews(&std::fs::read(&file).unwrap());
            assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
            accepted += told.count("accepted");
            std::fs::remove_file(file).unwrap();
        }
        assert_eq!(accepted, all.len() as u64, "{line}");
    }
}
