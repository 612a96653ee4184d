//! `article remove`, `removed`, `restore`, `show`: an article goes at once, comes back for some days, or its bytes are erased.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::path::Path;
use std::process::Stdio;
use std::time::UNIX_EPOCH;

use program::articles::{article, batch, many, with};
use program::daemon::{Daemon, until};
use program::faults;
use program::nntp::{ALL_MAY, Served, listen};
use program::{Program, Told};

const ACTIVE: &str = "comp.test 0 1 y\ncomp.misc 0 1 y\n";

fn run(program: &Program, words: &[&str]) -> Told {
    let (command, rest) = words.split_at(2);
    program.run(&[command, &["--dir", "news"], rest].concat())
}

fn ok(program: &Program, words: &[&str]) -> String {
    let told = run(program, words);
    assert_eq!(told.status, 0, "{words:?}: {told:?}");
    told.out
}

fn is_here(program: &Program, id: &str) -> bool {
    let by_id = program.run(&["article", "--dir", "news", id]).status == 0;
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    assert_eq!(by_id, rows.contains(id), "{id}");
    by_id
}

fn victim() -> Vec<u8> {
    with(
        "<victim@example.com>",
        "comp.test,comp.misc",
        "X-Secret: hidden header\n",
        b"the words that must not stay\n",
    )
}

/// News of a few articles, one of which has to go.
fn news() -> Program {
    let program = Program::with_news(ACTIVE);
    let mut all = many("before", 3, "comp.test", 300);
    all.push(victim());
    all.extend(many("after", 3, "comp.test", 300));
    let told = program.rnews(&batch(&all));
    assert_eq!(told.count("accepted"), 7, "{told:?}");
    program
}

/// The files below a directory that have these bytes.
fn files_with(dir: &Path, bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let data = std::fs::symlink_metadata(&path).unwrap();
        if data.is_dir() {
            found.extend(files_with(&path, bytes));
        } else if data.is_file() {
            let text = std::fs::read(&path).unwrap();
            if text.windows(bytes.len()).any(|part| part == bytes) {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

#[test]
fn a_removed_article_is_gone_refused_and_comes_back() {
    let program = news();
    let id = "<victim@example.com>";
    let out = ok(
        &program,
        &["article", "remove", id, "--reason", "copyright"],
    );
    assert_eq!(out, "removed <victim@example.com>\n");
    assert!(!is_here(&program, id));
    let copy = program.rnews(&batch(&[victim()]));
    assert_eq!(copy.count("duplicates"), 1, "{copy:?}");
    let listed = ok(&program, &["article", "removed"]);
    assert!(
        listed.contains(id) && listed.contains("copyright") && listed.contains("restorable until"),
        "{listed}"
    );
    let shown = ok(&program, &["article", "show", id]);
    for part in [
        "removed at",
        "copyright",
        "comp.test/4",
        "came from  far",
        "a test",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // Everything is in the log.
    std::fs::remove_file(program.path("news/cancels")).unwrap();
    assert_eq!(
        program.run(&["history", "rebuild", "--dir", "news"]).status,
        0
    );
    program.assert_clean();
    assert!(!is_here(&program, id));
    assert_eq!(ok(&program, &["article", "removed"]), listed);
    assert_eq!(
        ok(&program, &["article", "restore", "victim@example.com"]),
        format!("restored {id}\n")
    );
    assert!(is_here(&program, id));
    assert_eq!(ok(&program, &["article", "removed"]), "");
    assert!(ok(&program, &["article", "show", "comp.test/4"]).contains("state      here"));
    std::fs::remove_file(program.path("news/cancels")).unwrap();
    assert_eq!(
        program.run(&["history", "rebuild", "--dir", "news"]).status,
        0
    );
    assert!(is_here(&program, id));
    program.assert_clean();
    let told = run(&program, &["article", "restore", id]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("no such removed article"), "{told:?}");
}

#[test]
fn an_article_that_never_came_is_refused_when_it_comes() {
    let program = Program::with_news(ACTIVE);
    let out = ok(&program, &["article", "remove", "<victim@example.com>"]);
    assert!(out.starts_with("remembered <victim@example.com>"), "{out}");
    assert_eq!(program.rnews(&batch(&[victim()])).count("duplicates"), 1);
    let told = run(&program, &["article", "remove", "comp.test/77"]);
    assert_eq!(told.status, 1, "{told:?}");
    let told = run(&program, &["article", "show", "<nothing@example.com>"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(
        told.err
            .contains("nothing is known of <nothing@example.com>"),
        "{told:?}"
    );
}

#[test]
fn readers_of_the_daemon_see_it_at_once() {
    let program = news();
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    let mut client = served.client();
    assert!(client.ask("GROUP comp.test").starts_with("211 7 1 7 "));
    let numbers = |client: &mut program::nntp::Client| {
        assert!(client.ask("LISTGROUP comp.test").starts_with("211 "));
        client.lines().join(" ")
    };
    assert_eq!(numbers(&mut client), "1 2 3 4 5 6 7");
    ok(&program, &["article", "remove", "comp.test/4"]);
    until("the removal", || numbers(&mut client) == "1 2 3 5 6 7");
    assert!(client.ask("STAT <victim@example.com>").starts_with("430 "));
    ok(&program, &["article", "restore", "<victim@example.com>"]);
    until("the restored article", || {
        numbers(&mut client) == "1 2 3 4 5 6 7"
    });
    assert!(client.ask("STAT <victim@example.com>").starts_with("223 "));
    let out = ok(&program, &["article", "remove", "--erase", "comp.misc/1"]);
    assert!(
        out.starts_with("erased <victim@example.com>: overwrote "),
        "{out}"
    );
    until("the erasure", || numbers(&mut client) == "1 2 3 5 6 7");
    assert!(client.ask("OVER 1-7").starts_with("224 "));
    assert_eq!(client.lines().len(), 6);
    assert!(client.ask("STAT <victim@example.com>").starts_with("430 "));
    assert!(client.ask("CHECK <victim@example.com>").starts_with("438 "));
}

#[test]
fn erased_bytes_are_nowhere_in_the_news_directory() {
    let program = news();
    let id = "<victim@example.com>";
    let tree = "\n[[site]]\nname = \"tree\"\ngroups = \"comp\"\nstart = \"oldest\"\nvia = { tree = \"../tree\", overview = true }\n";
    let settings = program.read("news/broadsheet.toml") + tree;
    program.write("news/broadsheet.toml", settings.as_bytes());
    assert_eq!(program.run(&["feed", "flush", "--dir", "news"]).status, 0);
    let in_tree = program.path("tree/comp/test/4");
    assert!(in_tree.exists());
    // Another name of the file shows what its bytes became.
    std::fs::hard_link(&in_tree, program.path("witness")).unwrap();
    let words = b"the words that must not stay";
    let root = program.path("");
    assert!(!files_with(&root, words).is_empty());
    let out = ok(&program, &["article", "remove", "--erase", "--json", id]);
    let told: serde_json::Value = serde_json::from_str(out.trim()).unwrap();
    assert!(told["erased_bytes"].as_u64().unwrap() > 200, "{out}");
    assert_eq!(
        (&told["erased_rows"], &told["tree_files"]),
        (&2.into(), &2.into()),
        "{out}"
    );
    assert_eq!(program.run(&["feed", "flush", "--dir", "news"]).status, 0);
    for gone in [&words[..], b"hidden header"] {
        assert_eq!(files_with(&root, gone), Vec::<String>::new());
    }
    assert!(!in_tree.exists() && !program.path("tree/comp/misc/1").exists());
    assert!(!is_here(&program, id));
    program.assert_clean();
    let told = run(&program, &["article", "restore", id]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("erased at"), "{told:?}");
    assert_eq!(program.rnews(&batch(&[victim()])).count("duplicates"), 1);
    // Nothing else suffered, and everything can be made again.
    assert_eq!(
        program.run(&["history", "rebuild", "--dir", "news"]).status,
        0
    );
    program.assert_clean();
    let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
    assert_eq!(rows.lines().count(), 6, "{rows}");
    let told = program.rnews(&batch(&[article("<new@example.com>", "comp.test")]));
    assert_eq!(told.count("accepted"), 1, "{told:?}");
    // A second time there is nothing left.
    let out = ok(&program, &["article", "remove", "--erase", id]);
    assert!(out.contains("overwrote 0 bytes"), "{out}");
    program.assert_clean();
}

#[test]
fn an_erasure_that_cannot_end_keeps_nothing_else_waiting() {
    let program = news();
    let id = "<victim@example.com>";
    // It seals the segment.
    ok(&program, &["article", "remove", "--erase", "comp.test/1"]);
    let files = program.files("news/segments");
    let is_overview = |path: &&std::path::PathBuf| path.extension().is_some_and(|end| end == "ovr");
    let path = files.iter().filter(is_overview).min().unwrap();
    let mut bytes = std::fs::read(path).unwrap();
    let place = bytes.len() / 2;
    bytes[place] ^= 0xff;
    std::fs::write(path, bytes).unwrap();
    let told = run(&program, &["article", "remove", "--erase", id]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(
        told.err.contains("not erased: ") && told.err.contains("its rows are not whole"),
        "{told:?}"
    );
    let told = program.rnews(&batch(&[article("<new@example.com>", "comp.test")]));
    assert_eq!((told.status, told.count("accepted")), (0, 1), "{told:?}");
    assert!(told.err.contains("removed, but not erased yet"), "{told:?}");
    assert!(!program.read("news/erasing").is_empty());
    // The record is erased, the rows are not: a second attempt does not end well.
    let told = run(&program, &["article", "remove", "--erase", id]);
    assert_eq!(told.status, 2, "{told:?}");
    let told = program.run(&["fsck", "--dir", "news", "--repair"]);
    assert!(!told.out.contains("not erased yet"), "{told:?}");
    assert!(!program.path("news/erasing").exists());
    let found = files_with(
        &program.path("news/segments"),
        b"the words that must not stay",
    );
    assert_eq!(found, Vec::<String>::new());
    program.assert_clean();
    let out = ok(&program, &["article", "remove", "--erase", id]);
    assert!(out.contains("overwrote 0 bytes"), "{out}");
}

#[test]
fn an_interrupted_erasure_is_finished_or_was_never_begun() {
    let program = news();
    let id = "<victim@example.com>";
    ok(&program, &["article", "remove", id]);
    let line = program.read("news/cancels");
    let position: u64 = line.split('\t').next().unwrap().parse().unwrap();
    // Named, but the log says nothing of an erasure: it stays as it was.
    program.write(
        "news/erasing",
        format!("{position}\t512\t{id}\n").as_bytes(),
    );
    assert_eq!(
        program
            .run(&["group", "set", "--dir", "news", "comp.misc", "y"])
            .status,
        0
    );
    assert!(!program.path("news/erasing").exists());
    ok(&program, &["article", "restore", id]);
    assert!(is_here(&program, id));
    let whole = std::fs::read_dir(program.path("news/segments")).unwrap();
    let whole: Vec<_> = whole.map(|entry| entry.unwrap().path()).collect();
    let kept: Vec<_> = whole
        .iter()
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect();
    let out = ok(&program, &["article", "remove", "--erase", "--json", id]);
    let told: serde_json::Value = serde_json::from_str(out.trim()).unwrap();
    let bytes = told["erased_bytes"].as_u64().unwrap();
    // A power cut behind the commit: the record and its rows are as before.
    for (path, text) in kept {
        let ends = [".art", ".ovr"];
        if ends
            .iter()
            .any(|end| path.display().to_string().ends_with(end))
        {
            let now = std::fs::read(&path).unwrap();
            let mut before = text.clone();
            before.extend_from_slice(now.get(text.len()..).unwrap_or_default());
            std::fs::write(&path, before).unwrap();
        }
    }
    program.write(
        "news/erasing",
        format!("{position}\t{bytes}\t{id}\n").as_bytes(),
    );
    assert!(
        !is_here(&program, id),
        "readers see nothing of it in between"
    );
    assert_eq!(
        program
            .run(&["group", "set", "--dir", "news", "comp.misc", "y"])
            .status,
        0
    );
    assert!(!program.path("news/erasing").exists());
    assert_eq!(
        files_with(&program.path("news"), b"the words that must not stay"),
        Vec::<String>::new()
    );
    program.assert_clean();
}

/// System calls that change the disk.
const CHANGES: &str = "openat,write,pwrite64,fsync,fdatasync,fallocate,ftruncate,?rename,?renameat,?renameat2,?unlink,?unlinkat";

/// Runs `article remove --erase` under strace; true if it ended well.
fn traced(program: &Program, options: &[&str]) -> bool {
    let options = [&["-f"], options].concat();
    let mut strace = faults::strace(&program.path(""), CHANGES, &options);
    strace.args(["article", "remove", "--dir", "news", "--erase"]);
    strace
        .arg("<victim@example.com>")
        .status()
        .unwrap()
        .success()
}

#[test]
fn killed_before_each_call_it_is_whole_removed_or_erased() {
    if !faults::can_trace() {
        return;
    }
    let program = news();
    let id = "<victim@example.com>";
    let copy = |from: &str, to: &str| faults::copy(&program.path(from), &program.path(to));
    copy("news", "made");
    assert!(traced(&program, &[]));
    // Before it opens the lock, it reads settings.
    let calls = faults::calls(&program.path(""), "lock\"");
    assert!(calls.len() > 10, "{calls:?}");
    let words = b"the words that must not stay";
    let (mut whole, mut erased) = (0, 0);
    for (place, (name, count)) in calls.into_iter().enumerate() {
        let faults = ["signal=SIGKILL", "error=EIO"];
        for fault in faults.iter().take(1 + usize::from(place % 4 == 0)) {
            copy("made", "news");
            let inject = faults::inject(&name, fault, count);
            let is_done = traced(&program, &["-e", &inject]);
            // The next program that opens the spool ends what was begun.
            let told = program.run(&["group", "set", "--dir", "news", "comp.misc", "y"]);
            assert_eq!(told.status, 0, "{inject}: {told:?}");
            let files = files_with(&program.path("news"), words);
            match (is_here(&program, id), files.is_empty()) {
                (true, is_erased) => {
                    assert!(!is_done && !is_erased, "{inject}");
                    whole += 1;
                }
                // It was removed first, and the erasure had not begun.
                (false, false) => assert!(!is_done, "{inject}: {files:?}"),
                (false, true) => erased += 1,
            }
            assert!(!program.path("news/erasing").exists(), "{inject}");
            program.assert_clean();
            ok(&program, &["article", "remove", "--erase", id]);
            let left = files_with(&program.path("news"), words);
            assert_eq!(left, Vec::<String>::new(), "{inject}");
            program.assert_clean();
            let rows = program.run(&["overview", "--dir", "news", "comp.test"]).out;
            assert_eq!(rows.lines().count(), 6, "{inject}: {rows}");
        }
    }
    assert!(whole > 5 && erased > 5, "{whole} {erased}");
}

#[test]
fn its_space_stays_as_long_as_it_can_be_restored() {
    let program = Program::with_small_segments(ACTIVE, 1);
    program.write("news/explist", b"/expired/ x 14 -\nall x 30 -\n");
    let told = program.rnews(&batch(&many("big", 300, "comp.test", 8_000)));
    assert_eq!(told.count("accepted"), 300, "{told:?}");
    let ids: Vec<String> = (1..=100)
        .map(|number| format!("<big.{number}@example.com>"))
        .collect();
    let mut words = vec!["article", "remove"];
    words.extend(ids.iter().map(String::as_str));
    ok(&program, &words);
    let now = UNIX_EPOCH.elapsed().unwrap().as_secs();
    let expire = |days: u64| {
        let at = (now + days * 86_400).to_string();
        let told = program.run(&["expire", "--dir", "news", "--json", "--now", &at]);
        assert_eq!(told.status, 0, "{told:?}");
    };
    expire(6);
    ok(&program, &["article", "restore", &ids[49]]);
    assert!(is_here(&program, &ids[49]));
    expire(8);
    program.assert_clean();
    let told = run(&program, &["article", "restore", &ids[50]]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("its space was returned"), "{told:?}");
    assert!(is_here(&program, &ids[49]));
}

#[test]
fn a_cancel_by_message_can_be_undone_and_one_by_hand_sent() {
    let program = Program::with_classic_cancels(ACTIVE);
    program.rnews(&batch(&[victim()]));
    let cancel = with(
        "<c@example.com>",
        "comp.test",
        "Control: cancel <victim@example.com>\n",
        b"\n",
    );
    assert_eq!(program.rnews(&batch(&[cancel])).count("accepted"), 1);
    let listed = ok(&program, &["article", "removed", "--json"]);
    assert!(
        listed.contains("\"how\":\"cancel\"") && listed.contains("<c@example.com>"),
        "{listed}"
    );
    ok(&program, &["article", "restore", "<victim@example.com>"]);
    assert!(is_here(&program, "<victim@example.com>"));
    ok(
        &program,
        &[
            "article",
            "remove",
            "--cancel",
            "<victim@example.com>",
            "--reason",
            "spam",
        ],
    );
    let control = program.run(&["overview", "--dir", "news", "control"]).out;
    assert!(
        control.contains("cmsg cancel <victim@example.com>"),
        "{control}"
    );
    let sent = program.run(&["article", "--dir", "news", "control/2"]).out;
    assert!(
        sent.contains("\nControl: cancel <victim@example.com>\n") && sent.contains("spam"),
        "{sent}"
    );
    // The reason of the hand stays.
    assert!(ok(&program, &["article", "removed"]).contains("spam"));
    // Nothing is known of the groups of one that is not here.
    let words = ["article", "remove", "--cancel", "<n@example.com>"];
    let told = program.run(&[&words[..], &["--dir", "news"]].concat());
    assert_eq!(told.status, 1, "{told:?}");
    assert!(
        told.err.contains("no cancel message was posted"),
        "{told:?}"
    );
    program.assert_clean();
}

/// Whether a process waits for a lock.
fn waits_for_a_lock(process: u32) -> bool {
    let locks = std::fs::read_to_string("/proc/locks").unwrap();
    let process = process.to_string();
    locks
        .lines()
        .any(|line| line.contains(" -> ") && line.split_whitespace().any(|word| word == process))
}

/// Runs `article remove` on an article that another program is filing, which stands still meanwhile.
fn remove_while_it_is_filed(program: &Program, words: &[&str]) -> String {
    let mut all = many("before", 3000, "comp.test", 5_000);
    all.push(victim());
    program.write("batch", &batch(&all));
    let mut rnews = program.command(&["rnews", "--dir", "news", "batch"]);
    let mut rnews = rnews.spawn().unwrap();
    until("the lock", || store::Lock::is_held(&program.path("news")));
    let signal = |signal| {
        let process = rustix::process::Pid::from_child(&rnews);
        rustix::process::kill_process(process, signal).unwrap();
    };
    signal(rustix::process::Signal::STOP);
    let words = [&["article", "remove", "--dir", "news"], words].concat();
    let mut remove = program.command(&words);
    let remove = remove.stdout(Stdio::piped()).spawn().unwrap();
    until("the wait", || waits_for_a_lock(remove.id()));
    signal(rustix::process::Signal::CONT);
    assert!(rnews.wait().unwrap().success());
    let done = remove.wait_with_output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn an_article_that_is_being_filed_goes() {
    let id = "<victim@example.com>";
    for is_erasing in [false, true] {
        let program = Program::with_news(ACTIVE);
        let (words, answer) = match is_erasing {
            true => (
                vec!["--erase", id],
                "erased <victim@example.com>: overwrote ",
            ),
            false => (vec![id], "removed <victim@example.com>"),
        };
        let out = remove_while_it_is_filed(&program, &words);
        assert!(out.starts_with(answer), "{out}");
        assert!(!is_here(&program, id), "{is_erasing}");
        let left = files_with(&program.path("news"), b"the words that must not stay");
        assert_eq!(left.is_empty(), is_erasing, "{left:?}");
        program.assert_clean();
        assert_eq!(program.rnews(&batch(&[victim()])).count("duplicates"), 1);
    }
}

#[test]
fn an_article_that_a_daemon_is_filing_goes() {
    let id = "<victim@example.com>";
    let program = Program::with_news(ACTIVE);
    let daemon = Daemon::start(&program);
    let mut all = many("before", 3000, "comp.test", 5_000);
    all.push(victim());
    program.write("batch", &batch(&all));
    let mut rnews = program.command(&["rnews", "--dir", "news", "batch"]);
    let mut rnews = rnews.spawn().unwrap();
    until("the batch", || {
        store::Lock::is_held(&program.path("news")) || rnews.try_wait().unwrap().is_some()
    });
    // It goes, or is refused, whichever is first.
    ok(&program, &["article", "remove", "--erase", id]);
    assert!(rnews.wait().unwrap().success());
    assert!(!is_here(&program, id));
    daemon.stop();
    let left = files_with(&program.path("news"), b"the words that must not stay");
    assert_eq!(left, Vec::<String>::new());
    program.assert_clean();
}

#[test]
fn what_is_erased_meanwhile_is_not_restored() {
    let program = news();
    let id = "<victim@example.com>";
    ok(&program, &["article", "remove", id]);
    let mut spool = store::Spool::open(&program.path("news"), store::Options::default()).unwrap();
    let mut restore = program.command(&["article", "restore", "--dir", "news", id]);
    let restore = restore.stderr(Stdio::piped()).spawn().unwrap();
    until("the wait", || waits_for_a_lock(restore.id()));
    let position = spool
        .find(id.as_bytes())
        .unwrap()
        .unwrap()
        .position
        .unwrap();
    let note = store::RemovalNote {
        seconds: 1,
        until: i64::MIN,
        by: store::RemovedBy::Erasure,
        text: b"",
    };
    spool.erase(position, id.as_bytes(), note).unwrap();
    drop(spool);
    let done = restore.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(1), "{told}");
    assert!(told.contains("it was erased"), "{told}");
    assert!(!is_here(&program, id));
    program.assert_clean();
}
