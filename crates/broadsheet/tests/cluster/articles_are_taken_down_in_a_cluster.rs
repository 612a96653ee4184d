//! `article remove` and `restore` on a node of a cluster act on all nodes; `--erase` overwrites where the command runs.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::articles::{article, batch, id, many};
use program::cluster::{nodes, seen, until_equal};
use program::daemon::until;
use program::nats::Servers;
use program::nntp::Served;
use program::{Program, Told};

const ACTIVE: &str = "comp.test 0 1 y\ncontrol 0 1 y\njunk 0 1 y\n";

fn run(program: &Program, words: &[&str]) -> Told {
    let (command, rest) = words.split_at(2);
    program.run(&[command, &["--dir", "news"], rest].concat())
}

fn ok(program: &Program, words: &[&str]) -> String {
    let told = run(program, words);
    assert_eq!(told.status, 0, "{words:?}: {told:?}");
    told.out
}

/// Whether all nodes have an article; they must agree.
fn all_have(programs: &[Program], id: &str) -> bool {
    until_equal(programs);
    let has = |program: &Program| {
        let by_id = program.run(&["article", "--dir", "news", id]).status == 0;
        let rows = program.run(&["overview", "--dir", "news", "comp.test"]);
        assert_eq!(by_id, rows.out.contains(id), "{id}");
        by_id
    };
    let first = has(&programs[0]);
    assert!(programs.iter().all(|program| has(program) == first), "{id}");
    first
}

#[test]
fn all_nodes_remove_and_restore() {
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 3, ACTIVE);
    let mut served: Vec<Served> = programs.iter().map(Served::start).collect();
    let told = programs[0].rnews(&batch(&many("x", 9, "comp.test", 3000)));
    assert_eq!(told.status, 0, "{told:?}");
    let (victim, other, unknown) = (id("x", 3), id("x", 5), "<never@seen.example>");
    assert!(all_have(&programs, &victim));

    let words = [
        "article",
        "remove",
        &victim,
        unknown,
        "--reason",
        "copyright",
    ];
    let out = ok(&programs[1], &words);
    assert!(out.contains(&format!("removed {victim}")), "{out}");
    assert!(out.contains(&format!("remembered {unknown}")), "{out}");
    assert!(!all_have(&programs, &victim));
    for (program, served) in programs.iter().zip(&served) {
        let told = program.run(&["article", "removed", "--dir", "news"]);
        assert!(told.out.contains("copyright"), "{told:?}");
        let mut client = served.client();
        for id in [victim.as_str(), unknown] {
            let reply = client.ask(&format!("IHAVE {id}"));
            assert!(reply.starts_with("435 "), "{reply}");
        }
    }
    // A second time nothing changes, and on another node it is known too.
    ok(&programs[2], &["article", "remove", &victim]);
    let told = programs[0].run(&["article", "removed", "--dir", "news"]);
    assert_eq!(told.out.matches(&victim).count(), 1, "{told:?}");
    assert!(told.out.contains("copyright"), "{told:?}");

    let out = ok(&programs[2], &["article", "restore", &victim]);
    assert_eq!(out, format!("restored {victim}\n"));
    assert!(all_have(&programs, &victim));
    let told = run(&programs[0], &["article", "restore", &victim]);
    assert_eq!(told.status, 1, "{told:?}");

    // Erased on one node: gone for good on all; each node overwrites its own bytes.
    let out = ok(&programs[0], &["article", "remove", &other, "--erase"]);
    assert!(out.contains("overwrote"), "{out}");
    assert!(!all_have(&programs, &other));
    for program in &programs {
        let told = run(program, &["article", "restore", &other]);
        assert_eq!(told.status, 1, "{told:?}");
    }
    let out = ok(&programs[1], &["article", "remove", &other, "--erase"]);
    assert!(out.contains("overwrote"), "{out}");
    ok(&programs[0], &["article", "remove", &id("x", 6)]);
    assert!(!all_have(&programs, &id("x", 6)));
    // A node that was away learns all of it.
    let one = served.pop().unwrap();
    one.daemon.stop();
    // It looks as if it had applied what comes next, but its readers do not see it yet: nothing says that it cannot be restored.
    let applied = programs[2].read("news/cluster.applied");
    let last: Vec<&str> = applied.lines().last().unwrap().split(' ').collect();
    let further = [&[last[0], "1000000"], &last[2..]].concat().join(" ");
    programs[2].write(
        "news/cluster.applied",
        format!("{applied}{further}\n").as_bytes(),
    );
    let told = run(&programs[2], &["article", "restore", &id("x", 6)]);
    assert_eq!((told.status, told.out.as_str()), (2, ""), "{told:?}");
    assert!(told.err.contains("does not show <"), "{told:?}");
    programs[2].write("news/cluster.applied", applied.as_bytes());
    ok(&programs[0], &["article", "remove", &id("x", 7)]);
    let told = programs[1].rnews(&batch(&[article(&id("y", 1), "comp.test")]));
    assert_eq!(told.status, 0, "{told:?}");
    served.push(Served::start(&programs[2]));
    assert!(!all_have(&programs, &id("x", 7)));
    assert!(all_have(&programs, &id("x", 6)));
    assert!(all_have(&programs, &id("y", 1)));
    for served in served {
        served.daemon.stop();
    }
    let first = seen(&programs[0], &["comp.test"]);
    for program in &programs {
        program.assert_clean();
        assert!(seen(program, &["comp.test"]) == first);
    }
}

#[test]
fn thousands_go_in_one_removal() {
    const COUNT: usize = 2000;
    let Some(servers) = Servers::start(3) else {
        return;
    };
    let programs = nodes(&servers, 3, ACTIVE);
    let served: Vec<Served> = programs.iter().map(Served::start).collect();
    let told = programs[0].rnews(&batch(&many("x", COUNT, "comp.test", 10)));
    assert_eq!(told.status, 0, "{told:?}");
    until_equal(&programs);
    // More than a megabyte: several entries of the log.
    let reason = "r".repeat(500);
    let words = [
        "article",
        "remove",
        "--group",
        "comp.test",
        "--reason",
        &reason,
    ];
    let told = run(&programs[1], &words);
    // A slow machine applies them later, and says so.
    assert!(
        told.status == 0 || told.err.contains("has not applied yet"),
        "{told:?}"
    );
    for program in &programs {
        until("all removals", || {
            let told = program.run(&["article", "removed", "--dir", "news"]);
            told.out.matches(&reason).count() == COUNT
        });
        let rows = program.run(&["overview", "--dir", "news", "comp.test"]);
        assert_eq!(rows.out, "");
    }
    for served in served {
        served.daemon.stop();
    }
    programs.iter().for_each(Program::assert_clean);
}
