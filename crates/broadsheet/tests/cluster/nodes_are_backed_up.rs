//! `backup` and `restore` of a node of a cluster: it goes on with the log where the backup was made, under the same numbers.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::program;
use program::Program;
use program::articles::{id, many};
use program::cluster::{applied, nodes};
use program::nats::Servers;
use program::nntp::{Served, offer};

const ACTIVE: &str = "comp.test 0 1 y\ncontrol 0 1 y\njunk 0 1 y\n";
/// A daemon says this of derived files that are not those of its log.
const ALARMS: [&str; 2] = ["was edited", "was damaged"];

/// The high mark of the group.
fn high(program: &Program, dir: &str) -> u64 {
    let active = program.read(&format!("{dir}/active"));
    let line = active.lines().find(|line| line.starts_with("comp.test "));
    let mark = line.unwrap().split(' ').nth(1).unwrap();
    mark.parse().unwrap()
}

/// Starts the node, which has nothing to complain about.
fn start_quietly(program: &Program) -> Served {
    let served = Served::start(program);
    let said = served.daemon.said().join("\n");
    assert!(!ALARMS.iter().any(|part| said.contains(part)), "{said}");
    served
}

#[test]
fn a_restored_node_goes_on_with_the_log() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 1, ACTIVE);
    let program = &programs[0];
    let articles = many("a", 9, "comp.test", 100);
    let file = |served: &Served, number: usize| {
        let told = offer(&served.address, &id("a", number), &articles[number - 1]);
        assert_eq!(told, "239");
    };
    let served = Served::start(program);
    (1..=5).for_each(|number| file(&served, number));
    let told = program.run(&["backup", "backups", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    file(&served, 6);
    served.daemon.stop();
    let told = program.run(&["restore", "backups", "--dir", "restored", "--verify"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(told.out.contains("high marks not raised"), "{told:?}");
    assert_eq!(high(program, "restored"), 5);
    let keys = fs::metadata(program.path("restored/keys")).unwrap();
    assert_eq!(keys.permissions().mode() & 0o777, 0o700);
    let at_the_end = applied(program);
    fs::rename(program.path("news"), program.path("lost")).unwrap();
    fs::rename(program.path("restored"), program.path("news")).unwrap();
    let served = start_quietly(program);
    program::daemon::until("the entry behind the backup", || {
        applied(program) == at_the_end
    });
    file(&served, 7);
    served.daemon.stop();
    assert_eq!(high(program, "news"), 7);
    program.assert_clean();
    // Nor after a rebuild, at any start.
    let told = program.run(&["history", "rebuild", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    for _ in 0..2 {
        start_quietly(program).daemon.stop();
    }
}
