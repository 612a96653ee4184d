//! A stream in which every second article is bad, a duplicate or too large is answered in order.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::articles::article;
use program::nntp::{ALL_MAY, Served, listen, take_this};

const ROUNDS: usize = 300;

#[test]
fn each_has_its_answer() {
    let program = Program::with_small_segments("comp.test 0000000000 00001 y\n", 1);
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    let large = program::articles::with(
        "<large@example.com>",
        "comp.test",
        "",
        &b"a line\n".repeat(100_000),
    );
    let mut stream = Vec::new();
    let mut answers = Vec::new();
    for round in 0..ROUNDS {
        let name = |what: &str| format!("<{what}.{round}@example.com>");
        let mut add = |bytes: Vec<u8>, answer: String| {
            stream.extend(bytes);
            answers.push(answer);
        };
        let good = name("good");
        let taken = take_this(&good, &article(&good, "comp.test"));
        add(taken.clone(), format!("239 {good}"));
        add(taken, format!("439 {good}"));
        add(
            take_this(&name("bare"), b"no header\n"),
            format!("439 {}", name("bare")),
        );
        add(
            take_this(&name("empty"), b""),
            format!("439 {}", name("empty")),
        );
        let other = name("other");
        add(
            take_this(&other, &article(&name("else"), "comp.test")),
            format!("439 {other}"),
        );
        add(
            format!("CHECK {good}\r\n").into_bytes(),
            format!("438 {good}"),
        );
        let unknown = take_this("no-id", b"Subject: x\n\nCHECK <this@is.no.command>\n");
        add(unknown, "439 no-id ".to_owned());
        if round % 50 == 0 {
            add(
                take_this(&name("large"), &large),
                format!("439 {}", name("large")),
            );
        }
        let last = name("last");
        add(
            take_this(&last, &article(&last, "comp.test")),
            format!("239 {last}"),
        );
    }
    let mut client = served.client();
    let said = client.say_beside(stream);
    for answer in answers {
        let line = client.line();
        assert!(line.starts_with(&answer), "{line} instead of {answer}");
    }
    said.join().unwrap().unwrap();
    let count = 2 * ROUNDS;
    let answer = client.ask("GROUP comp.test");
    assert!(
        answer.starts_with(&format!("211 {count} 1 {count} ")),
        "{answer}"
    );
    served.daemon.stop();
    program.assert_clean();
}
