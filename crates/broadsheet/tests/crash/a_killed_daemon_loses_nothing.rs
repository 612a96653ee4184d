//! The daemon and its clients, killed or ended in the middle of a batch: what rnews said is filed is there, once.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::collections::HashSet;
use std::process::{Child, Stdio};
use std::time::Duration;

use program::Program;
use program::articles::{batch, many};
use program::daemon::{Daemon, until};

const ARTICLES: usize = 2_000;
const KILLS: u64 = 12;

/// Small commits, so that there are many moments in a batch.
fn program() -> Program {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let settings = program
        .read("news/broadsheet.toml")
        .replace("commit_bytes = \"8 MiB\"", "commit_bytes = \"16 KiB\"");
    assert!(settings.contains("16 KiB"));
    program.write("news/broadsheet.toml", settings.as_bytes());
    program
}

fn rnews(program: &Program, name: &str) -> Child {
    program.write(name, &batch(&many(name, ARTICLES, "comp.test", 400)));
    program
        .command(&["rnews", "--dir", "news", "--json", name])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits until some of the batch is filed.
fn until_in_the_middle(program: &Program, name: &str) {
    let id = format!("<{name}.");
    until("the middle of a batch", || {
        program.read("news/log").contains(&id)
    });
}

fn ids(program: &Program) -> Vec<String> {
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    let id = |row: &str| row.split('\t').nth(4).unwrap().to_owned();
    rows.lines().map(id).collect()
}

/// Each article of these batches is filed, and once.
fn assert_whole(program: &Program, batches: usize) {
    let ids = ids(program);
    let different: HashSet<&String> = ids.iter().collect();
    assert_eq!(different.len(), ids.len());
    assert_eq!(ids.len(), batches * ARTICLES);
    program.assert_clean();
}

#[test]
fn killed_under_load() {
    let program = program();
    program.write("news/log", b"");
    for kill in 0..KILLS {
        let mut daemon = Daemon::start(&program);
        let name = format!("batch{kill}");
        let child = rnews(&program, &name);
        if kill % 2 == 0 {
            until_in_the_middle(&program, &name);
        } else {
            std::thread::sleep(Duration::from_millis(kill * 3));
        }
        daemon.kill();
        // Nobody answers for the batch any more, so rnews files it itself.
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }
    assert_whole(&program, KILLS as usize);
}

#[test]
fn sigterm_in_the_middle_of_a_batch_files_it_to_its_end() {
    let program = program();
    program.write("news/log", b"");
    let daemon = Daemon::start(&program);
    let first = rnews(&program, "first");
    until_in_the_middle(&program, "first");
    let second = rnews(&program, "second");
    daemon.stop();
    for child in [first, second] {
        let done = child.wait_with_output().unwrap();
        assert!(done.status.success(), "{done:?}");
        let told = String::from_utf8(done.stdout).unwrap();
        assert!(told.contains(&format!("\"accepted\":{ARTICLES}")), "{told}");
    }
    assert_whole(&program, 2);
}

#[test]
fn a_client_killed_in_the_middle_of_its_batch_holds_nobody_up() {
    let program = program();
    program.write("news/log", b"");
    let daemon = Daemon::start(&program);
    let mut first = rnews(&program, "first");
    until_in_the_middle(&program, "first");
    first.kill().unwrap();
    first.wait().unwrap();
    let done = rnews(&program, "second").wait_with_output().unwrap();
    assert!(done.status.success(), "{done:?}");
    daemon.stop();
    assert_whole(&program, 2);
}
