//! A tree of files, read by tin as a local spool, and by find and grep.
// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::process::Command;

use program::Program;
use program::articles::batch;
use program::clients::{client, thread, thread_here};
use program::screen::Screen;

/// A tree with a thread of five articles in `test.one`.
fn grown() -> Program {
    let program = Program::with_news("test.one 0 1 y\ntest.two 0 1 y\n");
    let settings = program.read("news/broadsheet.toml")
        + "\n[[site]]\nname = \"tree\"\ngroups = \"test\"\nvia = { tree = \"../tree\", overview = true }\n";
    program.write("news/broadsheet.toml", settings.as_bytes());
    let told = program.rnews(&batch(&thread()));
    assert_eq!(told.count("accepted"), 5, "{told:?}");
    program
}

/// tin without `-r`, which reads this tree and the active file of its news directory.
fn tin(program: &Program) -> Option<Command> {
    program.write("news/newsgroups", b"test.one\tThe first group\n");
    program.write(".newsrc", b"test.one: 1-2\n");
    let mut tin = client(program, "usr/bin/tin", "tin")?;
    tin.args(["-q"])
        .env("TIN_SPOOLDIR", program.path("tree"))
        .env("TIN_NOVROOTDIR", program.path("tree"))
        .env("TIN_LIBDIR", program.path("news"))
        .env("TIN_ACTIVEFILE", "active");
    Some(tin)
}

#[test]
fn what_is_new() {
    let program = grown();
    let Some(mut tin) = tin(&program) else {
        return;
    };
    let told = tin.args(["-Z", "-v"]).output().unwrap();
    let said = String::from_utf8_lossy(&told.stdout);
    // 2: there is something new.
    assert_eq!(told.status.code(), Some(2), "{said}");
    assert!(said.contains("3 unread"), "{said}");
}

#[test]
fn a_thread_is_read() {
    let program = grown();
    std::fs::create_dir(program.path(".tin")).unwrap();
    program.write(
        ".tin/tinrc",
        b"mail_address=Tin Reader <tin@example.com>\nbeginner_level=OFF\n",
    );
    let Some(tin) = tin(&program) else {
        return;
    };
    program.write(".newsrc", b"test.one:\n");
    let Some(screen) = Screen::start(&program, &tin) else {
        return;
    };
    screen.until_shows("The first group").keys(&["Enter"]);
    screen.until_shows("Grüße, 1").until_shows("+   5");
    screen.keys(&["Enter"]).until_shows("Line one of 1");
    screen.keys(&["Tab"]).until_shows("Line one of 2");
    screen.until_shows(".a line with a dot in front");
}

#[test]
fn find_and_grep_see_the_articles() {
    let program = grown();
    let run = |name: &str, words: &[&str]| {
        let mut command = Command::new(name);
        let done = command.args(words).current_dir(program.path("tree"));
        let output = String::from_utf8(done.output().unwrap().stdout).unwrap();
        let mut lines: Vec<String> = output.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    let found = run("find", &["test", "-type", "f", "-name", "[0-9]*"]);
    assert_eq!(
        found,
        [
            "test/one/1",
            "test/one/2",
            "test/one/3",
            "test/one/4",
            "test/one/5"
        ]
    );
    assert_eq!(
        run("grep", &["-rl", "--exclude=.*", "Line one of 4", "."]),
        ["./test/one/4"]
    );
    for (name, article) in found.iter().zip(thread_here()) {
        assert!(std::fs::read(program.path("tree").join(name)).unwrap() == article);
    }
}
