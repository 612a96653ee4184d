//! A daemon with nothing to do makes no system call at all.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

mod program;

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
    let daemon = Daemon::start(&program);
    let told = program.rnews(&batch(&many("a", 3, "comp.test", 100)));
    assert_eq!(told.count("accepted"), 3, "{told:?}");
    assert_eq!(
        program
            .run(&["group", "add", "--dir", "news", "misc.new"])
            .status,
        0
    );
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
