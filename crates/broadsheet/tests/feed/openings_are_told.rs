//! Whichever command opens the news directory first after the index was lost tells that it made it again, and only this one.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

use crate::program;

use program::Program;
use program::articles::{batch, many};

#[test]
fn the_first_command_tells() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let told = program.rnews(&batch(&many("one", 3, "comp.test", 100)));
    assert_eq!(told.count("accepted"), 3, "{told:?}");
    for words in [
        &["status"][..],
        &["status", "--json"],
        &["feed", "list"],
        &["overview", "comp.test"],
        &["history", "dump"],
        &["expire"],
        &["expire", "--dry-run"],
        &["group", "list"],
        &["rnews", "/dev/null"],
    ] {
        std::fs::remove_file(program.path("news/index")).unwrap();
        let words = [words, &["--dir", "news"]].concat();
        let told = program.run(&words);
        assert_eq!(told.status, 0, "{words:?} {told:?}");
        let made = "broadsheet: the index was missing or damaged: made again";
        let is_told = |told: &program::Told| told.err.matches(made).count();
        // A list of groups needs no index.
        let expected = usize::from(words.first() != Some(&"group"));
        assert_eq!(is_told(&told), expected, "{words:?} {told:?}");
        assert!(!told.out.contains(made), "{words:?} {told:?}");
        let again = program.run(&["status", "--dir", "news"]);
        assert_eq!(is_told(&again), 1 - expected, "{words:?} {again:?}");
    }
}
