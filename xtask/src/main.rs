//! `cargo xtask check`: what the repository promises about itself. It prints each fault on a line, and fails if there is one.
//!
//! | module | promise |
//! |---|---|
//! | [`root`] | nothing but what is listed stands in the root |
//! | [`crates`] | a crate uses only crates before it, and ARCHITECTURE.md names them |
//! | [`dependencies`] | each crate from outside has its row in docs/dependencies.md |
//! | [`invariants`] | each invariant of ARCHITECTURE.md names tests that exist |
//! | [`manual`] | links lead somewhere; chapters are listed; lines and paragraphs are short |

mod crates;
mod dependencies;
mod files;
mod invariants;
mod manual;
mod root;

use std::path::Path;
use std::process::ExitCode;

/// A check: the faults that it finds in the repository at a path.
type Check = fn(&Path) -> Vec<String>;

const CHECKS: [Check; 5] = [
    root::faults,
    crates::faults,
    dependencies::faults,
    invariants::faults,
    manual::faults,
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words != ["check"] {
        eprintln!("usage: cargo xtask check");
        return ExitCode::from(2);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let faults: Vec<String> = CHECKS.iter().flat_map(|check| check(&root)).collect();
    for fault in &faults {
        eprintln!("{fault}");
    }
    if faults.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("{} faults of the repository", faults.len());
    ExitCode::FAILURE
}
