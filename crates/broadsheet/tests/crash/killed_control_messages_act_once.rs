//! rnews killed at its system calls while control messages make, change and remove groups and cancel articles, and these calls failing: when
//! the batch has come again, all is as if nothing had happened; and what is derived can be made again.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

use program::Program;
use program::articles::{batch, date, with};
use program::faults;

const ACTIVE: &str = "control 0000000000 00001 y\njunk 0000000000 00001 y\nold.gone 0000000000 00001 y\n\
    old.kept 0000000000 00001 y\nold.changed 0000000000 00001 y\n";
const POLICY: &str = "newgroup:*:*:doit\nrmgroup:*:*:doit\ncheckgroups:*:*:doit\n";
const GROUPS: [&str; 7] = [
    "control",
    "junk",
    "old.kept",
    "old.changed",
    "new.made",
    "new.listed",
    "new.moderated",
];
/// Of the system calls, so many, evenly chosen; BROADSHEET_TEST_ROUNDS tells another number.
const CALLS: usize = 45;
const FAULTS: [&str; 4] = [
    "signal=SIGKILL",
    "error=EIO",
    "signal=SIGKILL",
    "error=ENOSPC",
];
/// What changes the disk, or makes ready for it.
const CHANGES: &str = "openat,write,pwrite64,ftruncate,fallocate,fsync,fdatasync,?rename,?renameat,?unlink,?unlinkat,?link,linkat";

fn control(id: &str, groups: &str, command: &str, more: &str, body: &str) -> Vec<u8> {
    let header = format!("Control: {command}\nApproved: admin@example.org\n{more}");
    with(id, groups, &header, body.as_bytes())
}

/// Articles, and between them what changes the groups they are filed in.
fn messages(now: u64) -> Vec<Vec<u8>> {
    let mut all = vec![
        with("<1@x>", "old.gone", "", b"before it goes\n"),
        with("<2@x>", "new.made", "", b"before it comes\n"),
        with("<3@x>", "old.kept,old.changed", "", b"to be cancelled\n"),
        control(
            "<c1@x>",
            "new.made",
            "newgroup new.made",
            "",
            "For your newsgroups file:\nnew.made\tMade.\n",
        ),
        with("<4@x>", "new.made", "", b"number one\n"),
        control(
            "<c2@x>",
            "old.gone",
            "rmgroup old.gone",
            "",
            "Nobody comes.\n",
        ),
        with("<5@x>", "old.gone", "", b"too late\n"),
        control("<c3@x>", "old.kept", "cancel <3@x>", "", "Never mind.\n"),
        control(
            "<c4@x>",
            "old.kept",
            "cancel <6@x>",
            "",
            "Before it comes.\n",
        ),
        with("<6@x>", "old.kept", "", b"cancelled before\n"),
        control(
            "<c5@x>",
            "new.made",
            "checkgroups new old #7",
            "",
            "new.made\tMade, and listed.\nnew.listed\tListed.\nnew.moderated\tSlow. (Moderated)\nold.kept\tKept.\nold.changed\tSlow now. (Moderated)\n",
        ),
        with("<7@x>", "new.made,new.listed,old.kept", "", b"in three\n"),
        with("<8@x>", "old.changed", "", b"not approved\n"),
        with("<9@x>", "new.moderated", "Approved: mod@x\n", b"approved\n"),
    ];
    // Messages may not be older than ten days.
    let date = format!("\nDate: {}\n", date(now));
    for article in &mut all {
        let text = String::from_utf8(article.clone()).unwrap();
        *article = text
            .replace("\nDate: Mon, 20 Dec 1993 04:39:21 GMT\n", &date)
            .into_bytes();
        if !text.contains("\nControl: ") {
            article.extend_from_slice(&b"so that there are several commits\n".repeat(60));
        }
    }
    all
}

/// All that one can see, without times and numbers: what was not committed may leave a gap.
fn seen(program: &Program, dir: &str) -> BTreeMap<String, String> {
    let mut seen = BTreeMap::new();
    let mut keep = |what: &str, text: String| seen.insert(what.to_owned(), text);
    let read = |file: &str| {
        let text = std::fs::read_to_string(program.path(&format!("{dir}/{file}")));
        text.unwrap_or_default()
    };
    for file in ["newsgroups", "checkgroups.serials"] {
        keep(file, read(file));
    }
    let flag = |line: &str| {
        let mut words = line.split(' ');
        format!("{} {}\n", words.next().unwrap(), words.nth(2).unwrap())
    };
    keep("active", read("active").lines().map(flag).collect());
    let times = read("active.times");
    let of_group = |line: &str| line.split(' ').next().unwrap().to_owned();
    let mut groups: Vec<String> = times.lines().map(of_group).collect();
    groups.sort_unstable();
    keep("active.times", groups.join("\n"));
    for group in GROUPS {
        let rows = program.run(&["overview", "--dir", dir, group]);
        let id = |row: &str| format!("{}\n", row.split('\t').nth(4).unwrap());
        keep(group, rows.out.lines().map(id).collect());
    }
    let mut history = String::new();
    let dump = program.run(&["history", "dump", "--dir", dir]);
    assert_eq!(dump.status, 0, "{dump:?}");
    for line in dump.out.lines() {
        let mut fields = line.split('\t');
        let (id, _, links) = (fields.next(), fields.next(), fields.next());
        let links = links.unwrap_or("-").split(' ');
        let groups: Vec<&str> = links.map(|link| link.split('/').next().unwrap()).collect();
        history.push_str(&format!("{} {}\n", id.unwrap(), groups.join(" ")));
    }
    keep("history", history);
    seen
}

/// True when rnews came to its end.
fn strace(program: &Program, dir: &str, options: &[&str]) -> bool {
    let mut strace = faults::strace(&program.path(""), CHANGES, options);
    strace.args(["rnews", "--dir", dir, "batch"]);
    strace.status().unwrap().success()
}

fn room() -> Program {
    let program = Program::with_classic_cancels(ACTIVE);
    // A commit after every few messages.
    program.set_commit_bytes("4 KiB");
    program.write("news/control.ctl", POLICY.as_bytes());
    let now = UNIX_EPOCH.elapsed().unwrap().as_secs();
    program.write("batch", &batch(&messages(now)));
    program
}

fn rnews(program: &Program, dir: &str, what: &str) {
    let told = program.run(&["rnews", "--dir", dir, "batch"]);
    assert_eq!(told.status, 0, "{what}: {told:?}");
}

fn assert_same(seen: &BTreeMap<String, String>, uncut: &BTreeMap<String, String>, what: &str) {
    for (name, text) in uncut {
        assert_eq!(&seen[name], text, "{what}: {name}");
    }
}

fn rebuilt(program: &Program, dir: &str, what: &str) {
    std::fs::remove_file(program.path(&format!("{dir}/active"))).unwrap();
    let told = program.run(&["history", "rebuild", "--dir", dir]);
    assert_eq!(told.status, 0, "{what}: {told:?}");
}

#[test]
fn all_is_as_if_nobody_had_killed_it() {
    let program = room();
    let copy = |to: &str| faults::copy(&program.path("news"), &program.path(to));
    copy("uncut");
    rnews(&program, "uncut", "uncut");
    let uncut = seen(&program, "uncut");
    for line in [
        "new.made y\n",
        "new.listed y\n",
        "new.moderated m\n",
        "old.changed m\n",
        "old.kept y\n",
    ] {
        assert!(
            uncut["active"].contains(line),
            "{line}: {}",
            uncut["active"]
        );
    }
    assert!(!uncut["active"].contains("old.gone"));
    assert!(
        uncut["newsgroups"].contains("new.made\t\tMade, and listed.\n"),
        "{}",
        uncut["newsgroups"]
    );
    // Once more, and made anew, it is the same.
    rnews(&program, "uncut", "again");
    assert_same(&seen(&program, "uncut"), &uncut, "again");
    rebuilt(&program, "uncut", "uncut");
    assert_same(&seen(&program, "uncut"), &uncut, "rebuilt");

    if !faults::can_trace() {
        return;
    }
    copy("traced");
    assert!(strace(&program, "traced", &[]));
    // Before it has the lock there is nothing to lose.
    let calls = faults::calls(&program.path(""), "traced/lock");
    let wanted = faults::rounds(CALLS).min(calls.len());
    let each = calls.iter().step_by(calls.len().div_ceil(wanted));
    for (number, (name, count)) in each.enumerate() {
        // A policy that cannot be read refuses, and is noted in the control log for the administrator: no fault of these.
        let fault = match name.as_str() {
            "openat" => FAULTS[0],
            _ => FAULTS[number % FAULTS.len()],
        };
        let what = format!("{fault} at {name} {count}");
        copy("killed");
        let inject = faults::inject(name, fault, *count);
        let is_done = strace(&program, "killed", &["-e", &inject]);
        assert!(!is_done || fault != FAULTS[0], "{what}: it was not met");
        if number % 3 == 0 {
            rebuilt(&program, "killed", &what);
        }
        rnews(&program, "killed", &what);
        assert_same(&seen(&program, "killed"), &uncut, &what);
        let told = program.run(&["fsck", "--dir", "killed"]);
        assert_eq!(told.status, 0, "{what}: {told:?}");
    }
    eprintln!("killed or failed at {wanted} of {} calls", calls.len());
}
