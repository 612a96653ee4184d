//! `broadsheet reload` and SIGHUP: new settings are in force at once, faulty ones not at all.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::time::{Duration, Instant};

use program::Program;
use program::articles::{batch, many};
use program::daemon::{Daemon, until};
use program::nntp::{ALL_MAY, Client, Served, listen, wire};

fn refused(program: &Program, prefix: &str) -> u64 {
    let told = program.rnews(&batch(&many(prefix, 1, "comp.test", 100_000)));
    told.count("refused")
}

fn with_limit(program: &Program, good: &str, limit: &str) {
    let settings = good.replace(
        "article_bytes_max = \"8 MiB\"",
        &format!("article_bytes_max = \"{limit}\""),
    );
    assert!(settings.contains(limit));
    program.write("news/broadsheet.toml", settings.as_bytes());
}

#[test]
fn by_command_and_by_signal() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let good = program.read("news/broadsheet.toml");
    let daemon = Daemon::start(&program);
    assert_eq!(refused(&program, "a"), 0);
    with_limit(&program, &good, "8 KiB");
    assert_eq!(refused(&program, "b"), 0, "nothing was reloaded yet");
    let told = program.run(&["reload", "--dir", "news"]);
    assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
    assert_eq!(refused(&program, "c"), 1);
    program.write("news/broadsheet.toml", good.as_bytes());
    daemon.until_said("settings reloaded");
    let until_reloaded = || {
        daemon.until_notified("RELOADING=1");
        daemon.until_notified("READY=1");
    };
    // Of the reload by command.
    until_reloaded();
    daemon.signal("HUP");
    until_reloaded();
    assert_eq!(refused(&program, "d"), 0);
    daemon.stop();
}

#[test]
fn faults_are_told_and_change_nothing() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let good = program.read("news/broadsheet.toml");
    with_limit(&program, &good, "8 KiB");
    let daemon = Daemon::start(&program);
    program.write(
        "news/broadsheet.toml",
        format!("{good}\n[stor]\n").as_bytes(),
    );
    let told = program.run(&["reload", "--dir", "news"]);
    assert_eq!(told.status, 78, "{told:?}");
    assert!(told.err.contains("unknown section [stor]"), "{told:?}");
    assert!(told.err.contains("the settings are unchanged"), "{told:?}");
    daemon.until_said("unknown section [stor]");
    assert_eq!(refused(&program, "a"), 1);
    // A good broadsheet.toml with a faulty sys is no better.
    program.write("news/broadsheet.toml", good.as_bytes());
    program.write("news/sys", b"far:all/all:Z:\n");
    let told = program.run(&["reload", "--dir", "news"]);
    assert_eq!(told.status, 2, "{told:?}");
    assert!(told.err.contains("sys"), "{told:?}");
    assert_eq!(refused(&program, "b"), 1);
    daemon.stop();
}

#[test]
fn faults_of_files_that_are_read_later_are_told_too() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let good = program.read("news/broadsheet.toml");
    with_limit(&program, &good, "8 KiB");
    let daemon = Daemon::start(&program);
    program.write("news/broadsheet.toml", good.as_bytes());
    let explist = program.read("news/explist");
    for (file, text, said) in [
        ("explist", "all x soon -\n", "explist:1"),
        ("batchparms", "site u\n", "batchparms"),
        ("users", "anna\n", "users"),
        ("control.ctl", "newgroup:*\n", "control.ctl"),
        ("mailpaths", "comp.*\n", "mailpaths"),
    ] {
        program.write(&format!("news/{file}"), text.as_bytes());
        let told = program.run(&["reload", "--dir", "news"]);
        assert_eq!(told.status, 2, "{file}: {told:?}");
        for said in [said, "the settings are unchanged"] {
            assert!(told.err.contains(said), "{said}: {told:?}");
        }
        match file {
            "explist" => program.write("news/explist", explist.as_bytes()),
            _ => std::fs::remove_file(program.path(&format!("news/{file}"))).unwrap(),
        }
    }
    assert_eq!(refused(&program, "a"), 1, "the old limit holds");
    assert_eq!(reload(&program).status, 0);
    assert_eq!(refused(&program, "b"), 0);
    daemon.stop();
}

#[test]
fn faults_of_files_that_are_read_later_are_told_at_the_start() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let good = program.read("news/broadsheet.toml");
    for (text, said) in [
        (
            "[[expire]]\npatterns = \"comp\"\nkeep_days = 3\n",
            "no [[expire]] covers group `",
        ),
        (
            "[[expire]]\npatterns = \"all\"\nlow = 10\ndefault = 5\n",
            "broadsheet.toml",
        ),
        ("[expiry]\nmax_fraction = 7\n", "from 0 to 1"),
    ] {
        program.write("news/broadsheet.toml", format!("{good}\n{text}").as_bytes());
        let daemon = Daemon::launch(&program);
        let line = daemon.until_said(said);
        daemon.until_notified("READY=1");
        let told = program.run(&["reload", "--dir", "news"]);
        // A group may have come by a control message: it keeps nothing else from being put into force.
        if said.starts_with("no [[expire]]") {
            assert_eq!(told.status, 0, "{told:?}");
            daemon.until_said(said);
        } else {
            assert_eq!(told.status, 78, "{told:?}");
            assert!(
                told.err.contains(said) && told.err.contains("the settings are unchanged"),
                "{told:?}"
            );
        }
        assert_eq!(refused(&program, "a"), 0, "it serves: {line}");
        daemon.stop();
    }
}

#[test]
fn another_user_may_not_ask_it_and_hears_so() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can be another user");
        return;
    }
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    for path in ["", "news", "news/broadsheet.toml"] {
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(program.path(path), mode).unwrap();
    }
    let daemon = Daemon::start(&program);
    let by_another = |words: &[&str]| {
        let mut command = program.command(&[words, &["--dir", "news"]].concat());
        // Of the directory's group, who may read.
        let group = std::fs::metadata(program.path("news")).unwrap().gid();
        command.uid(65_534).gid(group).output().unwrap()
    };
    for words in [
        &["stop"][..],
        &["reload"],
        &["intake", "show"],
        &["intake", "pause", "why"],
        &["intake", "resume"],
    ] {
        let told = by_another(words);
        let said = String::from_utf8(told.stderr).unwrap();
        assert_eq!(told.status.code(), Some(2), "{said}");
        assert!(
            said.contains("permission denied: only the owner of"),
            "{said}"
        );
    }
    let told = by_another(&["status"]);
    let said = String::from_utf8(told.stdout).unwrap();
    assert!(
        said.contains("unknown: only the owner of the news directory may ask"),
        "{said}"
    );
    let state = |told: &[u8]| -> serde_json::Value {
        let told: serde_json::Value = serde_json::from_slice(told).unwrap();
        told["daemon_state"].clone()
    };
    let told = by_another(&["status", "--json"]);
    assert_eq!(state(&told.stdout), "unknown");
    let told = program.run(&["status", "--dir", "news", "--json"]);
    assert_eq!(state(told.out.as_bytes()), "running");
    daemon.stop();
}

#[test]
fn an_edited_active_is_taken_up() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let daemon = Daemon::start(&program);
    let active = program.read("news/active") + "misc.new 0000000000 00001 y\n";
    program.write("news/active", active.as_bytes());
    assert_eq!(program.run(&["reload", "--dir", "news"]).status, 0);
    let told = program.rnews(&batch(&many("a", 2, "misc.new", 100)));
    assert_eq!(told.count("accepted"), 2, "{told:?}");
    daemon.stop();
    program.assert_clean();
}

#[test]
fn what_is_wrong_with_an_edited_active_is_told() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let daemon = Daemon::start(&program);
    let good = program.read("news/active");
    let active = good.clone() + "comp.bad 1 1 q\ncomp.void 0 1 =comp.none\n";
    program.write("news/active", active.as_bytes());
    let told = reload(&program);
    assert_eq!(told.status, 2, "{told:?}");
    for part in [
        "active line 4 ",
        "comp.void is an alias that leads to no group",
    ] {
        assert!(told.err.contains(part), "{part}: {told:?}");
    }
    // As long as it is wrong.
    let told = reload(&program);
    assert_eq!(told.status, 2, "{told:?}");
    assert_eq!(told.err.matches("active line 4 ").count(), 1, "{told:?}");
    program.write("news/active", good.as_bytes());
    let told = reload(&program);
    assert_eq!(told.status, 0, "{told:?}");
    daemon.stop();
}

#[test]
fn a_mended_active_opens_the_intake() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    let good = program.read("news/active");
    // A group twice, and the others gone.
    let line = "comp.test 0000000000 00001 y\n";
    program.write("news/active", line.repeat(2).as_bytes());
    assert_eq!(reload(&program).status, 2);
    let article = &many("a", 1, "comp.test", 100)[0];
    let mut client = served.client();
    // After each of these the intake rests twice as long: 8 seconds after the fourth.
    for _ in 0..4 {
        until("an article meets the fault", || {
            if !client.ask("IHAVE <a.1@example.com>").starts_with("335 ") {
                return false;
            }
            client.say(wire(article));
            client.line().starts_with("436 ")
        });
    }
    program.write("news/active", good.as_bytes());
    assert_eq!(reload(&program).status, 0);
    assert_eq!(&client.ask("IHAVE <a.1@example.com>")[..4], "335 ");
    client.say(wire(article));
    assert_eq!(&client.line()[..4], "235 ");
}

/// Puts a certificate and its key into the news directory.
fn certify(program: &Program, name: &str) {
    use std::os::unix::fs::PermissionsExt;
    let made = rcgen::generate_simple_self_signed(["news.example.org".to_owned()]).unwrap();
    let files = [
        ("cert", made.cert.pem()),
        ("key", made.signing_key.serialize_pem()),
    ];
    for (kind, text) in files {
        let path = format!("news/{name}.{kind}");
        program.write(&path, text.as_bytes());
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(program.path(&path), mode).unwrap();
    }
}

fn reload(program: &Program) -> program::Told {
    program.run(&["reload", "--dir", "news"])
}

/// Whether STARTTLS is offered, and whether NEWNEWS is.
fn offered(served: &Served) -> (bool, bool) {
    let mut client = served.client();
    client.say("CAPABILITIES\r\n");
    let lines = client.lines();
    let has = |word: &str| lines.iter().any(|line| line == word);
    (has("STARTTLS"), has("NEWNEWS"))
}

#[test]
fn limits_of_connections_and_times_are_swapped_live() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    let mut first = served.client();
    program.set(
        "connections_per_address_max = 64",
        "connections_per_address_max = 1",
    );
    assert_eq!(reload(&program).status, 0);
    let mut second = Client::connect(&served.address);
    let line = second.line();
    assert!(
        line.starts_with("400 Too many connections from your"),
        "{line}"
    );
    program.set(
        "connections_per_address_max = 1",
        "connections_per_address_max = 64",
    );
    program.set("connections_max = 20000", "connections_max = 1");
    assert_eq!(reload(&program).status, 0);
    let mut second = Client::connect(&served.address);
    let line = second.line();
    assert!(line.starts_with("400 Too many connections;"), "{line}");
    // One that is there already has to be quick, too, from now on.
    program.set("connections_max = 1", "connections_max = 20000");
    program.set("first_seconds = 60", "first_seconds = 1");
    assert_eq!(reload(&program).status, 0);
    let begin = Instant::now();
    assert_eq!(
        first.line(),
        "",
        "it is closed without a word (RFC 3977, 3.1)"
    );
    assert!(
        begin.elapsed() < Duration::from_secs(30),
        "by the limit of now"
    );
    served.daemon.stop();
}

#[test]
fn a_certificate_comes_and_is_replaced_live() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    assert_eq!(offered(&served), (false, true));
    program.set("certificate = \"\"", "certificate = \"a.cert\"");
    program.set("key = \"\"", "key = \"a.key\"");
    program.set("without = \"\"", "without = \"newnews\"");
    // Not there as yet: nothing is changed.
    let told = reload(&program);
    assert_eq!(told.status, 78, "{told:?}");
    assert!(told.err.contains("a.cert: cannot read"), "{told:?}");
    assert!(told.err.contains("the settings are unchanged"), "{told:?}");
    assert_eq!(offered(&served), (false, true));
    certify(&program, "a");
    let told = reload(&program);
    assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
    assert_eq!(offered(&served), (true, false));
    // Junk in the file: told, and the old one stays.
    program.write("news/a.cert", b"junk");
    program.set("without = \"newnews\"", "without = \"\"");
    let told = reload(&program);
    assert_eq!(told.status, 78, "{told:?}");
    assert!(
        told.err.contains("a.cert: no certificate found"),
        "{told:?}"
    );
    assert_eq!(offered(&served), (true, false));
    // Another pair, elsewhere.
    certify(&program, "b");
    program.set("certificate = \"a.cert\"", "certificate = \"b.cert\"");
    program.set("key = \"a.key\"", "key = \"b.key\"");
    let told = reload(&program);
    assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
    assert_eq!(offered(&served), (true, true));
    // It is watched where it is now.
    certify(&program, "b");
    served
        .daemon
        .until_said("TLS: new certificate for news.example.org");
    served.daemon.stop();
}

#[test]
fn what_takes_a_new_start_is_named() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    let served = Served::start(&program);
    let good = program.read("news/broadsheet.toml");
    program.set("listen = \"127.0.0.1:0\"", "listen = \"127.0.0.1\"");
    let told = reload(&program);
    assert_eq!(told.status, 78, "{told:?}");
    assert!(
        told.err
            .contains("nntp.listen `127.0.0.1' is not a valid listening address"),
        "{told:?}"
    );
    program.write("news/broadsheet.toml", good.as_bytes());
    program.set("listen = \"127.0.0.1:0\"", "listen = \"127.0.0.1:3119\"");
    program.set("threads = 0", "threads = 3");
    program.set("metrics = \"\"", "metrics = \"127.0.0.1:9119\"");
    program.set("without = \"\"", "without = \"newnews\"");
    for _ in 0..2 {
        // As long as it is so.
        let told = reload(&program);
        assert_eq!(told.status, 0, "{told:?}");
        let lines: Vec<&str> = told.err.lines().collect();
        assert_eq!(
            lines,
            ["listen", "threads", "metrics"].map(|key| format!(
                "broadsheet: nntp.{key} has changed: restart the daemon to apply it"
            ))
        );
        // The rest is in force.
        assert_eq!(offered(&served), (false, false));
    }
    program.write("news/broadsheet.toml", good.as_bytes());
    let told = reload(&program);
    assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
    served.daemon.stop();
}

/// A missing file of a password, and `@` in explist without an archive directory, do not keep other changes from being put into force. The
/// daemon tells the client.
#[test]
fn what_does_not_keep_a_reload_is_told() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let good = program.read("news/broadsheet.toml");
    let daemon = Daemon::start(&program);
    let site = "\n[[site]]\nname = \"far\"\ngroups = \"comp\"\nvia = { nntp = \"127.0.0.1:9\", user = \"a\", password_file = \"nosuch\", allow_plaintext_login = true }\n";
    program.write("news/broadsheet.toml", format!("{good}{site}").as_bytes());
    program.write("news/explist", b"all x 7 @\n");
    let told = program.run(&["reload", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    for part in ["far: ", "nosuch: cannot read", "archives to `@'"] {
        assert!(told.err.contains(part), "{part}: {told:?}");
    }
    program.write("news/broadsheet.toml", good.as_bytes());
    program.write("news/explist", b"comp.other x 7 -\n");
    let told = program.run(&["reload", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(told.err.contains("explist"), "{told:?}");
    program.write("news/explist", b"all x 7 /nosuch/disk\n");
    let told = program.run(&["reload", "--dir", "news"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(told.err.contains("/nosuch/disk does not exist"), "{told:?}");
    // With tables, it is not used.
    let tables = "\n[[expire]]\npatterns = \"all\"\nkeep_days = 7\n";
    program.write("news/broadsheet.toml", format!("{good}{tables}").as_bytes());
    program.write("news/explist", b"garbage\n");
    let told = program.run(&["reload", "--dir", "news"]);
    assert_eq!((told.status, told.err.as_str()), (0, ""), "{told:?}");
    let told = program.run(&["check", "--dir", "news", "-q"]);
    assert!(!told.out.contains("explist"), "{told:?}");
    daemon.stop();
}

#[test]
fn a_failed_task_that_is_gone_is_forgotten() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let good = program.read("news/broadsheet.toml");
    let file = "news/schedule.failed";
    program.write(
        file,
        b"expire\t1\texit status: 2\npull far\t2\texit status: 75\n",
    );
    let daemon = Daemon::start(&program);
    assert_eq!(program.read(file), "expire\t1\texit status: 2\n");
    let off = good.replace("expire = \"04:30\"", "expire = \"off\"");
    assert_ne!(off, good);
    program.write("news/broadsheet.toml", off.as_bytes());
    assert_eq!(program.run(&["reload", "--dir", "news"]).status, 0);
    assert_eq!(program.read(file), "");
    let told = program.run(&["status", "--dir", "news"]);
    assert!(!told.out.contains("failed task"), "{told:?}");
    daemon.stop();
}
