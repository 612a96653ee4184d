//! A thousand power cuts on ext4 (also with `data=journal`), XFS and btrfs: acknowledged articles are there, complete, under their numbers; cancelled
//! and expired ones stay removed.

#![allow(clippy::unwrap_used)]

use std::process::Command;

/// Number of power cuts in all.
const POINTS: u64 = 1_000;

#[test]
fn a_thousand_power_cuts_lose_nothing() {
    let keep = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("recordings");
    // The same cuts every time; `make torture` tries others.
    let output = Command::new(env!("CARGO_BIN_EXE_torture"))
        .args(["all", "--seed", "1", "--points", &POINTS.to_string()])
        .arg("--keep")
        .arg(&keep)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let is_told = said.lines().any(|line| {
        line.starts_with("skipped: ") || line.starts_with(&format!("{POINTS} power cuts ("))
    });
    assert!(is_told, "neither cuts nor a reason for skipping them");
    let mut runs = said
        .lines()
        .filter(|line| line.contains(" objects at the end"));
    let are_away = runs.clone().any(|line| !line.contains("; 0 objects"));
    assert!(runs.next().is_none() || are_away, "no articles moved away");
}
