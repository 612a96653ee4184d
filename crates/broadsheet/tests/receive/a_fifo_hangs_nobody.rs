//! A FIFO in the place of a file of the news directory: commands end, and name it; the daemon serves on.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::path::Path;
use std::process::Command;

use program::articles::{batch, many};
use program::nntp::{ALL_MAY, Served, listen};
use program::{Program, Told};

/// Runs a command for 30 seconds at most; after that its status is 124.
fn run(program: &Program, words: &[&str], input: &[u8]) -> Told {
    let words = [&["30", env!("CARGO_BIN_EXE_broadsheet")], words].concat();
    program.run_as(Path::new("/usr/bin/timeout"), &words, input)
}

/// Puts a FIFO in the place of a file.
fn put_a_fifo(path: &Path) {
    let _ = std::fs::remove_file(path);
    let _ = std::fs::create_dir(path.parent().unwrap());
    let made = Command::new("mkfifo")
        .args(["-m", "666"])
        .arg(path)
        .status();
    assert!(made.unwrap().success(), "{}", path.display());
}

const POST: &[u8] = b"From: a@example.com\nNewsgroups: comp.test\nSubject: s\n\nbody\n";

#[test]
fn whatever_file_it_stands_for() {
    let site = "\n[[site]]\nname = \"west\"\ngroups = \"comp\"\nvia = { directory = \"../west\", size = \"10 kB\" }\n";
    for name in [
        "cancels",
        "cancels.early",
        "checkgroups.serials",
        "expired",
        "index",
        "index.key",
        "active",
        "active.times",
        "archives.known",
        "newsgroups",
        "sys",
        "feeds.names",
        "sites.known",
        "feeds/west/cursor",
        "feeds/west/failing",
        "feeds/west/failing.mailed",
        "feeds/west/lock",
        "feeds/west/paused",
        "feeds/west/selected",
        "batchlog",
        "batchparms",
        "explist",
        "keys/cancel.secret",
        "keys/x.asc",
        "log",
        "mailname",
        "mailpaths",
        "moderators",
        "posts.log",
        "reserve",
        "users",
        ".art",
        ".his",
        ".ovr",
    ] {
        let program = Program::with_news("comp.test 0000000000 00001 y\n");
        let settings = program.read("news/broadsheet.toml") + site;
        program.write("news/broadsheet.toml", settings.as_bytes());
        let text = batch(&many("a", 1, "comp.test", 100));
        assert_eq!(program.rnews(&text).status, 0);
        let path = match name.strip_prefix('.') {
            None => program.path("news").join(name),
            Some(end) => program
                .files("news/segments")
                .into_iter()
                .find(|path| path.extension().is_some_and(|known| known == end))
                .unwrap(),
        };
        put_a_fifo(&path);
        let more = batch(&many("b", 1, "comp.test", 100));
        for (words, input) in [
            (&["fsck", "--dir", "news"][..], &b""[..]),
            (&["rnews", "--dir", "news"], &more),
            (&["feed", "list", "--dir", "news"], b""),
            (&["sendbatches", "--dir", "news"], b""),
            (&["expire", "--dir", "news"], b""),
            (&["inews", "--dir", "news"], POST),
            (&["report", "--dir", "news"], b""),
            (&["overview", "--dir", "news", "comp.test"], b""),
            (&["check", "--dir", "news"], b""),
            (&["fsck", "--repair", "--dir", "news"], b""),
        ] {
            let told = run(&program, words, input);
            assert_ne!(told.status, 124, "{name} {words:?}: {told:?}");
            assert_ne!(told.status, 101, "{name} {words:?}: {told:?}");
            println!("{name} {words:?}: {} {}", told.status, told.err.trim_end());
        }
    }
}

/// One client could stop each network thread, and nothing but a kill ended the daemon.
#[test]
fn the_daemon_serves_on() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    let lists = [
        ("newsgroups", "NEWSGROUPS"),
        ("active.times", "ACTIVE.TIMES"),
        ("distrib.pats", "DISTRIB.PATS"),
        ("distributions", "DISTRIBUTIONS"),
        ("moderators", "MODERATORS"),
        ("motd", "MOTD"),
        ("subscriptions", "SUBSCRIPTIONS"),
    ];
    for (file, list) in lists {
        put_a_fifo(&program.path("news").join(file));
        // More of them than network threads.
        for _ in 0..3 {
            let mut client = served.client();
            client.say(format!("LIST {list}\r\nDATE\r\nQUIT\r\n"));
            assert!(client.line().starts_with("403 "), "{file}");
            assert!(client.line().starts_with("111 "), "{file}");
        }
        served
            .daemon
            .until_said(&format!("{file}: it is not a regular file"));
    }
    let told = run(&program, &["stop", "--dir", "news"], b"");
    assert_eq!(told.status, 0, "{told:?}");
}

#[test]
fn a_policy_may_come_from_a_pipe() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let policy = program.read("news/explist");
    let words = ["expire", "--dir", "news", "--dry-run", "/dev/stdin"];
    let told = run(&program, &words, policy.as_bytes());
    assert_eq!(told.status, 0, "{told:?}");
}

/// An administrator who wants no log links it to a device.
#[test]
fn the_log_may_be_a_device() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let path = program.path("news/log");
    let _ = std::fs::remove_file(&path);
    std::os::unix::fs::symlink("/dev/null", &path).unwrap();
    let told = program.rnews(&batch(&many("a", 1, "comp.test", 100)));
    assert_eq!((told.status, told.count("accepted")), (0, 1), "{told:?}");
}
