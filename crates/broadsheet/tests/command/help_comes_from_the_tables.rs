//! Help texts are kept as golden files: a change of words is a change to look at.

use crate::program;
use program::{Program, golden};

#[test]
fn the_list_of_commands() {
    let program = Program::new();
    let told = program.run(&["help"]);
    assert_eq!(told.status, 0);
    golden("help.txt", &told.out);
    assert_eq!(program.run(&["--help"]).out, told.out);
}

#[test]
fn one_command_with_classic_and_refused_flags() {
    let program = Program::new();
    let told = program.run(&["help", "rnews"]);
    assert_eq!(told.status, 0);
    golden("help-rnews.txt", &told.out);
    assert_eq!(program.run(&["rnews", "--help"]).out, told.out);
    assert_eq!(program.run(&["help", "relaynews"]).out, told.out);
}

#[test]
fn a_command_of_two_words() {
    let program = Program::new();
    let told = program.run(&["group", "match", "--help"]);
    golden("help-group-match.txt", &told.out);
    assert_eq!(program.run(&["help", "group", "match"]).out, told.out);
}

#[test]
fn an_unknown_command_is_a_usage_error_with_the_nearest() {
    let told = Program::new().run(&["help", "rnewz"]);
    assert_eq!(told.status, 64);
    assert!(told.err.contains("did you mean rnews?"), "{told:?}");
}

#[test]
fn a_group_of_commands_is_listed() {
    let program = Program::new();
    let told = program.run(&["feed", "--help"]);
    let listed = program.run(&["help", "feed"]).out;
    assert_eq!((told.status, &told.out), (0, &listed));
    assert!(told.out.contains("feed list"), "{told:?}");
}
