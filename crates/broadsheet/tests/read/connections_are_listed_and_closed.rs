//! `connections` tells who is connected and what they do; `connections close` ends one connection and no other.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::articles::{article, id};
use program::daemon::until;
use program::nntp::{ALL_MAY, Served, listen};

fn listed(program: &Program) -> Vec<serde_json::Value> {
    let told = program.run(&["connections", "--dir", "news", "--json"]);
    assert_eq!(told.status, 0, "{told:?}");
    let lines = told.out.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn by_number() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    let told = program.run(&["connections", "--dir", "news"]);
    assert_eq!((told.status, told.out.as_str()), (1, ""), "no daemon");
    let served = Served::start(&program);
    assert!(listed(&program).is_empty());

    let mut reader = served.client();
    let mut peer = served.client();
    let one = String::from_utf8(article(&id("a", 1), "comp.test")).unwrap();
    let one = one.replace('\n', "\r\n");
    peer.say(format!("TAKETHIS {}\r\n{one}.\r\n", id("a", 1)));
    assert_eq!(peer.line()[..3], *"239");
    // Half of a second article.
    peer.say(format!("TAKETHIS {}\r\nPath: x\r\n", id("a", 2)));
    reader.say("GROUP comp.test\r\n");
    assert_eq!(reader.line()[..3], *"211");
    reader.say("ARTICLE 1\r\n");
    while reader.line() != "." {}

    until("the half article", || {
        let all = listed(&program);
        all.len() == 2 && all[1]["state"] == "receiving by TAKETHIS"
    });
    let all = listed(&program);
    let expected = [
        ("id", 1.into()),
        ("entry", "all".into()),
        ("state", "idle".into()),
        ("last_command", "ARTICLE".into()),
        ("group", "comp.test".into()),
        ("commands", 2.into()),
        ("articles_out", 1.into()),
        ("articles_in", 0.into()),
        ("user", serde_json::Value::Null),
        ("tls", false.into()),
        ("compressed", false.into()),
    ];
    for (name, value) in expected {
        assert_eq!(all[0][name], value, "{name} of {}", all[0]);
    }
    let address = reader.socket().local_addr().unwrap().to_string();
    assert_eq!(all[0]["address"], address);
    assert!(all[0]["bytes_out"].as_u64().unwrap() > 100);
    for (name, value) in [
        ("id", 2),
        ("articles_in", 1),
        ("offered", 2),
        ("commands", 2),
    ] {
        assert_eq!(all[1][name], value, "{name} of {}", all[1]);
    }
    let shown = program.run(&["connections", "--dir", "news"]);
    let first = format!("1 {address} all peer: ");
    assert!(shown.out.starts_with(&first), "{shown:?}");
    assert!(
        shown.out.contains(", last ARTICLE, in comp.test\n"),
        "{shown:?}"
    );

    let told = program.run(&["connections", "close", "--dir", "news", "2", "77"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("no connection 77"), "{told:?}");
    served
        .daemon
        .until_said("an administrator closed connection 2");
    assert_eq!(peer.line()[..3], *"400");
    let all = listed(&program);
    assert_eq!((all.len(), &all[0]["id"]), (1, &1.into()));
    reader.say("DATE\r\n");
    assert_eq!(reader.line()[..3], *"111");
    let told = program.run(&["connections", "close", "--dir", "news", "x"]);
    assert_eq!(told.status, 64, "{told:?}");
    let told = program.run(&["connections", "close", "--dir", "news", "1"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(reader.line()[..3], *"400");
    assert!(listed(&program).is_empty());
    served.daemon.stop();
}
