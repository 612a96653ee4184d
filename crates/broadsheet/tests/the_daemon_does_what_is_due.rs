//! Batches that come into in.coming/ are filed, and expire runs at its time.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

mod program;

use program::Program;
use program::articles::{batch, many};
use program::daemon::{Daemon, until};

fn filed(program: &Program) -> usize {
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    rows.lines().count()
}

#[test]
fn in_coming_is_drained() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    program.write("1.batch", &batch(&many("before", 3, "comp.test", 100)));
    std::fs::rename(
        program.path("1.batch"),
        program.path("news/in.coming/5.700000000a.t"),
    )
    .unwrap();
    let daemon = Daemon::start(&program);
    until("the batch that waited", || filed(&program) == 3);
    // A batch that is moved in, and one that is not a batch at all.
    program.write("2.batch", &batch(&many("after", 4, "comp.test", 100)));
    std::fs::rename(
        program.path("2.batch"),
        program.path("news/in.coming/5.700000001a.t"),
    )
    .unwrap();
    until("the batch that came", || filed(&program) == 7);
    until("an empty in.coming", || {
        program.files("news/in.coming").is_empty()
    });
    daemon.stop();
    program.assert_clean();
}

#[test]
fn expire_runs_by_itself() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let settings = program
        .read("news/broadsheet.toml")
        .replace("expire = \"04:30\"", "expire = \"every 6 h\"");
    assert!(settings.contains("every 6 h"));
    program.write("news/broadsheet.toml", settings.as_bytes());
    let daemon = Daemon::start(&program);
    daemon.until_said("expire started");
    let ended = daemon.until_said("expire ended");
    assert_eq!(ended, "broadsheet: expire ended");
    assert!(program.read("news/schedule").starts_with("expire "));
    daemon.stop();
    // It was not long ago: the next daemon does not start it again.
    let daemon = Daemon::start(&program);
    assert_eq!(
        program
            .rnews(&batch(&many("new", 3, "comp.test", 100)))
            .count("accepted"),
        3
    );
    daemon.signal("TERM");
    let mut told = Vec::new();
    while !told
        .last()
        .is_some_and(|line: &String| line.contains("stopped"))
    {
        told.push(daemon.until_said("broadsheet"));
    }
    assert!(!told.iter().any(|line| line.contains("expire")), "{told:?}");
}
