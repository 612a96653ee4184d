//! `upact`: low marks from the lowest article that is there, and nothing else changes.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::articles::{article, batch, id, many, with};
use program::{Program, Told};

const ACTIVE: &str =
    "control 0 1 y\njunk 0 1 y\ncomp.test 0 1 y\ncomp.misc 0 1 y\nold.group 0000000500 00001 y\n";

fn news() -> Program {
    let program = Program::with_classic_cancels(ACTIVE);
    let input = batch(&many("a", 5, "comp.test", 20));
    assert_eq!(program.rnews(&input).count("accepted"), 5);
    program
}

fn cancel(program: &Program, of: &str) {
    let number = of.trim_matches(['<', '>']);
    let control = with(
        &format!("<cancel.{number}>"),
        "comp.misc",
        &format!("Control: cancel {of}\n"),
        b"gone\n",
    );
    assert_eq!(program.rnews(&batch(&[control])).count("accepted"), 1);
}

fn upact(program: &Program, flags: &[&str]) -> Told {
    let told = program.run(&[&["upact", "--dir", "news"], flags].concat());
    assert_eq!(told.status, 0, "{told:?}");
    told
}

/// The line of a group in active, its marks as numbers: `high low`.
fn marks(program: &Program, group: &str) -> (u64, u64) {
    let active = program.read("news/active");
    let line = active
        .lines()
        .find(|line| line.split(' ').next() == Some(group))
        .expect(group);
    let mut numbers = line
        .split(' ')
        .skip(1)
        .map(|word| word.parse().unwrap_or(0));
    (numbers.next().unwrap(), numbers.next().unwrap())
}

fn set_marks(program: &Program, group: &str, high: u64, low: u64) {
    let lines = program.read("news/active");
    let edited: String = lines
        .lines()
        .map(|line| match line.split(' ').next() == Some(group) {
            true => format!("{group} {high:010} {low:05} y\n"),
            false => format!("{line}\n"),
        })
        .collect();
    program.write("news/active", edited.as_bytes());
}

#[test]
fn an_empty_group_gets_one_more_than_its_high_mark_and_others_stay() {
    let program = news();
    let told = upact(&program, &["-bpsv"]);
    assert_eq!(told.out, "old.group low 1 -> 501\n");
    assert_eq!(marks(&program, "old.group"), (500, 501));
    assert_eq!(
        (marks(&program, "comp.test"), marks(&program, "comp.misc")),
        ((5, 1), (0, 1))
    );
    let kept = program.read("news/active");
    let told = upact(&program, &[]);
    assert_eq!((told.out.as_str(), told.err.as_str()), ("", ""));
    assert_eq!(program.read("news/active"), kept);
    program.rnews(&batch(&[article("<1@old>", "old.group")]));
    assert_eq!(marks(&program, "old.group"), (501, 501));
    program.assert_clean();
}

#[test]
fn cancelled_articles_at_the_bottom_are_passed_over_and_their_ids_stay_known() {
    let program = news();
    for number in [1, 2, 4] {
        cancel(&program, &id("a", number));
    }
    let told = upact(&program, &["--json"]);
    let changes = told.summary()["changes"].clone();
    let change = changes
        .as_array()
        .unwrap()
        .iter()
        .find(|change| change["group"] == "comp.test")
        .unwrap();
    assert_eq!(
        (&change["mark"], &change["from"], &change["to"]),
        (&"low".into(), &1.into(), &3.into())
    );
    assert_eq!(marks(&program, "comp.test"), (5, 3));
    // No /expired/ line: what has expired is forgotten at once. These have not, their time is not up.
    program.write("news/explist", b"all x 1000 -\n");
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let later = (now + 86_400).to_string();
    let told = program.run(&["expire", "--dir", "news", "--now", &later]);
    assert_eq!(told.status, 0, "{told:?}");
    let told = program.rnews(&batch(&many("a", 5, "comp.test", 20)));
    assert_eq!(
        told.count("accepted"),
        0,
        "a cancelled article must not come again: {told:?}"
    );
    // The mark is in the log, too.
    std::fs::remove_file(program.path("news/active")).unwrap();
    assert_eq!(
        program.run(&["fsck", "--dir", "news", "--repair"]).status,
        0
    );
    assert_eq!(marks(&program, "comp.test"), (5, 3));
    program.assert_clean();
}

#[test]
fn marks_that_somebody_edited_wrong_are_mended() {
    let program = news();
    program.write("news/explist", b"comp.test x 1 -\nall x 1000 -\n");
    let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let later = (now + 2 * 86_400).to_string();
    assert_eq!(
        program
            .run(&["expire", "--dir", "news", "--now", &later, "--force"])
            .status,
        0
    );
    program.rnews(&batch(&many("b", 4, "comp.test", 20)));
    assert_eq!(marks(&program, "comp.test"), (9, 6));
    set_marks(&program, "comp.test", 2, 1);
    let told = upact(&program, &["-b", "--verbose"]);
    assert!(told.out.contains("comp.test high 2 -> 9\n"), "{told:?}");
    assert!(told.out.contains("comp.test low 1 -> 6\n"), "{told:?}");
    assert!(told.err.contains("below numbers given"), "{told:?}");
    assert_eq!(marks(&program, "comp.test"), (9, 6));
    program.assert_clean();
}

#[test]
fn a_low_mark_never_goes_back_and_that_is_told() {
    let program = news();
    set_marks(&program, "comp.test", 5, 4);
    let told = upact(&program, &["--verbose"]);
    assert!(
        told.err
            .contains("low mark of comp.test is 4, above article 1"),
        "{told:?}"
    );
    assert!(!told.out.contains("comp.test"), "{told:?}");
    assert_eq!(marks(&program, "comp.test"), (5, 4));
    let told = program.run(&["article", "--dir", "news", "comp.test/1"]);
    assert_eq!(told.status, 0, "it is still there: {told:?}");
}

#[test]
fn the_number_sign_is_refused_with_a_hint() {
    let told = news().run(&["upact", "--dir", "news", "-#"]);
    assert_eq!(told.status, 64);
    assert!(told.err.contains("omit it"), "{told:?}");
}
