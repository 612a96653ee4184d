//! rnews says and does the same whether the daemon files or rnews itself.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::io::Write;
use std::process::Stdio;

use flate2::Compression;
use flate2::write::GzEncoder;
use program::articles::{article, batch, id, many};
use program::daemon::Daemon;
use program::{Program, Told};

const ACTIVE: &str = "comp.test 0000000000 00001 y\njunk 0000000000 00001 y\n";

/// What is to be the same: all but the time it took, and where the news directory lies.
#[derive(Debug, PartialEq)]
struct Same {
    status: i32,
    summary: serde_json::Value,
    err: String,
    bad: Vec<(String, Vec<u8>)>,
    rows: String,
    left: Vec<bool>,
}

/// Runs `words` with `input`, without a daemon and with one.
fn both(words: &[&str], input: &[u8], files: &[(&str, Vec<u8>)]) -> [Same; 2] {
    [false, true].map(|served| {
        let program = Program::with_news(ACTIVE);
        for (name, bytes) in files {
            program.write(name, bytes);
        }
        let daemon = served.then(|| Daemon::start(&program));
        let told = program.feed(words, input);
        if let Some(daemon) = daemon {
            daemon.stop();
        }
        program.assert_clean();
        same(&program, &told, files)
    })
}

fn same(program: &Program, told: &Told, files: &[(&str, Vec<u8>)]) -> Same {
    let mut summary = told.summary();
    summary["seconds"] = 0.into();
    let root = program.path("news").canonicalize().unwrap();
    let mut err = told.err.replace(root.to_str().unwrap(), "news");
    // Names in bad/ begin with the time, and end with a process or a file.
    let bad = program.files("news/bad").into_iter().map(|path| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        err = err.replace(&name, "NAME");
        let tail = name.split_once('.').unwrap().1.to_owned();
        let tail = match tail.parse::<u32>() {
            Ok(_) => "PROCESS".to_owned(),
            Err(_) => tail,
        };
        (tail, std::fs::read(path).unwrap())
    });
    let mut bad: Vec<(String, Vec<u8>)> = bad.collect();
    // Their times may differ.
    bad.sort();
    Same {
        status: told.status,
        summary,
        err,
        bad,
        rows: program.run(&["overview", "--dir", "news", "comp.test"]).out,
        left: files
            .iter()
            .map(|(name, _)| program.path(name).exists())
            .collect(),
    }
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

const RNEWS: &[&str] = &["rnews", "--dir", "news", "--json"];

#[test]
fn a_batch_on_a_pipe() {
    let text = batch(&many("pipe", 30, "comp.test", 300));
    let [alone, served] = both(RNEWS, &text, &[]);
    assert_eq!(alone.summary["accepted"], 30, "{alone:?}");
    assert_eq!(alone, served);
}

#[test]
fn files_with_all_the_flags() {
    let mut articles = many("file", 5, "comp.test", 300);
    articles.push(articles[0].clone());
    articles.push(article("<elsewhere@example.com>", "no.such.group"));
    let files = [
        ("one", batch(&articles)),
        ("two", gzipped(&batch(&many("two", 5, "comp.test", 300)))),
        ("three", article("<bare@example.com>", "comp.test")),
    ];
    let words = [RNEWS, &["-u", "-x", "-h", "one", "two", "missing", "three"]].concat();
    let [alone, served] = both(&words, b"", &files);
    assert_eq!(alone.status, 2, "{alone:?}");
    assert_eq!(alone.summary["accepted"], 11, "{alone:?}");
    assert_eq!(alone.left, [false; 3]);
    assert_eq!(alone, served);
    let [alone, served] = both(&[RNEWS, &["-s", "-u", "one"]].concat(), b"", &files[..1]);
    assert_eq!(
        (alone.status, &alone.left[..]),
        (1, &[true][..]),
        "{alone:?}"
    );
    assert_eq!(alone, served);
    let old = [RNEWS, &["-o", "30", "three"]].concat();
    let [alone, served] = both(&old, b"", &files);
    assert_eq!(alone.summary["refused"], 1, "{alone:?}");
    assert_eq!(alone, served);
}

#[test]
fn what_the_daemon_is_not_asked_for() {
    let text = batch(&many("sync", 3, "comp.test", 300));
    let words = [RNEWS, &["--sync", "each"]].concat();
    let [alone, served] = both(&words, &text, &[]);
    assert_eq!(alone.summary["accepted"], 3, "{alone:?}");
    assert_eq!(alone, served);
}

#[test]
fn bad_batches_are_kept() {
    let good = batch(&many("bad", 3, "comp.test", 300));
    let short = good[..good.len() - 10].to_vec();
    let mut torn = gzipped(&good);
    torn.truncate(torn.len() - 20);
    let mut astray = b"#! rnews 5\nxxxx\n#! what is this\n".to_vec();
    astray.extend_from_slice(&good);
    let files = [("short", short), ("torn", torn), ("astray", astray)];
    let words = [RNEWS, &["-u", "short", "torn", "astray"]].concat();
    let [alone, served] = both(&words, b"", &files);
    assert_eq!((alone.status, alone.bad.len()), (2, 3), "{alone:?}");
    assert_eq!(alone.left, [true; 3]);
    assert_eq!(alone, served);
}

#[test]
fn standard_input_that_is_a_file_is_read_from_where_it_stands() {
    let program = Program::with_news(ACTIVE);
    let _daemon = Daemon::start(&program);
    let first = batch(&many("first", 2, "comp.test", 300));
    let second = batch(&many("second", 3, "comp.test", 300));
    program.write("both", &[first.clone(), second].concat());
    let mut file = std::fs::File::open(program.path("both")).unwrap();
    std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(first.len() as u64)).unwrap();
    let done = program.command(RNEWS).stdin(file).output().unwrap();
    let told = String::from_utf8(done.stdout).unwrap();
    assert!(told.contains("\"accepted\":3"), "{told}");
}

#[test]
fn several_at_once() {
    let program = Program::with_news(ACTIVE);
    let daemon = Daemon::start(&program);
    let children: Vec<_> = (0..8)
        .map(|number| {
            let name = format!("batch{number}");
            program.write(&name, &batch(&many(&name, 200, "comp.test", 300)));
            let words = [RNEWS, &[name.as_str()]].concat();
            let mut command = program.command(&words);
            command.stdout(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        let done = child.wait_with_output().unwrap();
        let told = String::from_utf8(done.stdout).unwrap();
        assert!(told.contains("\"accepted\":200"), "{told}");
    }
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    assert_eq!(rows.lines().count(), 1_600);
    daemon.stop();
    program.assert_clean();
    let again = program.run(&["history", "find", "--dir", "news", &id("batch3", 7)]);
    assert_eq!(again.status, 0, "{again:?}");
}

#[test]
fn a_socket_that_nobody_listens_at_is_no_hindrance() {
    let program = Program::with_news(ACTIVE);
    let mut daemon = Daemon::start(&program);
    daemon.kill();
    assert!(program.path("news/control.sock").exists());
    let told = program.rnews(&batch(&many("stale", 3, "comp.test", 300)));
    assert_eq!((told.status, told.count("accepted")), (0, 3), "{told:?}");
    // The next daemon makes its own.
    let daemon = Daemon::start(&program);
    daemon.stop();
    assert!(!program.path("news/control.sock").exists());
}

#[test]
fn a_batch_that_was_cut_before_the_daemon_died_is_not_called_filed() {
    let program = Program::with_news(ACTIVE);
    program.write("cut", &batch(&many("cut", 3, "comp.test", 300)));
    let place = program.path("cut");
    // A daemon that takes the batch and ends; meanwhile somebody cuts the file between two articles.
    let socket = std::os::unix::net::UnixListener::bind(program.path("news/control.sock")).unwrap();
    let dead = std::thread::spawn(move || {
        let (stream, _) = socket.accept().unwrap();
        std::io::Read::read(&mut &stream, &mut [0; 4096]).unwrap();
        let file = std::fs::File::options().write(true).open(&place).unwrap();
        file.set_len(file.metadata().unwrap().len() / 3).unwrap();
    });
    let told = program.run(&[RNEWS, &["-u", "cut"]].concat());
    dead.join().unwrap();
    assert_eq!(told.status, 2, "{told:?}");
    assert!(
        told.err.contains("cut: another program truncated it"),
        "{told:?}"
    );
    assert!(program.path("cut").exists());
}
