//! The caches of a mount: what they find, and the counts in `status` and in the metrics.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used)]

use crate::program;

use std::process::Command;

use program::Program;
use program::articles::{batch, many};
use program::daemon::{Daemon, until};
use program::mounted::Mounted;
use program::wire::{address, http};
use serde_json::Value;

fn mounts(program: &Program) -> Vec<Value> {
    let told = program.run(&["status", "--dir", "news", "--json"]);
    told.summary()["mounts"].as_array().unwrap().clone()
}

/// Names in the directory of the group, and `ls -l` of them, twice; the counts after that.
fn listed(program: &Program, words: &[&str], names: u64) -> Option<Value> {
    let words = [words, &["--cache-seconds", "0"]].concat();
    let mounted = Mounted::start(program, &words)?;
    let before = mounts(program);
    assert_eq!(before.len(), 1);
    assert_eq!(before[0]["at"], mounted.at.to_str().unwrap());
    assert_eq!(before[0]["pid"], mounted.child.id());
    for _ in 0..2 {
        // In the directory itself, so that a process asks for names in no other.
        let mut command = Command::new("ls");
        command.arg("-l").current_dir(mounted.path("a/b"));
        let listed = command.output().unwrap();
        let lines = String::from_utf8_lossy(&listed.stdout).lines().count() as u64;
        assert_eq!(lines, names + 1, "{listed:?}");
    }
    let mut counts = Value::Null;
    until("the counts are written", || {
        counts = mounts(program)[0].clone();
        // Each name twice, and those that lead there.
        let looked =
            counts["name_hits"].as_u64().unwrap() + counts["name_misses"].as_u64().unwrap();
        looked >= 2 * names
    });
    let text = program.run(&["status", "--dir", "news"]).out;
    assert!(text.contains("name cache: "), "{text}");
    Some(counts)
}

#[test]
fn what_the_caches_find() {
    let names = 40;
    let program = Program::with_news("a.b 0 1 y\n");
    let articles = many("s", names as usize, "a.b", 100);
    assert_eq!(program.rnews(&batch(&articles)).count("accepted"), names);
    assert_eq!(mounts(&program).len(), 0);
    let count = |counts: &Value, of: &str| counts[of].as_u64().unwrap();

    let off = ["--name-cache", "0", "--offset-cache", "0", "--linear"];
    let Some(off) = listed(&program, &off, names) else {
        return;
    };
    // Every search begins at the start: N².
    assert_eq!(
        (count(&off, "name_hits"), count(&off, "offset_hits")),
        (0, 0),
        "{off}"
    );
    assert!(
        count(&off, "entries_examined") >= 2 * names * (names + 1) / 2,
        "{off}"
    );
    let offsets = ["--name-cache", "0", "--linear"];
    let offsets = listed(&program, &offsets, names).unwrap();
    // All but the first of each pass resume where the last one ended: N.
    assert!(
        count(&offsets, "offset_hits") >= 2 * (names - 1),
        "{offsets}"
    );
    assert!(count(&offsets, "entries_examined") < 8 * names, "{offsets}");
    let both = listed(&program, &[], names).unwrap();
    // The second pass, by another process, finds all in the name cache.
    assert!(count(&both, "name_hits") >= names, "{both}");
    assert_eq!(count(&both, "name_stale"), 0, "{both}");
}

#[test]
fn a_removed_article_is_a_stale_name() {
    let program = Program::with_news("a.b 0 1 y\n");
    assert_eq!(
        program
            .rnews(&batch(&many("s", 3, "a.b", 100)))
            .count("accepted"),
        3
    );
    let Some(mounted) = Mounted::start(&program, &["--cache-seconds", "0"]) else {
        return;
    };
    let is_there = || mounted.path("a/b/2").exists();
    assert!(is_there() && is_there());
    program.write("news/explist", b"all x 1 -\n");
    let words = ["expire", "--dir", "news", "--now", "4102444800", "--force"];
    assert_eq!(program.run(&words).status, 0);
    assert!(!is_there());
    until("the stale name is counted", || {
        mounts(&program)[0]["name_stale"] == 1
    });
}

#[test]
fn the_metrics_of_the_daemon_have_them() {
    let program = Program::with_news("a.b 0 1 y\n");
    program.set("metrics = \"\"", "metrics = \"127.0.0.1:0\"");
    let daemon = Daemon::launch(&program);
    let metrics = address(&daemon, "metrics at http://");
    let page = || http(&metrics, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(!page().contains("broadsheet_mount"));
    let Some(mounted) = Mounted::start(&program, &[]) else {
        return;
    };
    // Filed by the daemon; the mount sees it by the index that both have mapped.
    assert_eq!(
        program
            .rnews(&batch(&many("s", 1, "a.b", 100)))
            .count("accepted"),
        1
    );
    assert!(mounted.path("a/b/1").exists());
    let at = mounted.at.to_str().unwrap();
    let sample = format!("broadsheet_mount_names_total{{mount=\"{at}\",result=\"hit\"}} ");
    until("the page has the mount", || page().contains(&sample));
}
