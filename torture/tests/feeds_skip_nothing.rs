//! Power cuts while a daemon feeds a peer by NNTP: the cursor is never ahead of the peer, and the peer never ahead of the disk.

#![allow(clippy::unwrap_used)]

use std::process::Command;

/// Number of power cuts.
const POINTS: u64 = 150;

#[test]
fn a_feed_by_nntp_skips_nothing() {
    let output = Command::new(env!("CARGO_BIN_EXE_torture"))
        .args(["feeds", "--fs", "ext4", "--seed", "1"])
        .args(["--points", &POINTS.to_string()])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let told = format!("{POINTS} power cuts of a feed; losses at 0 points");
    assert!(
        said.starts_with("skipped: ") || said.contains(&told),
        "neither cuts nor a reason for skipping them"
    );
}
