//! A command under strace: its system calls, and faults at them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// Whether strace can trace a program here; if not, the test prints that it is skipped.
pub fn can_trace() -> bool {
    let tried = Command::new("strace")
        .args(["-f", "-o", "/dev/null", "true"])
        .stderr(Stdio::null())
        .status();
    let can = tried.is_ok_and(|status| status.success());
    if !can {
        eprintln!("skipped: faults at system calls (strace is not there, or may not trace)");
    }
    can
}

/// `broadsheet` under strace with these options, without its words. The calls with these names go to the file `trace` in `dir`.
pub fn strace(dir: &Path, names: &str, options: &[&str]) -> Command {
    let mut strace = Command::new("strace");
    strace
        .args(["-o", "trace", "-e", &format!("trace={names}")])
        .args(options)
        .arg(env!("CARGO_BIN_EXE_broadsheet"))
        .env_remove("BROADSHEET_DIR")
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    strace
}

/// The calls in the file `trace` of `dir`, each with its number among those of its name, from the first on that has `begin` in its
/// arguments.
pub fn calls(dir: &Path, begin: &str) -> Vec<(String, usize)> {
    let text = std::fs::read(dir.join("trace")).unwrap();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut calls = Vec::new();
    let mut is_begun = false;
    for line in String::from_utf8_lossy(&text).lines() {
        let Some((call, arguments)) = line.split_once('(') else {
            continue;
        };
        // The number of a thread may precede the name.
        let name = call.rsplit(' ').next().unwrap().to_owned();
        let count = counts.entry(name.clone()).or_default();
        *count += 1;
        is_begun |= arguments.contains(begin);
        if is_begun {
            calls.push((name, *count));
        }
    }
    calls
}

/// The option of strace for a fault at one call.
pub fn inject(name: &str, fault: &str, count: usize) -> String {
    format!("inject={name}:{fault}:when={count}")
}

/// Calls or rounds of a test: BROADSHEET_TEST_ROUNDS, else the usual number.
pub fn rounds(usual: usize) -> usize {
    let told = std::env::var("BROADSHEET_TEST_ROUNDS").ok();
    told.and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Copies a directory; an older copy is removed first.
pub fn copy(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.unwrap().success());
}
