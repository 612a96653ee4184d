//! Plays every case against the server that `NNTP_TEST_SUBJECT` selects: Broadsheet by default.

use std::path::Path;

use conformance::case;
use conformance::play::play;
use conformance::report::{Report, expected};
use conformance::subject::{Absent, Subject, VARIABLE};

/// Plays only the cases whose names contain the value of this variable.
const ONLY: &str = "NNTP_TEST_ONLY";

#[test]
fn it_conforms() {
    let name = std::env::var(VARIABLE).unwrap_or_default();
    let only = std::env::var(ONLY).unwrap_or_default();
    let subject = match Subject::named(&name) {
        Ok(subject) => subject,
        Err(Absent::Missing(why)) => {
            eprintln!("skipped: conformance ({why})");
            return;
        }
        Err(Absent::Broken(why)) => panic!("{why}"),
    };
    let mut report = Report::default();
    let cases = case::all().expect("understood");
    for case in cases.iter().filter(|case| case.name.contains(&only)) {
        report.add(&case.name, play(case, &subject));
    }
    let list = format!("expected/{}.txt", subject.name());
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join(list);
    let list = std::fs::read_to_string(list).unwrap_or_default();
    for line in report.skipped() {
        println!("skipped: {line}");
    }
    for line in report.failures() {
        println!("failed: {line}");
    }
    let (passed, failed, skipped) = report.counts();
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    let mut known = expected(&list);
    if !only.is_empty() {
        known.retain(|name| name.contains(&only));
    }
    let surprises = report.surprises(&known);
    assert!(surprises.is_empty(), "{surprises}");
}
