//! Posts to moderated groups go to the moderator by a program, or wait for one.

#![allow(clippy::indexing_slicing)]

use crate::program;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread::JoinHandle;

use program::{Program, Told};

const ACTIVE: &str =
    "control 0 1 y\njunk 0 1 y\nmisc.test 0 1 y\nmisc.mod 0 1 m\nother.mod 0 1 m\nlost.mod 0 1 m\n";
const POST: &[u8] = b"Newsgroups: misc.test,misc.mod\nSubject: s\nFrom: a@b.example\nMessage-ID: <1@b.example>\nBcc: spy@x.example\nPath: u\n\n.\nFrom here\n";

/// A site whose program for mail writes down its words and what it gets, and ends with `status`.
fn site(status: u8) -> Program {
    let program = Program::with_news(ACTIVE);
    program.write("news/mailpaths", b"misc mod@site.example\n");
    program.write("news/moderators", b"other.*:%s@mods.example\n");
    let room = program.path("").display().to_string();
    let script = format!(
        "#!/bin/sh\nfor word; do echo \"[$word]\"; done >{room}/words\ncat >{room}/mail\nexit {status}\n"
    );
    program.write("send mail", script.as_bytes());
    let path = program.path("send mail");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("executable");
    set_sendmail(
        &program,
        &format!("'{}' -oi -t 'a;b' '$(x)'", path.display()),
    );
    program
}

fn set_sendmail(program: &Program, command: &str) {
    set(program, "sendmail", command);
}

fn set(program: &Program, key: &str, value: &str) {
    let settings = program.read("news/broadsheet.toml");
    let lines: Vec<String> = settings
        .lines()
        .map(|line| match line.starts_with(&format!("{key} = ")) {
            true => format!("{key} = \"{value}\""),
            false => line.to_owned(),
        })
        .collect();
    program.write("news/broadsheet.toml", lines.join("\n").as_bytes());
}

fn post(program: &Program, words: &[&str], input: &[u8]) -> Told {
    let words = [words, &["--dir", "news"]].concat();
    program.feed(&words, input)
}

fn queue(program: &Program) -> Vec<PathBuf> {
    program.files("news/mail.queue")
}

#[test]
fn the_program_gets_the_mail_and_no_shell_reads_the_command() {
    let program = site(0);
    let told = post(&program, &["injnews", "--json"], POST);
    assert_eq!(told.status, 0, "{told:?}");
    let summary = told.summary();
    assert_eq!(summary["status"], "mailed");
    assert_eq!(summary["group"], "misc.mod");
    assert_eq!(summary["moderator"], "mod@site.example");
    assert_eq!(program.read("words"), "[-oi]\n[-t]\n[a;b]\n[$(x)]\n");
    let mail = program.read("mail");
    assert!(mail.starts_with("To: mod@site.example\nNewsgroups: misc.test,misc.mod\nSubject: s\nFrom: a@b.example\nMessage-ID: <1@b.example>\nDate: "), "{mail}");
    assert!(mail.ends_with("\n\n.\nFrom here\n"), "{mail}");
    assert!(
        !mail.contains("Bcc") && !mail.contains("Path") && !mail.contains("Injection"),
        "{mail}"
    );
    assert!(queue(&program).is_empty());
    // Nothing was filed.
    assert_eq!(
        program
            .run(&["history", "find", "--dir", "news", "<1@b.example>"])
            .status,
        1
    );
}

#[test]
fn moderators_of_inn_are_read_behind_mailpaths_and_nobody_means_refused() {
    let program = site(0);
    let other = String::from_utf8_lossy(POST).replace("misc.test,misc.mod", "other.mod");
    let told = post(&program, &["injnews", "-V"], other.as_bytes());
    assert_eq!(
        told.out, "mailed <1@b.example> for other.mod to other-mod@mods.example\n",
        "{told:?}"
    );
    let lost = String::from_utf8_lossy(POST).replace("misc.test,misc.mod", "lost.mod");
    let told = post(&program, &["injnews", "-N"], lost.as_bytes());
    assert_eq!(told.status, 1);
    assert!(
        told.err
            .contains("refused (no-moderator): lost.mod is moderated"),
        "{told:?}"
    );
}

#[test]
fn without_a_program_the_mail_waits() {
    let program = site(0);
    let settings = program.read("news/broadsheet.toml");
    for none in ["", "/nonexistent/sendmail -t"] {
        set_sendmail(&program, none);
        let told = post(&program, &["injnews", "-V"], POST);
        assert!(told.out.starts_with("queued <1@b.example>"), "{told:?}");
        assert!(
            told.err.contains("stays in mail.queue/: no program"),
            "{told:?}"
        );
        assert_eq!(told.status, 0);
    }
    assert_eq!(queue(&program).len(), 2);
    let told = post(&program, &["mail", "send"], b"");
    assert_eq!(told.status, 1, "{told:?}");
    let listed = post(&program, &["mail", "list"], b"");
    assert_eq!(listed.out.lines().count(), 2);
    assert!(
        listed
            .out
            .contains("\tmod@site.example\t<1@b.example>\ts\n"),
        "{listed:?}"
    );
    program.write("news/broadsheet.toml", settings.as_bytes());
    let json = post(&program, &["mail", "list", "--json"], b"");
    let name = json.summary()["name"].as_str().expect("a name").to_owned();
    let told = post(&program, &["mail", "send", &name], b"");
    assert_eq!((told.status, queue(&program).len()), (0, 1), "{told:?}");
    let told = post(&program, &["mail", "send", "--json"], b"");
    assert_eq!(told.out, "{\"failed\":0,\"sent\":1}\n", "{told:?}");
    assert!(queue(&program).is_empty());
    assert!(program.read("mail").starts_with("To: mod@site.example\n"));
}

#[test]
fn a_program_that_fails_loses_nothing() {
    let program = site(75);
    let told = post(&program, &["injnews"], POST);
    assert_eq!(told.status, 0, "{told:?}");
    assert!(
        told.err
            .contains("the mail to the moderator stays in mail.queue/"),
        "{told:?}"
    );
    assert!(
        told.err
            .contains("misc.mod is moderated: queued to mod@site.example"),
        "{told:?}"
    );
    let told = post(&program, &["mail", "send"], b"");
    assert_eq!(told.status, 1, "{told:?}");
    assert_eq!(queue(&program).len(), 1);
}

#[test]
fn an_approved_article_is_filed() {
    let program = site(0);
    let approved = [b"Approved: mod@site.example\n", POST].concat();
    let told = post(&program, &["injnews", "-V"], &approved);
    assert_eq!(told.out, "posted <1@b.example>\n", "{told:?}");
    assert!(!program.path("mail").exists());
}

/// A mail server that serves one session, and replies to RCPT with `reply`. Returns its address, and its thread with what it got.
fn mail_server(reply: &'static str) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        let mut lines = BufReader::new(stream.try_clone().expect("a copy")).lines();
        let mut got = String::new();
        let mut is_text = false;
        write!(stream, "220 mail.example ready\r\n").expect("a greeting");
        while let Some(Ok(line)) = lines.next() {
            let told = match line.get(..4).unwrap_or(&line) {
                "." => "250 kept",
                _ if is_text => "",
                "RCPT" => reply,
                "DATA" => "354 go on",
                "QUIT" => "221 bye",
                _ => "250 fine",
            };
            is_text = (is_text && line != ".") || line == "DATA";
            got.push_str(&format!("{line}\n"));
            if !told.is_empty() && write!(stream, "{told}\r\n").is_err() {
                break;
            }
        }
        got
    });
    (address, thread)
}

#[test]
fn a_mail_server_gets_the_mail() {
    let program = site(1);
    let (address, thread) = mail_server("250 fine");
    set(&program, "mail_server", &address);
    let told = post(&program, &["injnews", "-V"], POST);
    assert!(told.out.starts_with("mailed <1@b.example>"), "{told:?}");
    let got = thread.join().expect("a session");
    assert!(
        got.contains("\nRCPT TO:<mod@site.example>\nDATA\nTo: mod@site.example\n"),
        "{got}"
    );
    assert!(
        got.contains("\nMAIL FROM:<news@") && got.contains("\n\n..\nFrom here\n.\n"),
        "{got}"
    );
    assert!(queue(&program).is_empty());
    assert!(!program.path("mail").exists());
}

#[test]
fn mail_that_a_server_refuses_waits_and_its_reason_is_told() {
    let program = site(1);
    for reply in ["451 try again", "550 no such mailbox"] {
        let (address, thread) = mail_server(reply);
        set(&program, "mail_server", &address);
        let told = post(&program, &["injnews"], POST);
        thread.join().expect("a session");
        assert_eq!(told.status, 0, "{told:?}");
        let why = format!("the mail to mod@site.example at RCPT TO: {reply}");
        assert!(told.err.contains(&why), "{told:?}");
    }
    assert_eq!(queue(&program).len(), 2);
    let (address, thread) = mail_server("250 fine");
    set(&program, "mail_server", &address);
    let listed = post(&program, &["mail", "list", "--json"], b"");
    let name = listed.summary()["name"]
        .as_str()
        .expect("a name")
        .to_owned();
    let told = post(&program, &["mail", "send", &name], b"");
    thread.join().expect("a session");
    assert_eq!((told.status, queue(&program).len()), (0, 1), "{told:?}");
}

#[test]
fn check_tells_the_way_of_mail() {
    let program = site(0);
    let check = |words: &[&str]| {
        program
            .run(&[&["check", "--dir", "news"], words].concat())
            .out
    };
    assert!(check(&[]).contains("\nmail: goes to "), "{}", check(&[]));
    let (address, thread) = mail_server("250 fine");
    set(&program, "mail_server", &address);
    let told = check(&[]);
    assert!(
        told.contains(&format!(
            "\nmail: goes to the server {address}, which answers: 220 mail.example ready\n"
        )),
        "{told}"
    );
    thread.join().expect("a session");
    // Now nothing listens there.
    let told = check(&["-q"]);
    assert!(told.contains("mail: warning: posts to moderated groups wait in mail.queue/: cannot connect to the mail server"), "{told}");
    set(&program, "mail_server", "127.0.0.1:x");
    let told = program.run(&["check", "--dir", "news"]);
    assert!(
        told.status != 0 && told.err.contains("post.mail_server"),
        "{told:?}"
    );
    set(&program, "mail_server", "");
    set_sendmail(&program, "/nonexistent/sendmail");
    let told = check(&["-q"]);
    assert!(
        told.contains("mail: warning: the program /nonexistent/sendmail does not exist"),
        "{told}"
    );
}

#[test]
fn article_show_tells_where_the_mail_is() {
    let program = site(1);
    let show = |id: &str| {
        let told = post(&program, &["article", "show", id], b"");
        assert_eq!(told.status, 0, "{told:?}");
        told.out
    };
    let told = post(&program, &["injnews"], POST);
    assert_eq!(told.status, 0, "{told:?}");
    let shown = show("<1@b.example>");
    assert!(
        shown.contains("(local): queued for the moderator mod@site.example\n"),
        "{shown}"
    );
    assert!(
        shown.contains(" waits to be mailed to the moderator"),
        "{shown}"
    );
    assert!(!shown.contains(": mailed to"), "{shown}");
    // The program works again.
    let second = String::from_utf8_lossy(POST).replace("<1@", "<2@");
    post(&program, &["injnews"], second.as_bytes());
    set_sendmail(&program, "cat");
    let listed = post(&program, &["mail", "list"], b"").out;
    let names: Vec<&str> = listed
        .lines()
        .map(|line| line.split('\t').nth(1).expect("a name"))
        .collect();
    let place = usize::from(!listed.lines().next().expect("a mail").contains("<1@"));
    let told = post(&program, &["mail", "send", names[place]], b"");
    assert_eq!(told.status, 0, "{told:?}");
    let shown = show("<1@b.example>");
    assert!(
        shown.contains("(local): mailed to the moderator mod@site.example\n"),
        "{shown}"
    );
    assert!(!shown.contains(" waits to be mailed"), "{shown}");
    // The other one is not wanted.
    let told = post(&program, &["mail", "drop", names[1 - place], "none"], b"");
    assert_eq!(told.status, 1, "{told:?}");
    assert!(told.err.contains("no mail none waits"), "{told:?}");
    assert!(queue(&program).is_empty());
    let shown = show("<2@b.example>");
    assert!(
        shown.contains("dropped from mail.queue/, not mailed to the moderator mod@site.example\n"),
        "{shown}"
    );
    // The moderator approves the first one.
    let approved =
        String::from_utf8_lossy(POST).replace("Bcc: spy@x.example", "Approved: mod@site.example");
    let told = post(&program, &["injnews"], approved.as_bytes());
    assert_eq!(told.status, 0, "{told:?}");
    let shown = show("<1@b.example>");
    for part in [
        "approved   mod@site.example\n",
        "(local): approved by mod@site.example\n",
        "state      here\n",
    ] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
}

#[test]
fn posts_that_inews_refuses_are_found() {
    let program = site(0);
    let lost = String::from_utf8_lossy(POST).replace("misc.test,misc.mod", "lost.mod");
    let told = post(&program, &["injnews", "-N"], lost.as_bytes());
    assert_eq!(told.status, 1, "{told:?}");
    assert!(!program.path("news/log").exists() || program.read("news/log").is_empty());
    let told = post(&program, &["injnews"], lost.as_bytes());
    assert_eq!(told.status, 1, "{told:?}");
    let shown = post(&program, &["article", "show", "<1@b.example>"], b"").out;
    assert!(
        shown.contains("(local): refused: lost.mod is moderated"),
        "{shown}"
    );
    assert!(shown.contains(" from localhost\n"), "{shown}");
    // One without an id has a line, too.
    let without = lost.replace("Message-ID: <1@b.example>\n", "");
    post(&program, &["injnews"], without.as_bytes());
    let log = program.read("news/log");
    assert_eq!(log.matches(" (local) - <").count(), 2, "{log}");
}
