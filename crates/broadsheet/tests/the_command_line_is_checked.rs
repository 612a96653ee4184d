//! Slips on the command line end with 64 and say what was meant.

mod program;
use program::Program;

#[test]
fn unknown_words_and_flags_name_the_nearest() {
    let program = Program::new();
    for (words, told) in [
        (&[][..], "which command?"),
        (&["rnew"], "did you mean rnews?"),
        (&["group", "lst"], "did you mean group list?"),
        (&["rnews", "--jsn"], "did you mean --json?"),
        (&["rnews", "--sync", "comit"], "did you mean commit?"),
        (&["rnews", "-d"], "broadsheet explain FILE"),
        (&["fsck", "extra"], "takes no operands"),
        (&["group", "match", "comp"], "wants PATTERN GROUP..."),
        (&["rnews"], "which news directory?"),
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
            "-c wants an absolute directory, not `here'",
        ),
        (&["-o", "soon"], "--older wants a whole number, not `soon'"),
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
