//! Whatever is wrong here, clients are told that it is, and not where: paths and reasons are for the journal. Under inetd standard error is the
//! client's own connection.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use program::Program;
use program::nntp::{Served, listen};

const PEOPLE: &str = "\n[[access]]\nname = \"people\"\nusers = \"*\"\nread = \"*\"\n\n[[access]]\nname = \"all\"\nread = \"*\"\n";

fn with_passwords() -> Program {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(&program, PEOPLE);
    program.set("plaintext_passwords = false", "plaintext_passwords = true");
    program
}

#[test]
fn the_journal_does() {
    let program = with_passwords();
    program.write("news/users", b"anna is no line of it at all\n");
    let _ = std::fs::remove_file(program.path("news/newsgroups"));
    std::fs::create_dir(program.path("news/newsgroups")).unwrap();
    let served = Served::start(&program);
    let mut client = served.client();
    assert!(client.ask("AUTHINFO USER anna").starts_with("381 "));
    let told = client.ask("AUTHINFO PASS secret");
    assert_eq!(told, "403 Logins are not possible now; try again later");
    let line = served.daemon.until_said("login_failed");
    assert!(line.contains("users:1: a line has four fields"), "{line}");
    let told = client.ask("LIST NEWSGROUPS");
    assert_eq!(told, "403 Lookup failed; try again later");
    let line = served.daemon.until_said("store_unreadable");
    assert!(line.contains("newsgroups"), "{line}");
}

/// All that a client hears which is all three standard streams, as under inetd.
fn under_inetd(program: &Program, said: &[u8]) -> String {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let theirs = OwnedFd::from(theirs);
    let mut command = program.command(&["session", "--dir", "news"]);
    command
        .stdin(theirs.try_clone().unwrap())
        .stdout(theirs.try_clone().unwrap())
        .stderr(theirs);
    let mut child = command.spawn().unwrap();
    // It has our copies of the other end.
    drop(command);
    ours.write_all(said).unwrap();
    let mut heard = String::new();
    ours.read_to_string(&mut heard).unwrap();
    child.wait().unwrap();
    heard
}

#[test]
fn inetd_gives_them_no_standard_error() {
    let program = with_passwords();
    let said = b"AUTHINFO USER anna\r\nAUTHINFO PASS secret\r\nQUIT\r\n";
    let heard = under_inetd(&program, said);
    let codes: Vec<&str> = heard.lines().map(|line| &line[..3]).collect();
    assert_eq!(codes, ["201", "381", "481", "205"], "{heard}");
    let text = program.read("news/broadsheet.toml") + "\n[nonsense]\n";
    program.write("news/broadsheet.toml", text.as_bytes());
    let heard = under_inetd(&program, b"");
    assert_eq!(heard, "400 Not in service; come again later\r\n");
}
