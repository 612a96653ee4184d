//! Slips on the command line end with 64 and say what was meant.

use crate::program;
use program::Program;

#[test]
fn unknown_words_and_flags_name_the_nearest() {
    let program = Program::new();
    for (words, told) in [
        (&[][..], "a command is missing"),
        (&["rnew"], "did you mean rnews?"),
        (&["group", "lst"], "did you mean group list?"),
        (&["rnews", "--jsn"], "did you mean --json?"),
        (&["rnews", "--sync", "comit"], "did you mean commit?"),
        (&["relaynews", "-d", "x"], "broadsheet explain FILE"),
        (&["rnews", "-n"], "no links are made"),
        (&["fsck", "extra"], "accepts no operands"),
        (&["group", "match", "comp"], "needs PATTERN GROUP..."),
        (&["newsrun"], "the news directory is missing"),
        (
            &["serve", "--dir", "news", "--listen", "localhost:119"],
            "--listen: `localhost:119' is not a valid listening address",
        ),
    ] {
        let said = program.run(words);
        assert_eq!(said.status, 64, "{words:?}: {said:?}");
        assert!(said.err.contains(told), "{words:?}: {said:?}");
        assert!(said.out.is_empty(), "{words:?}: {said:?}");
    }
}

#[test]
fn values_that_cannot_be_are_refused_before_anything_is_done() {
    let program = Program::with_news("");
    for (words, told) in [
        (
            &["-c", "here"][..],
            "-c needs an absolute directory, not `here'",
        ),
        (&["-o", "soon"], "--older needs a whole number, not `soon'"),
    ] {
        let words: Vec<&str> = ["rnews", "--dir", "news"]
            .iter()
            .chain(words)
            .copied()
            .collect();
        let said = program.run(&words);
        assert_eq!(said.status, 64, "{words:?}: {said:?}");
        assert!(said.err.contains(told), "{words:?}: {said:?}");
    }
}

#[test]
fn a_directory_in_the_place_of_a_file_is_named() {
    let program = Program::with_news("test 0 1 y\n");
    std::fs::create_dir(program.path("folder")).expect("a directory");
    for words in [
        &["batcher", "--dir", "news", "folder"][..],
        &["inews", "--dir", "news", "-n", "test", "folder"],
        &["explain", "--dir", "news", "folder"],
        &["history", "import", "--dir", "news", "folder"],
    ] {
        let said = program.run(words);
        assert_ne!(said.status, 0, "{words:?}: {said:?}");
        assert!(
            said.err.contains("cannot read folder: "),
            "{words:?}: {said:?}"
        );
    }
}

#[test]
fn help_lists_what_begins_with_a_word() {
    let program = Program::new();
    for (noun, words) in [
        (
            "user",
            &["user add", "user passwd", "user remove", "user list"][..],
        ),
        ("access", &["access explain"]),
        ("intake", &["intake pause", "intake resume", "intake show"]),
    ] {
        let told = program.run(&["help", noun]);
        assert_eq!(told.status, 0, "{told:?}");
        for word in words {
            let lines = told
                .out
                .lines()
                .filter(|line| line.trim().starts_with(word));
            assert_eq!(lines.count(), 1, "{word}: {told:?}");
        }
    }
    let told = program.run(&["help", "usr"]);
    assert_eq!(told.status, 64, "{told:?}");
}
