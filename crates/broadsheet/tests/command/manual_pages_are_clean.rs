//! Every command has a manual page, and the formatter has nothing to say about it.

use std::process::Command;

use crate::program;
use program::Program;

#[test]
fn every_page_formats_without_a_warning() {
    let program = Program::new();
    assert_eq!(program.run(&["man", "--out", "man8"]).status, 0);
    let pages: Vec<_> = std::fs::read_dir(program.path("man8"))
        .unwrap()
        .map(|page| page.unwrap().path())
        .collect();
    assert!(
        pages
            .iter()
            .any(|page| page.ends_with("broadsheet-group-match.8"))
    );
    assert!(pages.iter().any(|page| page.ends_with("broadsheet.8")));
    if Command::new("groff").arg("--version").output().is_err() {
        eprintln!("skipped: formatting the manual pages (groff is not present)");
        return;
    }
    for page in pages {
        let output = Command::new("groff")
            .args(["-man", "-ww", "-Tascii"])
            .arg(&page)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && said.is_empty(),
            "{}: {said}",
            page.display()
        );
    }
}

#[test]
fn a_page_on_standard_output() {
    let program = Program::new();
    let told = program.run(&["man", "group", "match"]);
    assert!(
        told.out.starts_with(".TH BROADSHEET\\-GROUP\\-MATCH 8"),
        "{}",
        told.out
    );
    program.run(&["man", "--out", "m"]);
    assert_eq!(told.out, program.read("m/broadsheet-group-match.8"));
}
