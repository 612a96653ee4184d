//! `broadsheet group match` over the tables of facts observed from C News and INN.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::{Program, shared};

/// Undoes the escapes of the table.
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next()? {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'x' => {
                let digits = [bytes.next()?, bytes.next()?];
                out.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
            }
            other => out.push(other),
        }
    }
    Some(out)
}

fn answer(words: &[&std::ffi::OsStr]) -> (i32, Vec<u8>) {
    let done = std::process::Command::new(env!("CARGO_BIN_EXE_broadsheet"))
        .args(["group", "match"])
        .args(words)
        .output()
        .unwrap();
    (done.status.code().unwrap(), done.stdout)
}

fn os(text: &[u8]) -> &std::ffi::OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(text)
}

#[test]
fn the_language_of_c_news() {
    let Some(path) = shared("cases/cnews/ngmatch.tsv") else {
        return;
    };
    let table = std::fs::read_to_string(path).unwrap();
    let mut rows = 0;
    for row in table.lines().filter(|row| !row.starts_with('#')) {
        let fields: Vec<&str> = row.split('\t').collect();
        let groups = if fields[1] == "(empty)" {
            ""
        } else {
            fields[1]
        };
        let (status, out) = answer(&["--".as_ref(), fields[0].as_ref(), groups.as_ref()]);
        assert_eq!(
            String::from_utf8_lossy(&out),
            format!("{}\t{groups}\n", fields[2]),
            "{row}"
        );
        assert_eq!(status == 0, fields[2] == "match", "{row}");
        rows += 1;
    }
    assert!(rows > 10);
}

#[test]
fn the_language_of_inn() {
    let Some(path) = shared("cases/inn/uwildmat.tsv") else {
        return;
    };
    let table = std::fs::read_to_string(path).unwrap();
    let mut rows = 0;
    for row in table.lines().filter(|row| !row.starts_with('#')) {
        let fields: Vec<&str> = row.split('\t').collect();
        // A group's name is neither empty nor a list; such rows are for other uses of the language.
        if fields[1] != "list" || fields[2] == "(empty)" || fields[2].contains(',') {
            continue;
        }
        let field = |text: &str| {
            if text == "(empty)" {
                Some(Vec::new())
            } else {
                unescaped(text)
            }
        };
        let (text, pattern) = (field(fields[2]).unwrap(), field(fields[3]).unwrap());
        let (_, out) = answer(&["--wildmat".as_ref(), "--".as_ref(), os(&pattern), os(&text)]);
        assert_eq!(
            out.split(|&byte| byte == b'\t').next(),
            Some(fields[4].as_bytes()),
            "{row}: {}",
            String::from_utf8_lossy(&out)
        );
        rows += 1;
    }
    assert!(rows > 40, "{rows}");
}

#[test]
fn by_hand() {
    let program = Program::new();
    let told = program.run(&[
        "group",
        "match",
        "comp,!comp.sys",
        "comp.lang.c",
        "comp.sys.mac",
        "comp.sys.mac,comp.x",
    ]);
    assert_eq!(told.status, 1);
    assert_eq!(
        told.out,
        "match\tcomp.lang.c\nfail\tcomp.sys.mac\nmatch\tcomp.sys.mac,comp.x\n"
    );
    let told = program.run(&[
        "group",
        "match",
        "--wildmat",
        "--json",
        "comp.*,!comp.sys.*",
        "comp.lang.c",
    ]);
    assert_eq!(
        (told.status, told.out.trim()),
        (0, r#"{"group":"comp.lang.c","match":true}"#)
    );
}
