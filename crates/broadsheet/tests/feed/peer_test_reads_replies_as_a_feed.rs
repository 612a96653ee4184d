//! `broadsheet peer test` reads the replies of a peer as a feed does.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

use crate::program;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use program::Program;

/// A peer that replies to a command with these words; `{id}` stands for the id of the command.
fn replying(replies: &'static [(&'static str, &'static str)]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"200 ready\r\n").unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        let (mut is_article, mut id) = (false, String::new());
        for line in lines.map_while(Result::ok) {
            let command = match (is_article, line.as_str()) {
                (true, ".") => ".",
                (true, _) => continue,
                (false, line) => line.split(' ').next().unwrap(),
            };
            if let Some((_, named)) = line.split_once(' ') {
                named.clone_into(&mut id);
            }
            is_article = command == "TAKETHIS";
            let reply = replies.iter().find(|(known, _)| *known == command);
            if is_article {
                continue;
            }
            let reply = reply.map_or("500 what?", |(_, reply)| reply);
            is_article = reply.starts_with("335");
            let reply = reply.replace("{id}", &id) + "\r\n";
            if stream.write_all(reply.as_bytes()).is_err() {
                return;
            }
        }
    });
    address
}

/// A feed does not go on with a reply that names another article, or belongs to another command.
#[test]
fn replies_for_another_article_are_no_success() {
    const STREAMING: (&str, &str) = (
        "CAPABILITIES",
        "101 list\r\nVERSION 2\r\nIHAVE\r\nSTREAMING\r\n.",
    );
    const IHAVE: (&str, &str) = ("CAPABILITIES", "101 list\r\nVERSION 2\r\nIHAVE\r\n.");
    const CHECK: (&str, &str) = ("CHECK", "238 {id}");
    const SHOWN: (&str, &str) = ("STAT", "223 0 {id}");
    let here = Program::with_news("misc.test 0000000000 00001 y\n");
    for (replies, expected) in [
        (
            &[STREAMING, CHECK, (".", "239 {id}"), SHOWN][..],
            ["ok", "ok", "ok"],
        ),
        (
            &[STREAMING, ("CHECK", "238 <a@b>"), (".", "239 {id}"), SHOWN],
            ["failed", "ok", "ok"],
        ),
        (
            &[STREAMING, ("CHECK", "438 <a@b>"), (".", "239 {id}"), SHOWN],
            ["failed", "ok", "ok"],
        ),
        (
            &[STREAMING, ("CHECK", "239 {id}"), (".", "239 {id}"), SHOWN],
            ["failed", "ok", "ok"],
        ),
        (
            &[STREAMING, CHECK, (".", "239 <a@b>"), SHOWN],
            ["ok", "failed", ""],
        ),
        (
            &[STREAMING, CHECK, (".", "235 {id}"), SHOWN],
            ["ok", "failed", ""],
        ),
        (
            &[STREAMING, CHECK, (".", "439 {id}"), SHOWN],
            ["ok", "failed", ""],
        ),
        (
            &[STREAMING, CHECK, (".", "239 {id}"), ("STAT", "223 0 <a@b>")],
            ["ok", "ok", "skipped"],
        ),
        (
            &[IHAVE, ("IHAVE", "335 send it"), (".", "235 thanks"), SHOWN],
            ["skipped", "ok", "ok"],
        ),
        (
            &[IHAVE, ("IHAVE", "335 send it"), (".", "239 {id}"), SHOWN],
            ["skipped", "failed", ""],
        ),
        (&[IHAVE, ("IHAVE", "501 no")], ["skipped", "failed", ""]),
    ] {
        let address = replying(replies);
        let told = here.run(&[
            "peer",
            "test",
            "--dir",
            "news",
            "--json",
            &address,
            "--article",
            "misc.test",
        ]);
        let (status, told) = (told.status, told.summary());
        let is_good = !expected.contains(&"failed");
        assert_eq!(status, i32::from(!is_good), "{told}");
        let steps = told["steps"].as_array().unwrap();
        let results = ["offer", "article", "arrival"].map(|name| {
            let mut all = steps.iter().filter(|told| told["step"] == name);
            all.next()
                .map_or("", |told| told["result"].as_str().unwrap())
        });
        assert_eq!(results, expected, "{told}");
    }
}
