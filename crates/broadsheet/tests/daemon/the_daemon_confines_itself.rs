//! Threads that handle strangers' bytes are confined by the kernel; those that start programs are not; a setting switches it off.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::Program;
use program::articles::{article, batch};
use program::daemon::{Daemon, until};
use program::nntp::{Served, listen};

const GROUPS: &str = "comp.test 0000000000 00001 y\n";

/// A feed whose program says, into this file, how it is confined.
fn feed(into: &std::path::Path) -> String {
    let into = into.display();
    format!(
        "\n[[site]]\nname = \"one\"\ngroups = \"comp\"\nvia = {{ command = \"\"\"sh -c \
         'grep -e NoNewPrivs -e Seccomp: /proc/self/status > {into}.part && mv {into}.part {into}' %s\"\"\" }}\n"
    )
}

/// `NoNewPrivs` and `Seccomp` of each thread of the process, by the thread's name.
fn threads(pid: u32) -> Vec<(String, [u32; 2])> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let mut threads = Vec::new();
    for task in tasks.flatten() {
        // It may end just now.
        let Ok(status) = std::fs::read_to_string(task.path().join("status")) else {
            continue;
        };
        let value = |key: &str| {
            let mut lines = status.lines();
            let value = lines.find_map(|line| line.strip_prefix(key));
            value.unwrap_or("0").trim().to_owned()
        };
        let number = |key| value(key).parse().unwrap();
        let both = [number("NoNewPrivs:"), number("Seccomp:")];
        threads.push((value("Name:"), both));
    }
    threads
}

/// Waits until each thread of this name, and there is one, is confined so.
fn until_so(pid: u32, name: &str, wanted: [u32; 2]) {
    until(name, || {
        let threads = threads(pid);
        let mut found = threads.iter().filter(|(found, _)| found.starts_with(name));
        let first = found.next();
        first.is_some_and(|(_, found)| *found == wanted) && found.all(|(_, found)| *found == wanted)
    });
}

fn has_seccomp() -> bool {
    let has = std::fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| status.contains("Seccomp:\t0"));
    if !has {
        println!(
            "skipped: threads are confined (no seccomp here, or the tests are confined themselves)"
        );
    }
    has
}

#[test]
fn threads_that_meet_strangers_are_confined_and_those_that_start_programs_are_not() {
    if !has_seccomp() {
        return;
    }
    let program = Program::with_news(GROUPS);
    listen(&program, "");
    let settings = program.read("news/broadsheet.toml") + &feed(&program.path("fed"));
    program.write("news/broadsheet.toml", settings.as_bytes());
    let served = Served::start(&program);
    let pid = served.daemon.pid();
    for confined in ["network", "writer"] {
        until_so(pid, confined, [1, 2]);
    }
    for free in ["starter", "feed", "schedule"] {
        until_so(pid, free, [0, 0]);
    }
    let told = program.run(&["status", "--dir", "news"]).out;
    assert!(told.contains("sandbox          "), "{told}");
    assert!(!told.contains("sandbox          off"), "{told}");

    // A reload starts the feeds anew, from the confined writer.
    assert_eq!(program.run(&["reload", "--dir", "news"]).status, 0);
    until_so(pid, "feed", [0, 0]);
    program.rnews(&batch(&[article("<1@a.example>", "comp.test")]));
    until("fed", || program.path("fed").exists());
    assert_eq!(program.read("fed"), "NoNewPrivs:\t0\nSeccomp:\t0\n");
}

#[test]
fn the_setting_switches_it_off() {
    let program = Program::with_news(GROUPS);
    listen(&program, "");
    program.set("sandbox = true", "sandbox = false");
    let served = Served::start(&program);
    for thread in ["network", "writer"] {
        let mut own = threads(std::process::id()).into_iter().map(|(_, own)| own);
        until_so(served.daemon.pid(), thread, own.next().unwrap());
    }
    let told = program.run(&["status", "--dir", "news"]).out;
    assert!(told.contains("sandbox          off"), "{told}");
    program.set("sandbox = false", "sandbox = true");
    let told = program.run(&["reload", "--dir", "news"]);
    assert!(told.err.contains("sandbox has changed"), "{told:?}");
}

/// The text for administrators has the limit that is in force.
#[test]
fn the_longest_reply_of_a_peer_is_as_documented() {
    let limits = Program::new().run(&["limits"]).out;
    let mut lines = limits.lines();
    let line = lines.find(|line| line.contains("first line of a reply of a peer"));
    assert!(line.unwrap().contains("2048 bytes"), "{line:?}");
    let text = include_str!("../../../../SECURITY.md");
    assert!(text.contains("its replies are lines of at most 2,048 bytes"));
}

/// A link in the news directory leads elsewhere: what is there is read and written.
#[test]
fn links_in_the_news_directory_still_lead_somewhere() {
    let program = Program::with_news(GROUPS);
    listen(&program, "");
    std::fs::create_dir(program.path("elsewhere")).unwrap();
    for name in ["segments", "in.coming"] {
        let (from, to) = (
            program.path("news").join(name),
            program.path("elsewhere").join(name),
        );
        std::fs::rename(&from, &to).unwrap();
        std::os::unix::fs::symlink(&to, &from).unwrap();
    }
    std::os::unix::fs::symlink(program.path("elsewhere/log"), program.path("news/log")).unwrap();
    let daemon = Daemon::start(&program);
    program.rnews(&batch(&[article("<2@a.example>", "comp.test")]));
    let log = program.read("elsewhere/log");
    assert!(log.contains("<2@a.example>"), "{log}");
    daemon.stop();
    program.assert_clean();
}
