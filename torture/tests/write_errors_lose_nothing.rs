//! Writes and flushes of the disk fail, or it is full: every article acknowledged then, often after a retry of the same step in the same mount, is there
//! after the file system was unmounted and no cache helps.

#![allow(clippy::unwrap_used)]

use std::process::Command;

/// Seeds of the workloads for each file system.
const SEEDS: [u64; 3] = [1, 2, 3];

#[test]
fn acknowledged_articles_read_well_after_write_errors() {
    for file_system in ["ext4", "xfs", "btrfs"] {
        for seed in SEEDS {
            no_losses(file_system, seed);
        }
    }
    // It writes everything twice, so one seed is enough for each run of the tests.
    no_losses("ext4-data-journal", 1);
}

fn no_losses(file_system: &str, seed: u64) {
    let output = Command::new(env!("CARGO_BIN_EXE_torture"))
        .args(["faults", "--fs", file_system, "--seed", &seed.to_string()])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{file_system}: {error}");
    let is_told = said.starts_with("skipped: ") || said.contains(" losses at 0;");
    assert!(is_told, "{file_system}: {error}");
    // Without a failed write and a full disk the test shows nothing.
    assert!(!said.contains(", 0 writes and 0 flushes failed"), "{said}");
    assert!(!said.contains(", 0 of them a full disk"), "{said}");
}
