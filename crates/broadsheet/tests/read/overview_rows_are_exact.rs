//! `broadsheet overview` and `article`: rows byte for byte, and both forms of an article.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::articles::{article, batch, filed, with};

fn news() -> Program {
    Program::with_news("comp.test 0000000000 00001 y\ncomp.misc 0000000040 00001 y\n")
}

#[test]
fn rows_as_nntp_sends_them() {
    let program = news();
    let odd = b"Path: far!user\nFrom: A \tB <ab@example.com>\nNewsgroups: comp.test,comp.misc\n\
        Subject: folded\n\t and\r with \0 odd\xff bytes\nMessage-ID: <odd@example.com>\n\
        Date: 20 Dec 93 04:39:21 GMT\nReferences: <a@example.com>\n <b@example.com>\nLines: 999\n\none\n.two\nthree\n";
    let told = program.rnews(&batch(&[
        odd.to_vec(),
        article("<2@example.com>", "comp.misc"),
    ]));
    assert_eq!(told.count("accepted"), 2, "{told:?}");
    // RFC 3977, 8.1: the wire form, without the line of one dot that ends it and without doubled dots.
    let size = |id: &str| {
        program
            .run_bytes(&["article", "--dir", "news", "--wire", id])
            .len()
            - ".\r\n".len()
    };
    let first = size("<odd@example.com>") - 1;
    let second = size("<2@example.com>");
    let odd_row = |number: usize| {
        let mut row = format!("{number}\tfolded  and  with   odd").into_bytes();
        row.extend_from_slice(
            b"\xff bytes\tA  B <ab@example.com>\t20 Dec 93 04:39:21 GMT\t<odd@example.com>\t",
        );
        row.extend_from_slice(
            format!("<a@example.com> <b@example.com>\t{first}\t3\tXref: news.example.org comp.misc:41 comp.test:1\r\n").as_bytes(),
        );
        row
    };
    let mut expected = odd_row(41);
    expected.extend_from_slice(
        format!(
            "42\ta test\tUser <user@example.com>\tMon, 20 Dec 1993 04:39:21 GMT\t<2@example.com>\t\t{second}\t1\tXref: news.example.org comp.misc:42\r\n"
        )
        .as_bytes(),
    );
    let rows = |words: &[&str]| program.run_bytes(words);
    let said = rows(&["overview", "--dir", "news", "comp.misc"]);
    assert!(
        said == expected,
        "{}\n{}",
        String::from_utf8_lossy(&said),
        String::from_utf8_lossy(&expected)
    );
    assert!(rows(&["overview", "--dir", "news", "comp.test", "1-"]) == odd_row(1));
    for range in ["2-", "0-0", "5", "3-1"] {
        assert!(
            rows(&["overview", "--dir", "news", "comp.test", range]).is_empty(),
            "{range}"
        );
    }
    assert_eq!(
        program
            .run(&["overview", "--dir", "news", "comp.absent"])
            .status,
        1
    );
    assert_eq!(
        program
            .run(&["overview", "--dir", "news", "comp.test", "x"])
            .status,
        64
    );
}

#[test]
fn both_forms_of_an_article() {
    let program = news();
    let bodies: [&[u8]; 6] = [
        b"",
        b".\n..\n.x\n\n",
        b"no newline at the end",
        b"bare\rreturns\r\nand CRLF\r\n",
        b"\n\n\n",
        b"\0\xff\x80.\n",
    ];
    let articles: Vec<Vec<u8>> = bodies
        .iter()
        .enumerate()
        .map(|(number, body)| with(&format!("<{number}@example.com>"), "comp.test", "", body))
        .collect();
    let told = program.rnews(&batch(&articles));
    assert_eq!(told.count("accepted"), 6, "{told:?}");
    for (number, given) in articles.iter().enumerate() {
        let id = format!("<{number}@example.com>");
        let native = program.run_bytes(&["article", "--dir", "news", &id]);
        let expected = filed(given, &format!("comp.test:{}", number + 1));
        assert!(
            native == expected,
            "{number}: {}",
            String::from_utf8_lossy(&native)
        );
        let by_number = format!("comp.test/{}", number + 1);
        assert!(program.run_bytes(&["article", "--dir", "news", &by_number]) == native);

        let wire = program.run_bytes(&["article", "--dir", "news", "--wire", &id]);
        let lines: Vec<&[u8]> = wire.split_inclusive(|&byte| byte == b'\n').collect();
        let (last, others) = lines.split_last().unwrap();
        assert_eq!(*last, b".\r\n", "it ends as NNTP ends it");
        let mut back = Vec::new();
        for line in others {
            assert_ne!(*line, b".\r\n", "a dot alone would end the article");
            assert!(line.ends_with(b"\r\n"), "{number}: {line:?}");
            let line = line.strip_suffix(b"\r\n").unwrap();
            back.extend_from_slice(
                line.strip_prefix(b".")
                    .filter(|rest| rest.starts_with(b"."))
                    .unwrap_or(line),
            );
            back.push(b'\n');
        }
        if !native.ends_with(b"\n") {
            back.pop();
        }
        assert!(
            back == native,
            "{number}: {}",
            String::from_utf8_lossy(&back)
        );
    }
    let told = program.run(&[
        "article",
        "--dir",
        "news",
        "<absent@example.com>",
        "comp.test/99",
        "comp.absent/1",
        "rubbish",
    ]);
    assert_eq!((told.status, told.out.as_str()), (1, ""));
    assert_eq!(told.err.lines().count(), 4, "{told:?}");
}
