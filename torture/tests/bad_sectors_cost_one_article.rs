//! A sector of an article is unreadable: readers of all other articles are served, no command is killed by a signal, and fsck
//! reports the article.

#![allow(clippy::unwrap_used)]

use std::process::Command;

#[test]
fn everybody_else_is_served() {
    run("sectors");
}

#[test]
fn large_folios_cost_no_more() {
    run("folios");
}

fn run(verb: &str) {
    for file_system in ["ext4", "xfs", "btrfs"] {
        let output = Command::new(env!("CARGO_BIN_EXE_torture"))
            .args([verb, "--fs", file_system, "--seed", "2"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        println!("{said}");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{file_system}: {error}");
        assert!(
            said.starts_with("skipped: ") || !said.contains(" 0 reads failed"),
            "{said}"
        );
    }
}
