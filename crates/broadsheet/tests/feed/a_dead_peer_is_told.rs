//! A peer that is dead raises an alarm: in the journal, in `status`, `check -q`, `feed list` and the metrics, and by one mail. A peer that
//! accepts connections and hangs is dead, too.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::net::TcpListener;
use std::process::Command;

use program::Program;
use program::daemon::{Daemon, until};
use program::feeding::{add_peer, feeding, file, listed, waiting};
use program::nntp::{ALL_MAY, Served, listen};
use program::wire::{address, http};

const ACTIVE: &str = "comp.test 0000000000 00001 y\n";

/// A daemon whose standard error is the journal, as far as it knows.
fn start_with_journal(program: &Program) -> Daemon {
    let serve = program.command(&["serve", "--dir", "news"]);
    let mut shell = Command::new("sh");
    shell
        .args([
            "-c",
            "JOURNAL_STREAM=$(stat -Lc %d:%i /proc/self/fd/2) exec \"$@\"",
            "sh",
        ])
        .arg(serve.get_program())
        .args(serve.get_args())
        .current_dir(program.path("."));
    for (name, value) in serve.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let daemon = Daemon::launch_by(program, shell);
    daemon.until_notified("READY=1");
    daemon
}

/// An address at which nobody listens, until somebody does.
fn dead_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

fn status(program: &Program) -> String {
    program.run(&["status", "--dir", "news"]).out
}

fn check(program: &Program) -> String {
    program.run(&["check", "-q", "--dir", "news"]).out
}

/// Mail goes into the file `mail`, one after the other.
fn mail_to_file(program: &Program) {
    program.set("mail = \"\"", "mail = \"admin@example.org\"");
    program.set("mail_server = \"auto\"", "mail_server = \"\"");
    let settings = program.read("news/broadsheet.toml");
    let sendmail = settings
        .lines()
        .find(|line| line.starts_with("sendmail = "));
    let command = format!("sendmail = \"tee -a {}\"", program.path("mail").display());
    program.set(sendmail.unwrap(), &command);
    program.set("report = \"00:30\"", "report = \"off\"");
}

#[test]
fn one_that_refuses_connections_and_comes_back() {
    let peer = dead_address();
    let program = feeding(&peer, "");
    mail_to_file(&program);
    program.set("alarm_after = \"1 h\"", "alarm_after = \"1 s\"");
    program.set("metrics = \"\"", "metrics = \"127.0.0.1:0\"");
    let daemon = start_with_journal(&program);
    let metrics = address(&daemon, "metrics at http://");
    file(&program, "a", 3, 1_000);
    let warning = daemon.until_said("articles cannot be sent");
    assert_eq!(
        warning,
        "<4>broadsheet: peer: articles cannot be sent: cannot connect: Connection refused (os error 111); `broadsheet peer test peer' tells at \
         which step"
    );
    let json = program
        .run(&["status", "--dir", "news", "--json"])
        .summary();
    let failing = &json["feeds"]["failing"][0];
    assert_eq!(failing["site"], "peer", "{json}");
    assert_eq!(failing["articles"], 3);
    assert!(failing["since"].as_i64().unwrap() > 1_700_000_000);
    let text = status(&program);
    let line = text.lines().find(|line| line.starts_with("failing feed"));
    let line = line.unwrap_or_else(|| panic!("{text}"));
    for part in [
        "peer: cannot connect: Connection refused (os error 111) since ",
        "; 3 articles wait, ",
        "`broadsheet peer test peer' tells at which step",
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    let quiet = check(&program);
    assert!(
        quiet.contains("feeds: warning: peer: cannot connect: "),
        "{quiet}"
    );
    assert!(quiet.contains("; 3 articles wait, "), "{quiet}");
    assert_eq!(listed(&program)["state"], "failing");
    let page = http(&metrics, "GET /metrics HTTP/1.0\r\n\r\n");
    assert!(
        page.contains("broadsheet_feed_failing{site=\"peer\"} 1\n"),
        "{page}"
    );
    assert!(
        page.contains("broadsheet_feed_failing_seconds{site=\"peer\"} "),
        "{page}"
    );
    until("the mail", || {
        program.path("news/feeds/peer/failing.mailed").exists()
    });
    let mails = || match program.path("mail").exists() {
        true => program.read("mail").matches("Subject: ").count(),
        false => 0,
    };
    until("it is sent", || mails() == 1);
    let mail = program.read("mail");
    for part in [
        "To: admin@example.org\n",
        "Subject: news.example.org: articles cannot be sent to peer\n",
        "\npeer\n    cannot connect: Connection refused (os error 111) since ",
        "; 3 articles wait, ",
        "`broadsheet peer test peer' tells at which step\n",
    ] {
        assert!(mail.contains(part), "{part}: {mail}");
    }
    // Neither a reload nor another daemon makes another outage of it.
    let told = program.run(&["reload", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    daemon.until_said("settings reloaded");
    daemon.stop();
    let daemon = start_with_journal(&program);
    file(&program, "b", 2, 1_000);
    until("it fails again", || listed(&program)["state"] == "failing");
    assert!(check(&program).contains("; 5 articles wait, "));
    assert!(!daemon.said().iter().any(|line| line.starts_with("<4>")));
    // It comes back.
    let there = Program::with_news(ACTIVE);
    listen(&there, ALL_MAY);
    there.set("listen = \"127.0.0.1:0\"", &format!("listen = \"{peer}\""));
    let served = Served::start(&there);
    let told = program.run(&["feed", "flush", "peer", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    let notice = daemon.until_said("articles are sent again");
    assert!(
        notice.starts_with("<5>broadsheet: peer: articles are sent again, after an outage of "),
        "{notice}"
    );
    until("nothing waits", || waiting(&program) == 0);
    assert_eq!(check(&program), "");
    assert!(!status(&program).contains("failing feed"));
    assert_eq!(mails(), 1);
    daemon.stop();
    served.daemon.stop();
}

#[test]
fn one_that_hangs() {
    // Its system accepts connections, and nobody says anything.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_address = silent.local_addr().unwrap().to_string();
    let there = Program::with_news(ACTIVE);
    listen(&there, ALL_MAY);
    let served = Served::start(&there);
    let program = feeding(&served.address, "");
    let settings = program.read("news/broadsheet.toml");
    let has = |id: &str| there.run(&["article", "--dir", "news", id]).status == 0;
    let daemon = Daemon::start(&program);
    file(&program, "a", 3, 1_000);
    until("the first articles", || has(&program::articles::id("a", 3)));
    until("nothing waits", || waiting(&program) == 0);
    // It stops in the middle of what it gets.
    served.daemon.signal("STOP");
    let site = |name: &str| name.replace("\"peer\"", "\"silent\"");
    add_peer(&program, &silent_address, "");
    let more = program.read("news/broadsheet.toml");
    let more = settings.clone() + &site(&more[settings.len()..]);
    program.write("news/broadsheet.toml", more.as_bytes());
    let told = program.run(&["reload", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    file(&program, "b", 200, 30_000);
    // The test of such a peer takes some seconds, and gives no advice that only a new peer needs.
    let test = |peer: &str| {
        let told = program.run(&["peer", "test", peer, "--dir", "news"]);
        assert_eq!(told.status, 1, "{told:?}");
        assert!(told.out.contains("ok       port "), "{told:?}");
        let failed = "failed   greeting      the server sent nothing for 8 seconds\n";
        assert!(told.out.contains(failed), "{told:?}");
        assert!(
            told.out
                .contains("-> the connection is open, but the server says nothing"),
            "{told:?}"
        );
        assert!(!told.out.contains("tls ="), "{told:?}");
        told.out
    };
    test("silent");
    assert!(test("peer").contains("; it took articles from us until "));
    let mut warned = [
        daemon.until_said("articles cannot be sent"),
        daemon.until_said("articles cannot be sent"),
    ];
    warned.sort();
    for (line, name) in warned.iter().zip(["peer", "silent"]) {
        assert!(
            line.contains(&format!("{name}: articles cannot be sent: no answer; ")),
            "{line}"
        );
    }
    let told = program.run(&["feed", "list", "--dir", "news"]).out;
    for name in ["peer", "silent"] {
        assert!(
            told.contains(&format!("{name}  failing\n    no answer since ")),
            "{told}"
        );
    }
    let quiet = check(&program);
    for (name, count) in [("peer", 200), ("silent", 200)] {
        let line = format!("feeds: warning: {name}: no answer since ");
        let line = quiet.lines().find(|one| one.starts_with(&line));
        let line = line.unwrap_or_else(|| panic!("{name}: {quiet}"));
        assert!(
            line.contains(&format!("; {count} articles wait, ")),
            "{line}"
        );
    }
    served.daemon.signal("CONT");
    daemon.until_said("peer: articles are sent again, after an outage of ");
    until("the others", || has(&program::articles::id("b", 200)));
    daemon.stop();
    served.daemon.stop();
    drop(silent);
}
