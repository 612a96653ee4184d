//! `broadsheet user add|passwd|remove|list`.

use crate::program;
use std::os::unix::fs::PermissionsExt;

use program::Program;
use program::nntp::{Served, listen};

fn user(program: &Program, words: &[&str], input: &str) -> (i32, String) {
    let words = [&["user"], words, &["--dir", "news"]].concat();
    let told = program.feed(&words, input.as_bytes());
    (told.status, told.out + &told.err)
}

#[test]
fn they_are_added_changed_listed_and_removed() {
    let program = Program::with_news("");
    assert_eq!(user(&program, &["list"], ""), (0, String::new()));
    assert_eq!(user(&program, &["add", "anna"], "hazelnut\n").0, 0);
    let mode = std::fs::metadata(program.path("news/users"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let first = program.read("news/users");
    assert!(
        first.starts_with("anna $argon2id$v=19$m=19456,t=2,p=1$") && !first.contains("hazelnut")
    );
    let certificate = format!("sha256:{}", "0f".repeat(32));
    let words = [
        "add",
        "backup",
        "--no-password",
        "--certificate",
        &certificate,
    ];
    assert_eq!(user(&program, &words, "").0, 0);
    assert_eq!(
        user(&program, &["add", "carl", "--no-scram"], "xxxxxxxx\r\n").0,
        0
    );
    let (status, told) = user(&program, &["list"], "");
    let expected =
        format!("anna: password, SCRAM-SHA-256\nbackup: {certificate}\ncarl: password\n");
    assert_eq!((status, told), (0, expected));
    let (_, told) = user(&program, &["list", "--json"], "");
    let lines: Vec<serde_json::Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[1]["user"], "backup");
    assert_eq!(lines[1]["certificates"][0], certificate.as_str());
    assert_eq!(
        (&lines[0]["scram"], &lines[2]["scram"]),
        (&true.into(), &false.into())
    );
    assert_eq!(user(&program, &["passwd", "anna"], "walnutshell").0, 0);
    let second = program.read("news/users");
    assert_ne!(first.lines().next(), second.lines().next());
    // A certificate stays when a password comes.
    assert_eq!(user(&program, &["passwd", "backup"], "walnutshell").0, 0);
    assert!(
        user(&program, &["list"], "")
            .1
            .contains(&format!("backup: password, SCRAM-SHA-256, {certificate}"))
    );
    assert_eq!(user(&program, &["remove", "anna"], "").0, 0);
    assert!(!program.read("news/users").contains("anna"));
    let told = program.run(&["check", "--dir", "news"]);
    assert!(told.out.contains("users: 2 users\n"), "{told:?}");
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let program = Program::with_news("");
    assert_eq!(user(&program, &["add", "anna"], "hazelnut\n").0, 0);
    let before = program.read("news/users");
    for (words, input, status, told) in [
        (
            &["add", "anna"][..],
            "x\n",
            1,
            "the user `anna' exists already",
        ),
        (&["add", "bert"], "\n", 1, "the password is empty"),
        (
            &["add", "bert"],
            "seven77\n",
            1,
            "the password is too short: it has 7 of at least 8 characters",
        ),
        // Characters, not bytes.
        (
            &["passwd", "anna"],
            "ßßßßßßß\n",
            1,
            "it has 7 of at least 8",
        ),
        (&["add", "bert"], "", 1, "the password is empty"),
        (&["add", "bert"], "a\tb\n", 1, "control character"),
        (&["passwd", "anna"], "\n", 1, "the password is empty"),
        (
            &["passwd", "bert"],
            "x\n",
            1,
            "the user `bert' does not exist",
        ),
        (&["remove", "bert"], "", 1, "the user `bert' does not exist"),
        (&["add", "a b"], "x\n", 64, "has ' ', which is not allowed"),
        (&["add", "a:b"], "x\n", 64, "has ':', which is not allowed"),
        (&["add", "*"], "x\n", 64, "is not a valid user name"),
        (
            &["add", "bert", "--no-password"],
            "",
            64,
            "--no-password needs --certificate",
        ),
        (
            &["add", "bert", "--certificate", "sha256:1"],
            "x\n",
            64,
            "is not a fingerprint",
        ),
    ] {
        let (code, said) = user(&program, words, input);
        assert_eq!(code, status, "{words:?} {input:?}: {said}");
        assert!(said.contains(told), "{words:?} {input:?}: {said}");
    }
    assert_eq!(program.read("news/users"), before);
}

#[test]
fn a_file_with_a_bad_line_is_not_written_over() {
    let program = Program::with_news("");
    program.write("news/users", b"anna - - -\njunk\n");
    let (status, told) = user(&program, &["add", "bert"], "x\n");
    assert_eq!(status, 2, "{told}");
    assert!(told.contains("users:2: a line has four fields"), "{told}");
    assert_eq!(program.read("news/users"), "anna - - -\njunk\n");
    let told = program.run(&["check", "--dir", "news"]);
    assert_eq!(told.status, 1);
    assert!(told.out.contains("users: ERROR: "), "{told:?}");
}

/// The longest password that can be set can be sent: a command has 512 bytes (RFC 3977, 3.1).
#[test]
fn the_longest_password_logs_in() {
    let program = Program::with_news("comp.test 0000000000 00001 y\n");
    listen(
        &program,
        "\n[[access]]\nname = \"people\"\nusers = \"*\"\nread = \"*\"\n",
    );
    program.set("plaintext_passwords = false", "plaintext_passwords = true");
    let longest = "x".repeat(496);
    let (status, said) = user(&program, &["add", "anna"], &format!("{longest}x\n"));
    assert_eq!(status, 1, "{said}");
    assert!(
        said.contains("longer than 496 bytes, the most that AUTHINFO PASS can send"),
        "{said}"
    );
    let (status, said) = user(&program, &["add", "anna"], &format!("{longest}\n"));
    assert_eq!(status, 0, "{said}");
    let served = Served::start(&program);
    let mut client = served.client();
    assert!(client.ask("AUTHINFO USER anna").starts_with("381 "));
    let answer = client.ask(&format!("AUTHINFO PASS {longest}"));
    assert!(answer.starts_with("281 "), "{answer}");
}
