//! A daemon with nothing to do makes no system call at all.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use program::Program;
use program::articles::{batch, many};
use program::daemon::{Daemon, until};

/// How long it is watched.
const WATCHED: Duration = Duration::from_secs(10);

#[test]
fn ten_seconds_without_a_system_call() {
    let is_there = Command::new("strace")
        .arg("-V")
        .stdout(Stdio::null())
        .status();
    if !is_there.is_ok_and(|status| status.success()) {
        eprintln!("skipped: strace is not installed");
        return;
    }
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    // Feeds of each kind do nothing either: one that has all, one that is paused, one that is not due.
    let sites = "\n[[site]]\nname = \"has-all\"\ngroups = \"comp\"\nvia = { program = \"cat\", gives = \"id\" }\n\
         [[site]]\nname = \"paused\"\ngroups = \"comp\"\nvia = { files = \"list\" }\n\
         [[site]]\nname = \"later\"\ngroups = \"comp\"\nvia = { batch = \"cat\", schedule = \"every 6 h\" }\n";
    let settings = program.read("news/broadsheet.toml") + sites;
    program.write("news/broadsheet.toml", settings.as_bytes());
    let told = program.run(&["feed", "list", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    let told = program.run(&["feed", "pause", "--dir", "news", "paused"]);
    assert_eq!(told.status, 0, "{told:?}");
    let daemon = Daemon::start(&program);
    daemon.until_said("sendbatches later ended");
    let told = program.rnews(&batch(&many("a", 3, "comp.test", 100)));
    assert_eq!(told.count("accepted"), 3, "{told:?}");
    assert_eq!(
        program
            .run(&["group", "add", "--dir", "news", "misc.new"])
            .status,
        0
    );
    until("what the feeds should have", || {
        let told = program.run(&["feed", "list", "--dir", "news", "--json"]);
        let states = told.out.lines().map(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            (line["sent"].as_u64().unwrap(), line["state"].clone())
        });
        let expected = [
            (3, "ready".into()),
            (0, "paused".into()),
            (0, "ready".into()),
        ];
        states.eq(expected)
    });
    until("idleness", || {
        let told = program.run(&["status", "--dir", "news", "--json"]);
        told.summary()["daemon"]["state"] == "idle"
    });
    let mut strace = Command::new("strace")
        .args(["-f", "-o"])
        .arg(program.path("calls"))
        .args(["-p", &daemon.pid().to_string()])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(strace.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    if !line.contains("attached") {
        eprintln!("skipped: strace may not attach here: {line}");
        strace.wait().unwrap();
        return;
    }
    std::thread::sleep(WATCHED);
    let is_watching = strace.try_wait().unwrap().is_none();
    assert!(is_watching, "strace ended");
    let stopped = Command::new("kill")
        .args(["-s", "INT", &strace.id().to_string()])
        .status();
    assert!(stopped.unwrap().success());
    strace.wait().unwrap();
    let calls = program.read("calls");
    // What it was in the middle of when strace came, and still is.
    let made: Vec<&str> = calls
        .lines()
        .filter(|line| !line.contains("<unfinished ...>") && !line.contains("<detached ...>"))
        .collect();
    assert_eq!(made, Vec::<&str>::new());
    assert!(calls.lines().count() >= 4, "{calls}");
    daemon.stop();
}
