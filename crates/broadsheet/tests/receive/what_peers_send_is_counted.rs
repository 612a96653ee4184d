//! What a peer offers, and what becomes of it, stands in `status` and in the metrics; a line tells of it when the peer has left.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::process::Command;

use program::Program;
use program::articles::{article, id, with};
use program::daemon::{Daemon, until};
use program::wire::{Wire, address, http};

const PEER: &str =
    "\n[[access]]\nname = \"peer.example\"\nfrom = \"127.0.0.1\"\nsend = \"*\"\nread = \"*\"\n";

fn served() -> (Program, Daemon) {
    let program = Program::with_news("comp.test 0000000000 00001 y\ncomp.mod 0000000000 00001 m\n");
    program.set("listen = \"\"", "listen = \"127.0.0.1:0\"");
    program.set("metrics = \"\"", "metrics = \"127.0.0.1:0\"");
    let text = program.read("news/broadsheet.toml") + PEER;
    program.write("news/broadsheet.toml", text.as_bytes());
    let daemon = Daemon::launch(&program);
    (program, daemon)
}

fn takethis(wire: &mut Wire, id: &str, article: &[u8]) -> String {
    let text = String::from_utf8(article.to_vec()).unwrap();
    let text = text.replace('\n', "\r\n");
    wire.ask(&format!("TAKETHIS {id}\r\n{text}.\r\n"))
}

fn status(program: &Program) -> serde_json::Value {
    let told = program.run(&["status", "--dir", "news", "--json"]);
    serde_json::from_str(&told.out).unwrap()
}

#[test]
fn in_status_and_metrics() {
    let (program, daemon) = served();
    let nntp = address(&daemon, "listening at ");
    let metrics = address(&daemon, "metrics at http://");
    daemon.until_notified("READY=1");
    let mut wire = Wire::connect(&nntp);
    wire.line();
    assert_eq!(wire.ask("CHECK <a.1@example.com>\r\n")[..3], *"238");
    let one = article(&id("a", 1), "comp.test");
    assert_eq!(takethis(&mut wire, &id("a", 1), &one)[..3], *"239");
    assert_eq!(takethis(&mut wire, &id("a", 1), &one)[..3], *"439");
    let unapproved = article(&id("a", 2), "comp.mod");
    assert_eq!(takethis(&mut wire, &id("a", 2), &unapproved)[..3], *"439");
    let undated = with(&id("a", 3), "comp.test", "Expires: x\n", b"x\n");
    let undated = String::from_utf8(undated).unwrap();
    let undated = undated.replace("Mon, 20 Dec 1993 04:39:21 GMT", "soon");
    let undated = undated.as_bytes();
    assert_eq!(takethis(&mut wire, &id("a", 3), undated)[..3], *"439");
    assert_eq!(takethis(&mut wire, &id("a", 4), &one)[..3], *"439");
    assert_eq!(wire.ask("GROUP comp.test\r\n")[..3], *"211");
    assert_eq!(wire.ask("ARTICLE 1\r\n")[..3], *"220");
    while wire.line() != "." {}
    assert_eq!(wire.ask("STAT 1\r\n")[..3], *"223");

    let told = status(&program);
    let nntp = &told["daemon"]["nntp"];
    assert_eq!(nntp["connections"], 1);
    assert_eq!((&nntp["peers"], &nntp["readers"]), (&1.into(), &1.into()));
    let entry = &nntp["entries"][0];
    assert_eq!(entry["name"], "peer.example");
    let expected = [
        ("offered", 5),
        ("accepted", 1),
        ("duplicates", 1),
        ("articles_sent", 1),
        ("connections", 1),
    ];
    for (name, count) in expected {
        assert_eq!(entry[name], count, "{name} of {entry}");
    }
    for (reason, count) in [
        ("unapproved", 1),
        ("date", 1),
        ("malformed", 1),
        ("size", 0),
    ] {
        assert_eq!(entry["refused"][reason], count, "{reason} of {entry}");
    }
    assert_eq!(entry["latency"]["count"], 1);
    let store = &told["daemon"]["store"];
    assert_eq!(store["articles"], 1);
    assert!(store["commits"]["count"].as_u64().unwrap() >= 1);
    assert!(store["free_bytes"].as_u64().unwrap() > 0);
    assert_eq!(told["daemon"]["intake"]["state"], "open");

    let shown = program.run(&["status", "--dir", "news"]).out;
    let row = shown.lines().find(|line| line.starts_with("peer.example"));
    let words: Vec<&str> = row.unwrap().split_whitespace().collect();
    assert_eq!(words[..7], ["peer.example", "1", "5", "1", "1", "3", "0"]);

    let page = http(&metrics, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    for sample in [
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n",
        "broadsheet_offered_total{entry=\"peer.example\"} 5\n",
        "broadsheet_accepted_total{entry=\"peer.example\"} 1\n",
        "broadsheet_refused_total{entry=\"peer.example\",reason=\"unapproved\"} 1\n",
        "broadsheet_filing_latency_seconds_count{entry=\"peer.example\"} 1\n",
        "broadsheet_intake_state{state=\"open\"} 1\n",
        "broadsheet_filed_articles_total 1\n",
        "broadsheet_segments 1\n",
    ] {
        assert!(page.contains(sample), "{sample} is not in {page}");
    }
    exposition_is_well_formed(page.split_once("\r\n\r\n").unwrap().1);
    let curl = Command::new("curl")
        .args(["-sSf", &format!("http://{metrics}/metrics")])
        .output();
    match curl {
        Ok(told) => assert!(String::from_utf8_lossy(&told.stdout).contains("broadsheet_offered")),
        Err(_) => println!("skipped: curl is not here"),
    }

    wire.ask("QUIT\r\n");
    let line = daemon.until_said("peer_left");
    for part in [
        "entry=peer.example",
        "offered=5 accepted=1 duplicates=1",
        "refused=3",
        "refused_unapproved=1",
    ] {
        assert!(line.contains(part), "{part} is not in {line}");
    }
    until("nobody", || {
        status(&program)["daemon"]["nntp"]["connections"] == 0
    });
    let gone = status(&program);
    assert_eq!(gone["daemon"]["nntp"]["peers"], 0);
    assert_eq!(gone["daemon"]["nntp"]["entries"][0]["offered"], 5);
    daemon.stop();
}

/// Each sample belongs to the family that was begun before it, no family comes twice, and every value is a number.
fn exposition_is_well_formed(page: &str) {
    let mut begun: Vec<&str> = Vec::new();
    assert!(page.ends_with('\n'));
    for line in page.lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(!begun.contains(&name), "{name} comes twice");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            begun.push(name);
        } else if !line.starts_with("# HELP ") {
            let (sample, value) = line.rsplit_once(' ').unwrap();
            let name = sample.split('{').next().unwrap();
            let family = *begun.last().unwrap();
            let is_part = ["", "_bucket", "_sum", "_count"]
                .iter()
                .any(|part| format!("{family}{part}") == name);
            assert!(is_part, "{line} behind {family}");
            assert!(value.parse::<f64>().is_ok(), "{line}");
        }
    }
}

/// Adds the keys of all objects in a value.
fn keys(value: &serde_json::Value, found: &mut std::collections::BTreeSet<String>) {
    match value {
        serde_json::Value::Object(object) => {
            for (key, value) in object {
                found.insert(key.clone());
                keys(value, found);
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
        _ => {}
    }
}

#[test]
fn every_field_of_status_is_documented() {
    let (program, daemon) = served();
    let nntp = address(&daemon, "listening at ");
    daemon.until_notified("READY=1");
    // A feed that is behind, and an entry with a client.
    let text = program.read("news/broadsheet.toml")
        + "\n[[site]]\nname = \"north\"\ngroups = \"all\"\nvia = { nntp = \"127.0.0.1:1\" }\n";
    program.write("news/broadsheet.toml", text.as_bytes());
    assert_eq!(program.run(&["reload", "--dir", "news"]).status, 0);
    let mut wire = Wire::connect(&nntp);
    wire.line();
    let one = article("<1@example.com>", "comp.test");
    program.rnews(&program::articles::batch(&[one]));
    let mut status = status(&program);
    until("the feed is behind", || {
        status = self::status(&program);
        status["feeds"]["behind"][0]["site"] == "north" && status["daemon"]["peers"][0].is_object()
    });
    let mut found = std::collections::BTreeSet::new();
    keys(&status, &mut found);
    assert!(
        found.contains("newsrunning") && found.contains("latency"),
        "{status}"
    );
    let page =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats/status.md");
    let page = std::fs::read_to_string(page).unwrap();
    let named: Vec<&str> = page
        .split('`')
        .skip(1)
        .step_by(2)
        .flat_map(|code| code.split(['.', ' ', ',']))
        .collect();
    for key in found {
        assert!(
            named.contains(&key.as_str()),
            "docs/formats/status.md lacks `{key}'"
        );
    }
    daemon.stop();
}
