//! Lines and headers of hundreds of megabytes through a pipe: the program's memory does not follow.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::io::Write;
use std::process::Stdio;

use program::articles::{article, batch};
use program::{Program, peak_kib};

/// What the program may use at its worst, in KiB.
const PEAK_KIB_MAX: u64 = 128 << 10;
const MIB: usize = 1 << 20;

/// Pours the pieces into rnews; gives its exit status and what it said. Its memory must have stayed bounded.
fn pour(
    program: &Program,
    pieces: impl Iterator<Item = Vec<u8>>,
) -> (i32, serde_json::Value, String) {
    let mut child = program
        .command(&["rnews", "--dir", "news", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for piece in pieces {
        if input.write_all(&piece).is_err() {
            // It reads no more of what it has refused.
            break;
        }
    }
    // All but the last bytes in the pipe have been read, and the program waits for more.
    let peak = peak_kib(child.id());
    drop(input);
    let done = child.wait_with_output().unwrap();
    if let Some(peak) = peak {
        assert!(peak < PEAK_KIB_MAX, "{peak} KiB");
    }
    (
        done.status.code().unwrap_or(-1),
        serde_json::from_slice(&done.stdout).unwrap(),
        String::from_utf8_lossy(&done.stderr).into_owned(),
    )
}

fn news() -> Program {
    Program::with_news("comp.test 0000000000 00001 y\n")
}

fn times(piece: &[u8], count: usize) -> impl Iterator<Item = Vec<u8>> {
    std::iter::repeat_n(piece.to_vec(), count)
}

fn good(id: &str) -> std::iter::Once<Vec<u8>> {
    std::iter::once(batch(&[article(id, "comp.test")]))
}

#[test]
fn a_header_of_100_mb() {
    let lines = format!("X-Long: {}\n", "y".repeat(MIB - 9));
    let header = || {
        std::iter::once(b"Message-ID: <1@example.com>\n".to_vec())
            .chain(times(lines.as_bytes(), 100))
    };
    let program = news();
    let (status, summary, said) = pour(&program, header());
    // What has no `#! rnews' line and is so large is no news: it is kept.
    assert_eq!((status, &summary["refused"]), (1, &1.into()), "{said}");
    assert!(said.contains("article too large"), "{said}");

    let program = news();
    let size: usize = header().map(|piece| piece.len()).sum();
    let line = std::iter::once(format!("#! rnews {size}\n").into_bytes());
    let pieces = good("<0@example.com>")
        .chain(line)
        .chain(header())
        .chain(good("<2@example.com>"));
    let (status, summary, said) = pour(&program, pieces);
    assert_eq!(
        (status, &summary["refused"], &summary["accepted"]),
        (0, &1.into(), &2.into()),
        "{said}"
    );
    assert!(program.files("news/in.coming").is_empty());
}

#[test]
fn a_line_of_200_mb_where_a_batch_line_should_be() {
    let program = news();
    let line = times(&[b'z'; MIB], 200).chain(std::iter::once(b"\n".to_vec()));
    let pieces = good("<1@example.com>")
        .chain(line)
        .chain(good("<2@example.com>"));
    let (status, summary, said) = pour(&program, pieces);
    assert_eq!((status, &summary["accepted"]), (2, &2.into()), "{said}");
    let kept = program.files("news/bad");
    assert_eq!(kept.len(), 1);
    assert!(std::fs::metadata(&kept[0]).unwrap().len() > 200 * MIB as u64);
}

#[test]
fn a_line_of_200_mb_in_a_body() {
    let program = news();
    let line = std::iter::once(format!("#! rnews {}\n", 200 * MIB).into_bytes());
    let pieces = line
        .chain(times(&[b'q'; MIB], 200))
        .chain(good("<2@example.com>"));
    let (status, summary, said) = pour(&program, pieces);
    assert_eq!(
        (status, &summary["accepted"], &summary["refused"]),
        (0, &1.into(), &1.into()),
        "{said}"
    );
}

#[test]
fn a_size_that_lies_keeps_what_it_swallowed() {
    let program = news();
    let line = std::iter::once(b"#! rnews 99999999999\n".to_vec());
    let pieces = good("<1@example.com>")
        .chain(line)
        .chain(good("<2@example.com>"));
    let (status, summary, said) = pour(&program, pieces);
    assert_eq!((status, &summary["accepted"]), (1, &1.into()), "{said}");
    let kept = program.files("news/bad");
    assert_eq!(kept.len(), 1, "{said}");
    assert!(
        said.contains(kept[0].file_name().unwrap().to_str().unwrap()),
        "{said}"
    );
    let text = std::fs::read_to_string(&kept[0]).unwrap();
    assert!(text.contains("\n#! rnews 99999999999\n#! rnews "), "{text}");
    assert!(program.files("news/in.coming").is_empty());
}

#[test]
fn duplicates_behind_one_new_article() {
    let program = news();
    let mut large = article("<large@example.com>", "comp.test");
    large.resize(4 * MIB, b'x');
    let large = batch(&[large]);
    let told = program.rnews(&large);
    assert_eq!(told.count("accepted"), 1);
    // The new one is not worth a commit; what comes behind it must not wait for one in memory.
    let (status, summary, said) =
        pour(&program, good("<new@example.com>").chain(times(&large, 60)));
    assert_eq!(
        (status, &summary["accepted"], &summary["duplicates"]),
        (0, &1.into(), &60.into()),
        "{said}"
    );
}
