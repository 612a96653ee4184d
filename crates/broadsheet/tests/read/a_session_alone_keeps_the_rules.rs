//! `broadsheet session` takes nothing while the intake is closed, as the daemon, and tells the administrator of logins that fail.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use program::daemon::Daemon;
use program::nntp::{ALL_MAY, listen};
use program::{Program, Told};

const OFFERS: &[u8] = b"CHECK <a@example.com>\r\nIHAVE <a@example.com>\r\nPOST\r\nQUIT\r\n";

fn session(program: &Program, said: &[u8]) -> Told {
    let told = program.feed(&["session", "--dir", "news"], said);
    assert_eq!(told.status, 0, "{told:?}");
    told
}

#[test]
fn nothing_is_taken_while_the_daemon_is_paused() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    let daemon = Daemon::start(&program);
    let paused = program.run(&["intake", "pause", "--dir", "news", "new", "disk"]);
    assert_eq!(paused.status, 0, "{paused:?}");
    let told = session(&program, OFFERS);
    let lines: Vec<&str> = told.out.lines().skip(1).collect();
    let expected = ["431 <a@example.com>", "436 new disk", "440 new disk"];
    assert_eq!(lines[..3], expected, "{told:?}");
    let resumed = program.run(&["intake", "resume", "--dir", "news"]);
    assert_eq!(resumed.status, 0, "{resumed:?}");
    let told = session(&program, b"CHECK <a@example.com>\r\nQUIT\r\n");
    assert!(told.out.contains("\n238 <a@example.com>"), "{told:?}");
    daemon.stop();
}

#[test]
fn nothing_is_taken_onto_a_full_disk() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, ALL_MAY);
    program.set("keep_free = \"128 MiB\"", "keep_free = \"1000000 GiB\"");
    let told = session(&program, OFFERS);
    let lines: Vec<&str> = told.out.lines().skip(1).collect();
    assert_eq!(lines[0], "431 <a@example.com>", "{told:?}");
    assert!(lines[1].starts_with("436 The disk is too full: "));
    assert!(lines[2].starts_with("440 The disk is too full: "));
    assert!(told.err.contains("intake state=full"), "{told:?}");
}

#[test]
fn failed_logins_are_told_with_their_reason() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    let people = "\n[[access]]\nname = \"people\"\nusers = \"*\"\nread = \"*\"\n";
    listen(&program, people);
    program.set("plaintext_passwords = false", "plaintext_passwords = true");
    let line = "program = \"sh -c 'cat > asked; echo she is away >&2; exit 1'\"";
    program.set("program = \"\"", line);
    let said = b"AUTHINFO USER anna\r\nAUTHINFO PASS secret\r\nQUIT\r\n";
    let told = session(&program, said);
    assert!(
        told.out.contains("\n481 Wrong name or password\r\n"),
        "{told:?}"
    );
    let line = told.err.lines().find(|line| line.contains("login_failed"));
    let line = line.expect(&told.err);
    assert!(
        line.ends_with("why=\"sh: program error: she is away\""),
        "{line}"
    );
    assert!(!line.contains("secret") && !line.contains("anna"), "{line}");
}

#[test]
fn a_missing_directory_is_named() {
    let program = Program::new();
    let told = program.feed(&["session", "--dir", "nowhere"], b"");
    assert_eq!(told.status, 2, "{told:?}");
    assert!(
        told.err.contains("nowhere is not a news directory"),
        "{told:?}"
    );
    assert_eq!(told.out, "400 Not in service; come again later\r\n");
}

/// A session mends as every other command does that opens the news directory first.
#[test]
fn a_session_mends_what_is_missing() {
    let program = Program::with_news("comp.test 0 1 y\n");
    for name in ["index", "active", "expired"] {
        std::fs::remove_file(program.path(&format!("news/{name}"))).unwrap();
        let told = program.feed(
            &["session", "--dir", "news"],
            b"GROUP comp.test\r\nQUIT\r\n",
        );
        assert_eq!(told.status, 0, "{name}: {told:?}");
        assert!(told.out.contains("\r\n211 0 "), "{name}: {told:?}");
        assert!(told.err.contains("made again"), "{name}: {told:?}");
        std::fs::remove_file(program.path(&format!("news/{name}"))).unwrap();
        let told = program.run(&["group", "list", "--dir", "news"]);
        let is_told = told
            .err
            .contains("`broadsheet fsck --repair' makes it again");
        assert_eq!(
            (told.status, is_told),
            match name {
                "active" => (2, true),
                _ => (0, false),
            },
            "{name}: {told:?}"
        );
        let told = program.run(&["status", "--dir", "news"]);
        assert_eq!(told.status, 0, "{name}: {told:?}");
    }
    program.assert_clean();
}
