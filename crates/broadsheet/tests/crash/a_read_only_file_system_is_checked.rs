//! A news directory on a file system that is mounted read-only: fsck checks what it can, and what cannot be done names the cause.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Output};

use crate::program;
use program::Program;
use program::articles::{batch, many};

/// Runs a command where the news directory is mounted read-only, though its file system can be written. `None`: this user may not.
fn run(program: &Program, words: &str) -> Option<Output> {
    let binary = env!("CARGO_BIN_EXE_broadsheet");
    let script = format!(
        "mount --bind news news && mount -o remount,ro,bind news || exit 99; exec \"{binary}\" {words}"
    );
    let done = Command::new("unshare")
        .args(["-m", "sh", "-c", &script])
        .current_dir(program.path("."))
        .env_remove("BROADSHEET_DIR")
        .output();
    let is_root = rustix::process::geteuid().is_root();
    let done = done
        .ok()
        .filter(|done| is_root && done.status.code() != Some(99));
    if done.is_none() {
        println!("skipped: a news directory that is mounted read-only (needs root)");
    }
    done
}

#[test]
fn fsck_checks_and_says_what_it_left_out() {
    let program = Program::with_news("comp.test 0 1 y\n");
    assert_eq!(
        program
            .rnews(&batch(&many("a", 20, "comp.test", 300)))
            .count("accepted"),
        20
    );
    let Some(done) = run(&program, "fsck --dir news") else {
        return;
    };
    let told = String::from_utf8_lossy(&done.stdout) + String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{told}");
    assert!(told.contains("20 articles"), "{told}");
    assert!(
        told.contains("mounted read-only: only its segments"),
        "{told}"
    );
    let done = run(&program, "fsck --repair --dir news").unwrap();
    let told = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{told}");
    assert!(told.contains("below its ReadWritePaths"), "{told}");
    // What is damaged is found there, too.
    let mut files = program.files("news/segments");
    files.retain(|path| path.extension().is_some_and(|end| end == "art"));
    let path = files.first().unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    *bytes.get_mut(middle).unwrap() ^= 1;
    std::fs::write(path, bytes).unwrap();
    let done = run(&program, "fsck --dir news").unwrap();
    assert_eq!(done.status.code(), Some(1), "{done:?}");
}
