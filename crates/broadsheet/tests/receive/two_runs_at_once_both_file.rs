//! Runs of rnews wait for each other, and all file their batches.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::io::Write;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use program::Program;
use program::articles::{batch, id, many};

/// Longer than this nothing here takes.
const PATIENCE: Duration = Duration::from_secs(60);

fn start(program: &Program) -> Child {
    program
        .command(&["rnews", "--dir", "news", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until /proc/locks says that the process waits for a lock.
fn until_it_waits(process: u32) {
    let began = Instant::now();
    let process = process.to_string();
    loop {
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        let found = locks.lines().any(|line| {
            line.contains("FLOCK")
                && line.contains("-> ")
                && line.split_whitespace().any(|word| word == process)
        });
        if found {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "no lock by {process}:\n{locks}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn two_runs_wait_for_who_has_the_lock() {
    if !std::path::Path::new("/proc/locks").exists() {
        eprintln!("skipped: /proc/locks is not present");
        return;
    }
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let lock = store::Lock::take_named(&program.path("news"), "lock", true).unwrap();
    let mut children = ["first", "second"].map(|prefix| {
        let mut child = start(&program);
        let mut input = child.stdin.take().unwrap();
        input
            .write_all(&batch(&many(prefix, 20, "comp.test", 100)))
            .unwrap();
        child
    });
    for child in &mut children {
        until_it_waits(child.id());
        assert!(child.try_wait().unwrap().is_none());
    }
    drop(lock);
    for child in children {
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{done:?}");
        let summary: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!(summary["accepted"], 20);
    }
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    let ids: Vec<&str> = rows
        .lines()
        .map(|row| row.split('\t').nth(4).unwrap())
        .collect();
    let of = |prefixes: [&str; 2]| -> Vec<String> {
        let all = prefixes.iter();
        all.flat_map(|prefix| (1..=20).map(move |number| id(prefix, number)))
            .collect()
    };
    assert!(ids == of(["first", "second"]) || ids == of(["second", "first"]));
    program.assert_clean();
}

#[test]
fn many_at_once_all_file() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let children: Vec<Child> = (0..8)
        .map(|run| {
            let mut child = start(&program);
            let mut input = child.stdin.take().unwrap();
            let text = batch(&many(&format!("run{run}"), 25, "comp.test", 50));
            std::thread::spawn(move || input.write_all(&text).unwrap());
            child
        })
        .collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    let numbers: Vec<usize> = rows
        .lines()
        .map(|row| row.split('\t').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(numbers, (1..=200).collect::<Vec<_>>());
    program.assert_clean();
}
