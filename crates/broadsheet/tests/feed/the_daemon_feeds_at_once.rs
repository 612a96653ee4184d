//! Feeds that want their articles at once get them as they are filed, of the daemon and without it, and nothing is lost.
// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use program::Program;
use program::articles::{article, batch, id, many};
use program::daemon::{Daemon, until};

const GROUPS: &str = "comp.test 0000000000 00001 y\n";

/// A news directory with a site of this `via`, which runs shell scripts in the test's directory.
fn feeding(via: &str) -> Program {
    let program = Program::with_news(GROUPS);
    add(&program, "one", via);
    program
}

fn add(program: &Program, name: &str, via: &str) {
    let settings = program.read("news/broadsheet.toml")
        + &format!("\n[[site]]\nname = \"{name}\"\ngroups = \"comp\"\nvia = {via}\n");
    program.write("news/broadsheet.toml", settings.as_bytes());
}

fn fifo(program: &Program, name: &str) {
    let made = std::process::Command::new("mkfifo")
        .arg(program.path(name))
        .status();
    assert!(made.unwrap().success());
}

/// Writes a line into the FIFO `go`, if a program reads it now.
fn let_go(program: &Program) {
    let open = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::NONBLOCK;
    if let Ok(go) = rustix::fs::open(program.path("go"), open, rustix::fs::Mode::empty()) {
        let _ = rustix::io::write(go, b"go\n");
    }
}

/// The next lines of a FIFO: opened by this, read until there are so many.
fn lines(fifo: &mut impl BufRead, count: usize) -> Vec<String> {
    let next = |_| {
        let mut line = String::new();
        fifo.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    };
    (0..count).map(next).collect()
}

fn file(program: &Program, prefix: &str, count: usize) {
    let told = program.rnews(&batch(&many(prefix, count, "comp.test", 100)));
    assert_eq!(told.count("accepted") as usize, count, "{told:?}");
}

fn ids(prefix: &str, count: usize) -> Vec<String> {
    (1..=count).map(|number| id(prefix, number)).collect()
}

fn feed(program: &Program, words: &[&str]) -> program::Told {
    let words = [&["feed"], words].concat();
    let (command, rest) = words.split_at(2);
    program.run(&[command, &["--dir", "news"], rest].concat())
}

fn listed(program: &Program) -> serde_json::Value {
    let told = feed(program, &["list", "--json"]);
    assert_eq!(told.status, 0, "{told:?}");
    told.summary()
}

fn sh(script: &str, gives: &str) -> String {
    format!("{{ program = \"\"\"sh -c 'cd .. && {script}'\"\"\", gives = \"{gives}\" }}")
}

#[test]
fn a_program_has_each_article_as_it_is_filed() {
    let program = feeding(&sh("cat > fifo", "id"));
    fifo(&program, "fifo");
    let daemon = Daemon::start(&program);
    file(&program, "first", 3);
    let mut fifo = BufReader::new(File::open(program.path("fifo")).unwrap());
    assert_eq!(lines(&mut fifo, 3), ids("first", 3));
    file(&program, "second", 2);
    assert_eq!(lines(&mut fifo, 2), ids("second", 2));
    // One that comes by in.coming/, and one that is posted with the lock borrowed.
    program.write("moved", &batch(&many("moved", 1, "comp.test", 100)));
    std::fs::rename(
        program.path("moved"),
        program.path("news/in.coming/5.700000000a.t"),
    )
    .unwrap();
    assert_eq!(lines(&mut fifo, 1), ids("moved", 1));
    let post = b"From: me@example.org\nNewsgroups: comp.test\nSubject: hello\nMessage-ID: <posted@example.org>\n\nhello\n";
    let told = program.feed(&["inews", "--dir", "news", "-h"], post);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(lines(&mut fifo, 1), ["<posted@example.org>"]);
    until("all passed", || listed(&program)["sent"] == 7);
    until("its rest", || listed(&program)["state"] == "ready");
    assert_eq!(listed(&program)["articles"], 0);
    // It is not started a second time for a flush.
    let told = feed(&program, &["flush", "--json"]);
    assert_eq!((told.status, told.count("articles")), (0, 0), "{told:?}");
    file(&program, "third", 2);
    let told = feed(&program, &["flush"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(lines(&mut fifo, 2), ids("third", 2));
    // The end of the daemon is the end of its input, and no article is in between.
    daemon.stop();
    assert_eq!(lines(&mut fifo, 1), [""]);
    assert_eq!(listed_sent(&program), 9);
}

fn listed_sent(program: &Program) -> u64 {
    listed(program)["sent"].as_u64().unwrap()
}

#[test]
fn a_paused_feed_waits_and_goes_on() {
    let program = feeding(&sh("cat >> got", "id"));
    let daemon = Daemon::start(&program);
    file(&program, "first", 1);
    until("the first", || listed_sent(&program) == 1);
    assert_eq!(
        feed(&program, &["pause", "--why", "a test", "one"]).status,
        0
    );
    file(&program, "second", 2);
    assert_eq!(
        daemon.until_said("paused"),
        "broadsheet: one: paused: a test"
    );
    let told = feed(&program, &["flush"]);
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("one: paused: a test"), "{told:?}");
    assert_eq!(listed(&program)["articles"], 2);
    assert_eq!(feed(&program, &["resume", "one"]).status, 0);
    until("the others", || listed_sent(&program) == 3);
    assert_eq!(
        feed(&program, &["reset", "--to", "oldest", "one"]).status,
        0
    );
    until("all again", || listed_sent(&program) == 6);
    daemon.stop();
    let all = [ids("first", 1), ids("second", 2)].concat().join("\n") + "\n";
    assert_eq!(program.read("got"), all.repeat(2));
}

#[test]
fn a_program_that_dies_is_started_again_and_nothing_is_lost() {
    // The first one ends with what it has read of two lines; the second one stays.
    let script =
        "read a; echo $a >> got; if test -e died; then cat >> got; else touch died; exit 3; fi";
    let program = feeding(&sh(script, "id"));
    let daemon = Daemon::start(&program);
    file(&program, "first", 5);
    let said = daemon.until_said("ended by itself");
    assert!(
        said.contains("one: sh: ended by itself: exit status: 3"),
        "{said}"
    );
    until("all five", || listed_sent(&program) >= 5);
    let got = program.read("got");
    for id in ids("first", 5) {
        assert!(got.contains(&id), "{got}");
    }
    daemon.stop();
    assert_eq!(listed(&program)["articles"], 0);
}

#[test]
fn a_reload_brings_another_program_and_other_feeds() {
    let program = feeding(&sh("cat >> before", "id"));
    let daemon = Daemon::start(&program);
    file(&program, "first", 2);
    until("the first two", || listed_sent(&program) == 2);
    let settings = program
        .read("news/broadsheet.toml")
        .replace("before", "after");
    program.write("news/broadsheet.toml", settings.as_bytes());
    add(&program, "two", "{ files = \"two.list\", form = \"I\" }");
    let told = program.run(&["reload", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    file(&program, "second", 2);
    let after = ids("second", 2).join("\n") + "\n";
    until("the other program", || {
        std::fs::read_to_string(program.path("after")).is_ok_and(|text| text == after)
    });
    until("the list", || {
        std::fs::read_to_string(program.path("news/two.list")).is_ok_and(|text| text == after)
    });
    daemon.stop();
    assert_eq!(program.read("before"), ids("first", 2).join("\n") + "\n");
}

/// Four feeds: a program, a command an article, a list, and another news directory.
fn all_kinds() -> Program {
    let program = feeding(&sh("cat >> articles", "article"));
    add(
        &program,
        "two",
        "{ command = \"\"\"sh -c 'cat >> ../each; test -s \\\"$0\\\"' %s\"\"\" }",
    );
    add(
        &program,
        "three",
        "{ files = \"out.going/three\", form = \"n\" }",
    );
    add(&program, "four", "{ news = \"../other\" }");
    program.init("other", "other.example.net");
    program
}

/// All four have these articles, once.
fn assert_all_kinds_have(program: &Program, ids: &[String]) {
    until("every feed at the end", || {
        let told = feed(program, &["list", "--json"]);
        told.out.lines().all(|line| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["sent"] == ids.len()
        })
    });
    for name in ["articles", "each", "news/out.going/three"] {
        until(name, || {
            std::fs::read_to_string(program.path(name))
                .is_ok_and(|text| ids.iter().all(|id| text.matches(id.as_str()).count() == 1))
        });
    }
    for id in ids {
        let told = program.run(&["article", "--dir", "other", id]);
        assert_eq!(told.status, 0, "{told:?}");
        assert!(
            told.out
                .contains("Path: other.example.net!news.example.org!"),
            "{told:?}"
        );
    }
    let log = program.read("other/log");
    assert!(!log.contains("duplicate"), "{log}");
}

#[test]
fn another_directory_here_is_fed_by_whatever_name_we_are_called() {
    let program = all_kinds();
    program::copy_program(
        env!("CARGO_BIN_EXE_broadsheet").as_ref(),
        &program.path("rnews"),
    );
    program.write("news/rnews", b"not to be filed");
    program.write(
        "batch",
        &batch(&[article("<called@example.com>", "comp.test")]),
    );
    let done = std::process::Command::new(program.path("rnews"))
        .args(["--dir", "news", "batch"])
        .current_dir(program.path(""))
        .output()
        .unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.success() && said.lines().count() == 1, "{said}");
    assert_all_kinds_have(&program, &["<called@example.com>".to_owned()]);
}

fn wire(program: &Program, id: &str) -> String {
    let bytes = program.run_bytes(&["article", "--dir", "news", id]);
    String::from_utf8(bytes).unwrap()
}

#[test]
fn every_kind_is_served_by_the_daemon() {
    let program = all_kinds();
    let daemon = Daemon::start(&program);
    file(&program, "first", 3);
    assert_all_kinds_have(&program, &ids("first", 3));
    file(&program, "second", 3);
    let both = [ids("first", 3), ids("second", 3)].concat();
    assert_all_kinds_have(&program, &both);
    daemon.stop();
    let first = wire(&program, &both[0]);
    assert!(
        program
            .read("articles")
            .starts_with(&format!("#! rnews {}\n{first}", first.len()))
    );
    assert!(program.read("each").starts_with(&first));
}

#[test]
fn every_kind_is_served_without_the_daemon() {
    let program = all_kinds();
    file(&program, "first", 2);
    assert_all_kinds_have(&program, &ids("first", 2));
    let told = program.feed(
        &["rnews", "--dir", "news", "--spool"],
        &batch(&[article("<spooled@example.com>", "comp.test")]),
    );
    assert_eq!(told.status, 0, "{told:?}");
    let told = program.run(&["newsrun", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    let mut all = ids("first", 2);
    all.push("<spooled@example.com>".to_owned());
    assert_all_kinds_have(&program, &all);
    let post = b"From: me@example.org\nNewsgroups: comp.test\nSubject: hello\nMessage-ID: <posted@example.org>\n\nhello\n";
    let told = program.feed(&["inews", "--dir", "news", "-h"], post);
    assert_eq!(told.status, 0, "{told:?}");
    all.push("<posted@example.org>".to_owned());
    assert_all_kinds_have(&program, &all);
    // What could not be served then is flushed.
    assert_eq!(
        feed(&program, &["pause", "one", "two", "three", "four"]).status,
        0
    );
    file(&program, "last", 1);
    assert_eq!(
        feed(&program, &["resume", "one", "two", "three", "four"]).status,
        0
    );
    let told = feed(&program, &["flush"]);
    assert_eq!(told.status, 0, "{told:?}");
    all.push(id("last", 1));
    assert_all_kinds_have(&program, &all);
    assert!(!Path::new(&program.path("news/feeds/two/article")).exists());
}

#[test]
fn the_daemon_ends_while_a_program_does_not_read() {
    // It reads a line, tells so, and then sleeps until its input ends: it is killed for that.
    let program = feeding(&sh("read a; echo $a > fifo; exec sleep 600", "id"));
    fifo(&program, "fifo");
    let mut daemon = Daemon::start(&program);
    file(&program, "first", 3);
    let mut fifo = BufReader::new(File::open(program.path("fifo")).unwrap());
    assert_eq!(lines(&mut fifo, 1), ids("first", 1));
    daemon.signal("TERM");
    assert_eq!(daemon.until_ended(), 0);
    // Whatever it had read and nobody knew of is given again.
    let settings = program
        .read("news/broadsheet.toml")
        .replace("read a; echo $a > fifo; exec sleep 600", "cat > got");
    program.write("news/broadsheet.toml", settings.as_bytes());
    let told = feed(&program, &["flush"]);
    assert_eq!(told.status, 0, "{told:?}");
    let got = std::fs::read_to_string(program.path("got")).unwrap_or_default();
    assert!(
        [
            "",
            "<first.1@example.com>\n<first.2@example.com>\n<first.3@example.com>\n"
        ]
        .contains(&got.as_str()),
        "{got}"
    );
}

#[test]
fn newsrun_lets_others_file_while_feeds_have_their_turn() {
    let program =
        feeding("{ command = \"\"\"sh -c 'cd .. && echo begun > begun; read go < go' %s\"\"\" }");
    fifo(&program, "begun");
    fifo(&program, "go");
    let spool = |prefix: &str| {
        let text = batch(&many(prefix, 1, "comp.test", 100));
        let told = program.feed(&["rnews", "--dir", "news", "--spool"], &text);
        assert_eq!(told.status, 0, "{told:?}");
    };
    spool("first");
    let words = ["newsrun", "--dir", "news"];
    let mut slow = program.command(&words).spawn().unwrap();
    let mut begun = BufReader::new(File::open(program.path("begun")).unwrap());
    assert_eq!(lines(&mut begun, 1), ["begun"]);
    // The command waits; what comes now is filed by the next one all the same.
    spool("second");
    let told = program.run(&words);
    assert_eq!(told.status, 0, "{told:?}");
    let found = program.run(&["history", "find", "--dir", "news", &id("second", 1)]);
    assert_eq!(found.status, 0, "{found:?}");
    // Each command reads a line of its own.
    until("both", || {
        let_go(&program);
        let one = listed(&program);
        one["state"] == "ready" && one["articles"] == 0
    });
    assert!(slow.wait().unwrap().success());
}

#[test]
fn rnews_does_not_wait_for_a_program_that_does_not_read() {
    let program = feeding(&sh("read go < go; cat >> got", "id"));
    fifo(&program, "go");
    let text = batch(&many("first", 2, "comp.test", 100));
    program.write("batch", &text);
    // Nor does who reads what it says, to its end.
    let told = program.run(&["rnews", "--dir", "news", "--json", "batch"]);
    assert_eq!((told.status, told.count("accepted")), (0, 2), "{told:?}");
    assert!(told.err.contains("continues in the background"), "{told:?}");
    // Another one finds the feed being served.
    file(&program, "second", 2);
    assert!(!program.path("got").exists());
    program.write("go", b"go\n");
    let all = [ids("first", 2), ids("second", 2)].concat();
    until("all four", || {
        // Its program ends with each turn, and the next one waits again.
        let_go(&program);
        let got = std::fs::read_to_string(program.path("got")).unwrap_or_default();
        all.iter().all(|id| got.contains(id.as_str()))
    });
    until("its rest", || listed(&program)["state"] == "ready");
}

#[test]
fn a_reload_and_the_end_end_a_command_that_hangs() {
    let hangs = "sh -c 'cd .. && echo $$ > begun; exec sleep 600'";
    let program = feeding(&format!("{{ command = \"\"\"{hangs}\"\"\" }}"));
    fifo(&program, "begun");
    let mut daemon = Daemon::start(&program);
    file(&program, "first", 1);
    let begun = || {
        let mut begun = BufReader::new(File::open(program.path("begun")).unwrap());
        format!("/proc/{}", lines(&mut begun, 1)[0])
    };
    let first = begun();
    let told = program.run(&["reload", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    // The one before is killed, and the next one has its turn.
    let second = begun();
    assert_ne!(first, second);
    assert!(!Path::new(&first).exists());
    daemon.signal("TERM");
    assert_eq!(daemon.until_ended(), 0);
    assert!(!Path::new(&second).exists());
    assert_eq!(listed(&program)["articles"], 1);
}
