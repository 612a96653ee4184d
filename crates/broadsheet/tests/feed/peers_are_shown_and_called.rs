//! `peer show` remembers what `peer add` was given for the other site, and `check` calls the peers that are fed.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use std::net::TcpListener;

use super::peers_are_added_and_tested::{good, site};
use crate::program::nntp::Served;

#[test]
fn what_the_other_site_needs_is_remembered() {
    for (direction, keys) in [("both", 1), ("in", 1), ("out", 1)] {
        let (here, _) = site("here.example");
        let words = [
            "peer",
            "add",
            "there.example",
            "--dir",
            "news",
            "--json",
            "--no-test",
            "--direction",
            direction,
            "--host",
            "127.0.0.1:1",
            "--own-host",
            "192.0.2.8",
        ];
        let bind = ["--bind", "127.0.0.3"];
        let added = good(here.run(&[&words[..], &bind].concat())).summary();
        let text = here.read("news/broadsheet.toml");
        assert_eq!(
            text.matches("own_host = \"192.0.2.8\"").count(),
            keys,
            "{text}"
        );
        let show = ["peer", "show", "there.example", "--dir", "news", "--json"];
        let shown = good(here.run(&show)).summary();
        assert_eq!(shown["lines"], added["lines"], "{direction}");
        let lines = shown["lines"].to_string();
        // The peer calls the host, and is called from the address of `bind'.
        assert_eq!(lines.contains("192.0.2.8"), direction != "out", "{lines}");
        assert_eq!(lines.contains("127.0.0.3"), direction != "in", "{lines}");
        let told = here.run(&[&show[..], &["--own-host", "192.0.2.9"]].concat());
        let other = good(told).summary()["lines"].to_string();
        assert_eq!(other.contains("192.0.2.9"), direction != "out", "{other}");
        good(here.run(&["check", "--dir", "news"]));
    }
}

#[test]
fn check_calls_peers_for_which_nothing_waits() {
    let (here, _) = site("here.example");
    let (there, port) = site("there.example");
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let dead = free.local_addr().unwrap().to_string();
    drop(free);
    let address = format!("127.0.0.1:{port}");
    for (name, host) in [
        ("there.example", &address),
        ("dead.example", &dead),
        ("paused.example", &dead),
    ] {
        let words = [
            "peer",
            "add",
            name,
            "--dir",
            "news",
            "--no-test",
            "--direction",
            "out",
            "--host",
            host,
        ];
        good(here.run(&words));
    }
    good(here.run(&["feed", "list", "--dir", "news"]));
    good(here.run(&["feed", "pause", "--dir", "news", "paused.example"]));
    let served = Served::start(&there);
    let told = good(here.run(&["check", "--dir", "news"])).out;
    assert!(
        told.contains("\npeers: 2 peers called, 1 paused or outside their hours\n"),
        "{told}"
    );
    let warnings: Vec<&str> = told
        .lines()
        .filter(|line| line.contains("warning: dead.example: port: "))
        .collect();
    assert_eq!(warnings.len(), 1, "{told}");
    assert!(
        !told.contains("warning: paused.example") && !told.contains("warning: there.example"),
        "{told}"
    );
    let quiet = here.run(&["check", "-q", "--dir", "news"]).out;
    assert!(!quiet.contains("dead.example"), "{quiet}");
    served.daemon.stop();
}
