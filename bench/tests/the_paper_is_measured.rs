//! `bench paper` runs to its end: each process that it measures finds its input.

use std::path::Path;
use std::process::Command;

#[test]
fn in_one_round() {
    let bench = Path::new(env!("CARGO_BIN_EXE_bench"));
    let binary = bench.with_file_name("broadsheet");
    if !binary.exists() {
        eprintln!("skipped: bench paper ({} is not built)", binary.display());
        return;
    }
    let room = tempfile::tempdir().unwrap();
    let mut command = Command::new(bench);
    command.args(["paper", "--rounds", "1", "--binary"]);
    command.arg(&binary).arg("--dir").arg(room.path());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let printed = String::from_utf8_lossy(&output.stdout);
    for row in [
        "file, one process an article",
        "file, one process",
        "reject all, one process an article",
        "reject all, one process",
        "expire, nothing goes",
    ] {
        let has = |line: &str| {
            let figures = line.strip_prefix(row).unwrap_or_default();
            // Real, user and system time.
            let figures = figures.split_whitespace().take(3);
            figures.filter(|word| word.parse::<f64>().is_ok()).count() == 3
        };
        assert!(printed.lines().any(has), "{row}: {printed}");
    }
}
