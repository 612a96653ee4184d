//! The file of users: one line each, for its owner only, comments kept, faults named.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use access::{User, Users};

fn parse(text: &str) -> Result<Users, String> {
    Users::parse(Path::new("users"), text).map_err(|error| error.to_string())
}

fn user(name: &str, certificate: u8) -> User {
    User {
        name: name.to_owned(),
        password: None,
        scram: None,
        certificates: vec![[certificate; 32]],
    }
}

const SCRAM: &str = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU=";
const HASH: &str =
    "$argon2id$v=19$m=32,t=1,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

#[test]
fn only_its_owner_reads_it_and_it_is_whole() {
    let news = tempfile::tempdir().unwrap();
    assert_eq!(Users::read(news.path()).unwrap().iter().count(), 0);
    // What was left by a kill, and may be read by all, is not what comes of it.
    std::fs::write(news.path().join("users.new"), "left").unwrap();
    let mut users = Users::default();
    users.add(user("anna", 1)).unwrap();
    users.write(news.path()).unwrap();
    let path = news.path().join("users");
    let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    users.write(news.path()).unwrap();
    assert_eq!(mode(), 0o600);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), users.text());
    assert!(!news.path().join("users.new").exists());
    assert!(Users::read(news.path()).unwrap().named("anna").is_some());
}

#[test]
fn comments_and_order_stay() {
    let text = format!("# ours\nzoe - - -\n\nanna {HASH} {SCRAM} -\n");
    let mut users = parse(&text).unwrap();
    assert_eq!(users.text(), text);
    assert!(users.has_scram());
    users.change(user("zoe", 2)).unwrap();
    users.remove("anna").unwrap();
    assert!(!users.has_scram());
    let text = users.text();
    assert!(text.starts_with("# ours\nzoe - - sha256:0202") && text.ends_with("02\n\n"));
    assert_eq!(users.certified(&[2; 32]).unwrap().name, "zoe");
}

#[test]
fn names_and_certificates_are_somebodys_alone() {
    let mut users = Users::default();
    users.add(user("anna", 1)).unwrap();
    assert!(
        users
            .add(user("anna", 2))
            .unwrap_err()
            .to_string()
            .contains("already")
    );
    assert!(
        users
            .add(user("bert", 1))
            .unwrap_err()
            .to_string()
            .contains("of `anna' already")
    );
    users.add(user("bert", 2)).unwrap();
    assert!(users.change(user("bert", 1)).is_err());
    assert_eq!(users.certified(&[2; 32]).unwrap().name, "bert");
    assert!(users.change(user("carl", 3)).is_err() && users.remove("carl").is_err());
}

#[test]
fn a_line_that_is_none_is_named() {
    for (line, told) in [
        (
            "anna",
            "users:2: a line has four fields separated by single blanks",
        ),
        ("anna - -", "four fields"),
        ("anna - - - -", "four fields"),
        ("anna  - -", "four fields"),
        ("a:b - - -", "the name has ':'"),
        ("* - - -", "the name is not a valid user name"),
        ("anna secret - -", "the password is not a hash of argon2id"),
        (
            "anna $argon2i$v=19$m=32,t=1,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA - -",
            "not a hash of argon2id",
        ),
        (
            "anna $argon2id$v=19$m=4294967295,t=1,p=1$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA - -",
            "parameters outside of the limits",
        ),
        (
            "anna $argon2id$v=19$m=8,t=1,p=2$c29tZXNhbHQ$AAAAAAAAAAAAAAAAAAAAAA - -",
            "parameters outside of the limits",
        ),
        (
            "anna - SCRAM-SHA-256$1:QQ==$QQ==:QQ== -",
            "the SCRAM field is not",
        ),
        ("anna - - sha256:1", "a certificate is not a fingerprint"),
        ("first - - -", "there is a user `first' already"),
    ] {
        let fault = parse(&format!("first - - -\n{line}\n")).err().unwrap();
        assert!(
            fault.contains(told) && fault.starts_with("users:2: "),
            "{line}: {fault}"
        );
    }
    let news = tempfile::tempdir().unwrap();
    std::fs::write(news.path().join("users"), b"a - - -\n\xff - - -\n").unwrap();
    let fault = Users::read(news.path()).unwrap_err().to_string();
    assert!(fault.contains("users:2: it is not UTF-8"), "{fault}");
}

#[test]
fn passwords_and_names_that_cannot_be_are_refused() {
    for (name, password) in [
        ("", "x"),
        ("a b", "x"),
        ("a\u{7f}", "x"),
        ("anna", ""),
        ("anna", "a\nb"),
        ("anna", "a\u{85}b"),
        (&*"n".repeat(65), "x"),
        ("anna", &*"p".repeat(1025)),
    ] {
        assert!(User::with_password(name, password.as_bytes(), false).is_err());
    }
    assert!(User::with_password("anna", b"\xff", false).is_err());
}
