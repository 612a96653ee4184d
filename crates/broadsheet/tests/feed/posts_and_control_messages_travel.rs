//! From `inews` at one site by batch to the next: what is posted arrives; its poster's cancel acts at both, a stranger's at neither; a signed
//! newgroup and rmgroup act at both, an unsigned one and one with a changed byte at neither; and groups so made outlive a rebuild.

// A test fails by panicking.
#![allow(clippy::indexing_slicing, clippy::unwrap_used, clippy::panic)]

use crate::program;

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::UNIX_EPOCH;

use program::articles::{batch, date};
use program::{Program, Told};

const ACTIVE: &str =
    "control 0000000000 00001 y\njunk 0000000000 00001 y\nmisc.test 0000000000 00001 y\n";

/// `news` feeds `west`.
fn sites() -> Program {
    let program = Program::with_news(ACTIVE);
    let settings = program.read("news/broadsheet.toml")
        + "\n[[site]]\nname = \"west.example\"\ngroups = \"all\"\nvia = { directory = \"../west/in.coming\", compress = \"gzip\" }\n";
    program.write("news/broadsheet.toml", settings.as_bytes());
    program.init("west", "west.example");
    std::fs::create_dir(program.path("home")).unwrap();
    program
}

fn post(program: &Program, words: &[&str], input: &[u8]) -> Told {
    let mut child = program
        .command(words)
        .env("HOME", program.path("home"))
        .env("BROADSHEET_DIR", "news")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let _ = child.stdin.take().unwrap().write_all(input);
    let done = child.wait_with_output().unwrap();
    Told {
        status: done.status.code().unwrap(),
        out: String::from_utf8_lossy(&done.stdout).into_owned(),
        err: String::from_utf8_lossy(&done.stderr).into_owned(),
    }
}

/// Posts it; its id.
fn posted(program: &Program, words: &[&str], input: &[u8]) -> String {
    let told = post(program, words, input);
    assert_eq!(told.status, 0, "{told:?}");
    told.summary()["message_id"].as_str().unwrap().to_owned()
}

/// What waits at `news` goes to `west` and is filed there.
fn exchange(program: &Program) {
    for words in [
        ["sendbatches", "--dir", "news"],
        ["newsrun", "--dir", "west"],
    ] {
        let told = program.run(&words);
        assert_eq!(told.status, 0, "{words:?} {told:?}");
    }
}

fn is_at(program: &Program, dir: &str, id: &str) -> bool {
    program.run(&["article", "--dir", dir, id]).status == 0
}

fn has(program: &Program, dir: &str, group: &str) -> bool {
    let active = program.read(&format!("{dir}/active"));
    active
        .lines()
        .any(|line| line.split(' ').next() == Some(group))
}

#[test]
fn a_cancel_acts_for_who_has_the_key() {
    let program = sites();
    let words = ["inews", "--json", "-S", "-n", "misc.test", "-t", "s"];
    let (first, second) = (
        posted(&program, &words, b"one\n"),
        posted(&program, &words, b"two\n"),
    );
    exchange(&program);
    for id in [&first, &second] {
        assert!(is_at(&program, "news", id) && is_at(&program, "west", id));
    }
    // A stranger tries, at both: without a key, with one of his own, with one that was cut.
    let control = format!("cancel {first}");
    let cancel = [&words[..], &["-c", &control]].concat();
    let strangers: Vec<Vec<u8>> = [
        "",
        "Cancel-Key: sha256:c3RyYW5nZXI=\n",
        "Cancel-Key: sha256:\n",
    ]
    .iter()
    .enumerate()
    .map(|(number, key)| {
        let header = format!("Control: {control}\n{key}");
        let id = format!("<stranger.{number}@else.example>");
        program::articles::with(&id, "misc.test", &header, b"Gone!\n")
    })
    .collect();
    let text = batch(&strangers);
    assert_eq!(program.rnews(&text).count("accepted"), 3);
    exchange(&program);
    let told = program.feed(&["rnews", "--dir", "west", "--json"], &text);
    assert_eq!(told.count("duplicates"), 3, "{told:?}");
    for id in [&first, &second] {
        assert!(is_at(&program, "news", id) && is_at(&program, "west", id));
    }

    posted(&program, &cancel, b"My mistake.\n");
    assert!(!is_at(&program, "news", &first));
    assert!(is_at(&program, "west", &first));
    exchange(&program);
    assert!(!is_at(&program, "west", &first));
    // One that comes before its article.
    let text = posted(&program, &words, b"three\n");
    let control = format!("cancel {text}");
    let held = program.run_bytes(&["article", "--dir", "news", &text]);
    let cancel = posted(&program, &[&words[..], &["-c", &control]].concat(), b"x\n");
    let early = program.run_bytes(&["article", "--dir", "news", &cancel]);
    let told = program.feed(
        &["rnews", "--dir", "west", "--json"],
        &batch(&[early, held]),
    );
    assert_eq!(told.status, 0, "{told:?}");
    assert!(!is_at(&program, "west", &text));
    assert!(is_at(&program, "news", &second) && is_at(&program, "west", &second));
    for dir in ["news", "west"] {
        let told = program.run(&["fsck", "--dir", dir]);
        assert_eq!(told.status, 0, "{told:?}");
    }
}

/// GnuPG with a home of its own. `None`: it failed, or there is none.
fn gpg(program: &Program, words: &[&str]) -> Option<Vec<u8>> {
    let done = Command::new("gpg")
        .args(["--homedir", "gnupg", "--batch", "--quiet", "--armor"])
        .args(["--pinentry-mode", "loopback", "--passphrase", ""])
        .args(words)
        .current_dir(program.path(""))
        .output();
    done.ok()
        .filter(|done| done.status.success())
        .map(|done| done.stdout)
}

/// The agent that gpg starts, ended with the test.
struct Agent<'p>(&'p Program);

impl Drop for Agent<'_> {
    fn drop(&mut self) {
        let _ = Command::new("gpgconf")
            .args(["--homedir", "gnupg", "--kill", "gpg-agent"])
            .current_dir(self.0.path(""))
            .status();
    }
}

const SIGNED: &str = "Subject,Control,Message-ID,Date,From,Sender";

/// A control message, signed as pgpcontrol does.
fn signed(program: &Program, control: &str, id: &str, body: &str) -> String {
    let now = date(UNIX_EPOCH.elapsed().unwrap().as_secs());
    let headers = format!(
        "Subject: cmsg {control}\nControl: {control}\nMessage-ID: {id}\nDate: {now}\nFrom: Control <control@test.example>\n"
    );
    let text = format!("X-Signed-Headers: {SIGNED}\n{headers}Sender:\n\n{body}");
    program.write("text", text.as_bytes());
    let sign = [
        "--local-user",
        "control@test.example",
        "--detach-sign",
        "--textmode",
        "--output",
        "-",
        "text",
    ];
    let armor = String::from_utf8(gpg(program, &sign).unwrap()).unwrap();
    let lines = armor
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("--"));
    let lines: Vec<&str> = lines.collect();
    format!(
        "{headers}Newsgroups: misc.test\nApproved: control@test.example\nX-PGP-Sig: GnuPG {SIGNED}\n\t{}\n\n{body}",
        lines.join("\n\t")
    )
}

#[test]
fn signed_control_messages_act_at_both() {
    let program = sites();
    std::fs::create_dir(program.path("gnupg")).unwrap();
    if gpg(&program, &["--version"]).is_none() {
        eprintln!("skipped: signing control messages (gpg is not present)");
        return;
    }
    let _agent = Agent(&program);
    let made = [
        "--quick-gen-key",
        "control@test.example",
        "ed25519",
        "sign",
        "never",
    ];
    assert!(gpg(&program, &made).is_some(), "gpg makes a key");
    program.write("key", &gpg(&program, &["--export"]).unwrap());
    for dir in ["news", "west"] {
        let told = program.run(&[
            "key",
            "import",
            "key",
            "--dir",
            dir,
            "--hierarchy",
            "test.*",
        ]);
        assert_eq!(told.status, 0, "{told:?}");
    }
    let body = "For your newsgroups file:\ntest.made\tMade.\n";
    let message = signed(&program, "newgroup test.made", "<1@test.example>", body);
    let injnews = ["injnews", "--json"];

    // Not signed, changed, and for a group that is not the key's.
    let unsigned = message.replace("X-PGP-Sig:", "X-Other:");
    let changed = message.replace("Made.", "Mode.");
    let beyond = signed(
        &program,
        "newgroup other.made",
        "<9@test.example>",
        "other.made\tMade.\n",
    );
    for (number, text) in [unsigned, changed, beyond].iter().enumerate() {
        let text = text.replace("<1@test.example>", &format!("<1.{number}@test.example>"));
        posted(&program, &injnews, text.as_bytes());
    }
    exchange(&program);
    for dir in ["news", "west"] {
        assert!(!has(&program, dir, "test.made") && !has(&program, dir, "other.made"));
        let log = program.run(&["control", "log", "--dir", dir]).out;
        assert_eq!(log.matches(": refused\n").count(), 3, "{log}");
    }

    posted(&program, &injnews, message.as_bytes());
    let log = program.run(&["control", "log", "--dir", "news"]).out;
    assert!(has(&program, "news", "test.made"), "{log}");
    assert!(!has(&program, "west", "test.made"));
    exchange(&program);
    let log = program.run(&["control", "log", "--dir", "west"]).out;
    assert!(has(&program, "west", "test.made"), "{log}");
    // It is a group like any other.
    let words = ["inews", "--json", "-S", "-n", "test.made", "-t", "s"];
    let id = posted(&program, &words, b"the first\n");
    exchange(&program);
    assert!(is_at(&program, "west", &id));

    for dir in ["news", "west"] {
        let active = program.read(&format!("{dir}/active"));
        std::fs::remove_file(program.path(&format!("{dir}/active"))).unwrap();
        let told = program.run(&["history", "rebuild", "--dir", dir]);
        assert_eq!(told.status, 0, "{told:?}");
        assert_eq!(program.read(&format!("{dir}/active")), active);
        assert!(has(&program, dir, "test.made"));
        assert!(
            program
                .read(&format!("{dir}/newsgroups"))
                .contains("test.made\t\tMade.\n")
        );
    }

    let message = signed(
        &program,
        "rmgroup test.made",
        "<2@test.example>",
        "Nobody comes.\n",
    );
    posted(&program, &injnews, message.as_bytes());
    exchange(&program);
    for dir in ["news", "west"] {
        assert!(!has(&program, dir, "test.made"), "{dir}");
        let told = program.run(&["history", "rebuild", "--dir", dir]);
        assert_eq!(told.status, 0, "{told:?}");
        assert!(!has(&program, dir, "test.made"), "{dir}: rebuilt");
        let told = program.run(&["fsck", "--dir", dir]);
        assert_eq!(told.status, 0, "{told:?}");
    }
    // The newgroup comes once more, late: it is known, and makes nothing.
    let again = program.run_bytes(&["article", "--dir", "news", "<1@test.example>"]);
    let told = program.feed(&["rnews", "--dir", "west", "--json"], &batch(&[again]));
    assert_eq!(told.count("duplicates"), 1, "{told:?}");
    assert!(!has(&program, "west", "test.made"));
}
