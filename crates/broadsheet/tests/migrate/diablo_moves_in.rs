//! `import diablo`: the articles of a spool, made by hand as Diablo 5 writes it, are filed; what is damaged or incomplete is named.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::io::Write;

use crate::program;

use program::Program;
use program::articles::{id, many, with};

const TEXT: u8 = 1;
const GZIP: u8 = 2;
const WIRE: u8 = 4;

/// An article as it lies in the spool, after its header; `header_bytes` without the empty line.
fn entry(kind: u8, article: &[u8], header_bytes: usize) -> Vec<u8> {
    let stored = match kind & GZIP {
        0 => article.to_vec(),
        _ => {
            let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            out.write_all(article).unwrap();
            out.finish().unwrap()
        }
    };
    let nul = usize::from(kind & GZIP == 0);
    let mut bytes = vec![0xff, 0x99, 1, 24, kind, 0, 0, 0];
    for number in [header_bytes, article.len(), 24 + stored.len() + nul] {
        bytes.extend_from_slice(&u32::try_from(number).unwrap().to_le_bytes());
    }
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&stored);
    bytes.push(0);
    bytes
}

fn wire(article: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    article::wire::push_wire(&mut out, article);
    out.extend_from_slice(b".\r\n");
    out
}

#[test]
fn a_spool_is_filed() {
    let program = Program::with_news("comp.test 0000000000 00001 y\nrec.test 0000000000 00001 y\n");
    let text = with("<text@example.com>", "comp.test", "", b"text\n.dot\n");
    let in_wire = with(
        "<wire@example.com>",
        "comp.test,rec.test",
        "",
        b"wire\n.dot\n",
    );
    let packed = with("<gzip@example.com>", "comp.test", "", b"gzip\n");
    let head = with("<head@example.com>", "comp.test", "", b"");
    let header = |article: &[u8]| memchr::memmem::find(article, b"\n\n").unwrap() + 1;
    let mut file = entry(TEXT, &text, header(&text));
    file.extend_from_slice(&entry(WIRE, &wire(&in_wire), header(&in_wire) + 6));
    file.extend_from_slice(&entry(GZIP | WIRE, &wire(&packed), header(&packed) + 6));
    let mut only = wire(&head);
    only.truncate(only.len() - 3);
    file.extend_from_slice(&entry(WIRE, &only, only.len() - 2));
    fs::create_dir_all(program.path("spool/N.00/D.01000000")).unwrap();
    fs::create_dir_all(program.path("spool/D.00ffffff")).unwrap();
    program.write("spool/N.00/D.01000000/B.0001", &file);
    // Cut off in the middle of an article, and then another file.
    let many = many("m", 10, "comp.test", 3000);
    let entries: Vec<u8> = many
        .iter()
        .flat_map(|article| entry(WIRE, &wire(article), header(article) + 6))
        .collect();
    program.write("spool/D.00ffffff/B.0000", &entries[..entries.len() - 100]);
    let words = ["import", "diablo", "--dir", "news", "--json", "spool"];
    let told = program.run(&words);
    assert_eq!(told.status, 1, "{told:?}");
    let answer: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    for (key, count) in [("filed", 12), ("unfiled", 1), ("unread_files", 1)] {
        assert_eq!(answer[key], count, "{key}: {told:?}");
    }
    assert!(told.err.contains("only its header was stored"), "{told:?}");
    assert!(told.err.contains("D.00ffffff/B.0000 byte "), "{told:?}");
    // The oldest directory comes first; arrival is its time.
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    assert!(rows.lines().next().unwrap().contains(&id("m", 1)), "{rows}");
    let found = program.run(&["history", "find", "--dir", "news", "<wire@example.com>"]);
    let arrival = format!("\t{}~", 0x0100_0000 * 60);
    assert!(found.out.contains(&arrival), "{found:?}");
    for (number, body) in [
        (10, "\n\ntext\n.dot\n"),
        (11, "\n\nwire\n.dot\n"),
        (12, "\n\ngzip\n"),
    ] {
        let article = program.run(&["article", "--dir", "news", &format!("comp.test/{number}")]);
        assert!(article.out.ends_with(body), "{article:?}");
    }
    let again: serde_json::Value = serde_json::from_str(&program.run(&words).out).unwrap();
    assert_eq!(
        (&again["known"], &again["filed"]),
        (&12.into(), &0.into()),
        "{again}"
    );
    program.assert_clean();
    let told = program.run(&["import", "diablo", "--dir", "news", "news"]);
    assert!(
        told.status == 1 && told.err.contains("D.xxxxxxxx/B.xxxx"),
        "{told:?}"
    );
}

#[test]
fn numbers_of_a_site_are_kept() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let numbered = with(
        "<7@example.com>",
        "comp.test",
        "Xref: reader.example.org comp.test:7\nExpires: Mon, 20 Dec 2004 04:39:21 GMT\n",
        b"x\n",
    );
    let other = with(
        "<8@example.com>",
        "comp.test",
        "Xref: elsewhere comp.test:3\nExpires: Mon, 20 Dec 2004 04:39:21 GMT\n",
        b"x\n",
    );
    let file: Vec<u8> = [numbered, other]
        .iter()
        .flat_map(|article| entry(TEXT, article, 100))
        .collect();
    fs::create_dir_all(program.path("spool/D.01000000")).unwrap();
    program.write("spool/D.01000000/B.0001", &file);
    // A number that is taken is reported once, and kept once.
    let same = with(
        "<9@example.com>",
        "comp.test",
        "Xref: reader.example.org comp.test:7\n",
        b"taken\n",
    );
    program.write("spool/D.01000000/B.0002", &entry(TEXT, &same, 100));
    program.write("spool/D.01000001", b"a stray file");
    let told = program.run(&[
        "import",
        "diablo",
        "--dir",
        "news",
        "--xref",
        "reader.example.org",
        "spool",
    ]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(
        told.err
            .contains("<9@example.com>: number 7 of comp.test is taken")
            && told.err.contains("D.01000001: ")
            && told.err.lines().count() == 2,
        "{told:?}"
    );
    let kept = program.read("news/bad/import.unfiled");
    assert_eq!(kept.matches("taken\n").count(), 1, "{kept}");
    // An Expires that has passed does not count.
    program.write("news/explist", b"/expired/ x 30 -\nall x never -\n");
    let expired = program.run(&["expire", "--dir", "news"]);
    assert_eq!(expired.status, 0, "{expired:?}");
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    let numbers: Vec<&str> = rows
        .lines()
        .map(|row| row.split('\t').next().unwrap())
        .collect();
    assert_eq!(numbers, ["7", "8"], "{rows}");
    program.assert_clean();
}
