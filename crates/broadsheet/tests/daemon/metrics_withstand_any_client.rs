//! The page of metrics is given to GET and HEAD alone; garbage, endless and silent requests are answered or dropped soon.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use program::Program;
use program::daemon::{Daemon, PATIENCE};
use program::wire::{address, http};

fn served() -> (Program, Daemon, String) {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    program.set("metrics = \"\"", "metrics = \"127.0.0.1:0\"");
    let daemon = Daemon::launch(&program);
    let metrics = address(&daemon, "metrics at http://");
    (program, daemon, metrics)
}

#[test]
fn only_the_page_and_only_get_and_head() {
    let (_program, daemon, metrics) = served();
    let status = |request: &str| http(&metrics, request).lines().next().unwrap().to_owned();
    assert_eq!(status("GET /metrics HTTP/1.1\r\n\r\n"), "HTTP/1.1 200 OK");
    assert_eq!(status("GET / HTTP/1.1\r\n\r\n"), "HTTP/1.1 404 Not Found");
    let told = http(&metrics, "POST /metrics HTTP/1.1\r\n\r\n");
    assert!(told.starts_with("HTTP/1.1 405 "), "{told}");
    assert!(told.contains("\r\nAllow: GET, HEAD\r\n"), "{told}");
    let head = http(&metrics, "HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(head.ends_with("\r\n\r\n"), "{head}");
    assert_eq!(
        status("\0\u{1}\u{2} nonsense\r\n\r\n"),
        "HTTP/1.1 400 Bad Request"
    );
    let long = format!(
        "GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n",
        "x".repeat(100_000)
    );
    let told = http(&metrics, &long);
    assert!(told.starts_with("HTTP/1.1 431 "), "{told}");
    daemon.stop();
}

#[test]
fn half_requests_keep_nobody_out() {
    let (_program, daemon, metrics) = served();
    let half = |_| {
        let mut half = TcpStream::connect(&metrics).unwrap();
        half.write_all(b"GET /metrics HTTP/1.1\r\nX").unwrap();
        half
    };
    // One after the other, each with its two seconds, they would take minutes.
    let _halves: Vec<TcpStream> = (0..130).map(half).collect();
    let told = http(&metrics, "GET /metrics HTTP/1.1\r\n\r\n");
    assert!(told.starts_with("HTTP/1.1 200 "), "{told}");
    daemon.stop();
}

#[test]
fn who_says_nothing_keeps_others_waiting_for_two_seconds_at_most() {
    let (_program, daemon, metrics) = served();
    let mut silent = TcpStream::connect(&metrics).unwrap();
    silent.write_all(b"GET /met").unwrap();
    let began = Instant::now();
    let told = http(&metrics, "GET /metrics HTTP/1.1\r\n\r\n");
    assert!(told.starts_with("HTTP/1.1 200 "), "{told}");
    assert!(began.elapsed() < PATIENCE / 2);
    silent
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    assert_eq!(silent.read_to_end(&mut Vec::new()).unwrap_or(0), 0);
    // Gone before the answer.
    for _ in 0..20 {
        let mut gone = TcpStream::connect(&metrics).unwrap();
        gone.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let _ = gone.shutdown(Shutdown::Both);
    }
    let told = http(&metrics, "GET /metrics HTTP/1.1\r\n\r\n");
    assert!(told.starts_with("HTTP/1.1 200 "), "{told}");
    daemon.stop();
}

#[test]
fn an_address_beyond_this_machine_has_to_be_meant() {
    let program = Program::with_news("");
    program.set("metrics = \"\"", "metrics = \"0.0.0.0:9119\"");
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 78, "{told:?}");
    assert!(told.err.contains("say \"open 0.0.0.0:9119\""), "{told:?}");
    program.set(
        "metrics = \"0.0.0.0:9119\"",
        "metrics = \"open 0.0.0.0:9119\"",
    );
    assert_eq!(program.run(&["check", "--dir", "news"]).status, 0);
}
