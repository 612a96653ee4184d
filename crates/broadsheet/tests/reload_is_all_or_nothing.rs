//! `broadsheet reload` and SIGHUP: new settings are in force at once, faulty ones not at all.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

mod program;

use program::Program;
use program::articles::{batch, many};
use program::daemon::Daemon;

fn refused(program: &Program, prefix: &str) -> u64 {
    let told = program.rnews(&batch(&many(prefix, 1, "comp.test", 100_000)));
    told.count("refused")
}

fn with_limit(program: &Program, good: &str, limit: &str) {
    let settings = good.replace(
        "article_bytes_max = \"8 MiB\"",
        &format!("article_bytes_max = \"{limit}\""),
    );
    assert!(settings.contains(limit));
    program.write("news/broadsheet.toml", settings.as_bytes());
}

#[test]
fn by_command_and_by_signal() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let good = program.read("news/broadsheet.toml");
    let daemon = Daemon::start(&program);
    assert_eq!(refused(&program, "a"), 0);
    with_limit(&program, &good, "8 KiB");
    assert_eq!(refused(&program, "b"), 0, "nothing was reloaded yet");
    let told = program.run(&["reload", "--dir", "news"]);
    assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
    assert_eq!(refused(&program, "c"), 1);
    program.write("news/broadsheet.toml", good.as_bytes());
    daemon.until_said("settings are read again");
    daemon.signal("HUP");
    daemon.until_notified("RELOADING=1");
    daemon.until_notified("READY=1");
    assert_eq!(refused(&program, "d"), 0);
    daemon.stop();
}

#[test]
fn faults_are_told_and_change_nothing() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let good = program.read("news/broadsheet.toml");
    with_limit(&program, &good, "8 KiB");
    let daemon = Daemon::start(&program);
    program.write(
        "news/broadsheet.toml",
        format!("{good}\n[stor]\n").as_bytes(),
    );
    let told = program.run(&["reload", "--dir", "news"]);
    assert_eq!(told.status, 78, "{told:?}");
    assert!(told.err.contains("unknown section [stor]"), "{told:?}");
    assert!(
        told.err.contains("the settings stay as they were"),
        "{told:?}"
    );
    daemon.until_said("unknown section [stor]");
    assert_eq!(refused(&program, "a"), 1);
    // A good broadsheet.toml with a faulty sys is no better.
    program.write("news/broadsheet.toml", good.as_bytes());
    program.write("news/sys", b"far:all/all:Z:\n");
    let told = program.run(&["reload", "--dir", "news"]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(told.err.contains("sys"), "{told:?}");
    assert_eq!(refused(&program, "b"), 1);
    daemon.stop();
}

#[test]
fn an_edited_active_is_taken_up() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let daemon = Daemon::start(&program);
    let active = program.read("news/active") + "misc.new 0000000000 00001 y\n";
    program.write("news/active", active.as_bytes());
    assert_eq!(program.run(&["reload", "--dir", "news"]).status, 0);
    let told = program.rnews(&batch(&many("a", 2, "misc.new", 100)));
    assert_eq!(told.count("accepted"), 2, "{told:?}");
    daemon.stop();
    program.assert_clean();
}
