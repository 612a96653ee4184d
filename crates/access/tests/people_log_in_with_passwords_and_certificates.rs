//! AUTHINFO USER/PASS, SASL PLAIN and EXTERNAL against the file of users.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::path::Path;
use std::sync::Arc;

use access::password::Hash;
use access::sasl::{Exchange, Mechanism, Step};
use access::{
    Access, ClientIdentity, Connection, Entry, Login, Outcome, Tables, User, Users, UsersFile,
};

const HERS: [u8; 32] = [1; 32];
const PEERS: [u8; 32] = [2; 32];

fn access(news: &Path) -> Arc<Access> {
    let mut anna = User::with_password("anna", "grüße".as_bytes(), true).unwrap();
    anna.certificates.push(HERS);
    let mut users = Users::default();
    users.add(anna).unwrap();
    users
        .add(User {
            name: "keyonly".to_owned(),
            password: None,
            scram: None,
            certificates: Vec::new(),
        })
        .unwrap();
    users.write(news).unwrap();
    let peer = Entry {
        name: "peer.example".to_owned(),
        certificates: vec![[2; 32]],
        send: "*".to_owned(),
        ..Entry::default()
    };
    let tables = Tables {
        entries: vec![peer],
    };
    let login = Login {
        users: UsersFile::of(news),
        ..Login::none()
    };
    Arc::new(Access::new(&tables, login))
}

fn by_password(access: &Access, name: &[u8], password: &[u8]) -> Outcome {
    access
        .check_password(name, password, &Connection::default())
        .run()
}

fn begin(access: &Arc<Access>, mechanism: Mechanism, certificate: Option<[u8; 32]>) -> Exchange {
    let client = ClientIdentity {
        is_secure: true,
        certificate,
        ..ClientIdentity::default()
    };
    Exchange::new(mechanism, access, &client, Connection::default())
}

fn anna() -> Outcome {
    Outcome::LoggedIn {
        user: "anna".to_owned(),
        data: None,
    }
}

#[test]
fn a_password_is_right_or_not() {
    let news = tempfile::tempdir().unwrap();
    let access = access(news.path());
    assert_eq!(by_password(&access, b"anna", "grüße".as_bytes()), anna());
    for (name, password) in [
        ("anna", "gruesse"),
        ("anna", ""),
        ("Anna", "grüße"),
        ("bert", "grüße"),
        ("keyonly", ""),
        ("", ""),
        ("-", "-"),
    ] {
        let outcome = by_password(&access, name.as_bytes(), password.as_bytes());
        assert_eq!(outcome.code(), 481, "{name}:{password}: {outcome:?}");
    }
    assert_eq!(by_password(&access, b"\xff\0\n", b"\xff").code(), 481);
    assert_eq!(by_password(&access, b"anna", &[b'x'; 100_000]).code(), 481);
    // The log does not hear a name that is nobody's: it may be a password.
    let told = by_password(&access, b"secret", b"x");
    assert_eq!(told, Outcome::Refused("no such user".to_owned()));
    let told = by_password(&access, b"anna", b"x");
    let why = "wrong password for user anna".to_owned();
    assert_eq!(told, Outcome::Refused(why));
}

#[test]
fn signs_count_however_they_are_typed() {
    let news = tempfile::tempdir().unwrap();
    let mut users = Users::default();
    users
        .add(User::with_password("zoe\u{308}", "gru\u{308}\u{df}e".as_bytes(), true).unwrap())
        .unwrap();
    assert_eq!(users.iter().next().unwrap().name, "zo\u{eb}");
    // As another program wrote it: the octets as they were.
    let old = Hash::of("u\u{308}\u{1f98a}".as_bytes()).unwrap();
    let old = Users::parse(Path::new("users"), &format!("bo\u{308} {old} - -\n")).unwrap();
    users.add(old.iter().next().unwrap().clone()).unwrap();
    users.write(news.path()).unwrap();
    let login = Login {
        users: UsersFile::of(news.path()),
        ..Login::none()
    };
    let access = Access::new(&Tables::default(), login);
    for (name, password, code) in [
        ("zo\u{eb}", "gr\u{fc}\u{df}e", 281),
        ("zoe\u{308}", "gru\u{308}\u{df}e", 281),
        ("zo\u{eb}\u{e000}", "gr\u{fc}\u{df}e", 481),
        ("bo\u{308}", "u\u{308}\u{1f98a}", 281),
        ("bo\u{308}", "\u{fc}\u{1f98a}", 481),
    ] {
        let outcome = by_password(&access, name.as_bytes(), password.as_bytes());
        assert_eq!(outcome.code(), code, "{name}: {outcome:?}");
    }
    for bad in ["\u{1f98a}", "\u{ad}", "\u{202e}x"] {
        assert!(User::with_password("anna", bad.as_bytes(), false).is_err());
    }
}

#[test]
fn a_job_does_not_show_the_password() {
    let access = Access::new(&Tables::default(), Login::none());
    let slow = access.check_password(b"anna", b"secret", &Connection::default());
    assert!(!format!("{slow:?}").contains("secret"));
}

#[test]
fn an_unknown_user_takes_as_long_as_a_known_one() {
    let news = tempfile::tempdir().unwrap();
    let access = access(news.path());
    let time = |name: &[u8]| {
        let took = (0..5).map(|_| {
            let begin = std::time::Instant::now();
            assert_eq!(by_password(&access, name, b"wrong").code(), 481);
            begin.elapsed()
        });
        took.min().unwrap()
    };
    let (known, unknown) = (time(b"anna"), time(b"nobody"));
    assert!(
        unknown * 3 > known && known * 3 > unknown,
        "{known:?} {unknown:?}"
    );
}

#[test]
fn plain_takes_three_fields() {
    let news = tempfile::tempdir().unwrap();
    let access = access(news.path());
    for (response, code) in [
        ("\0anna\0grüße", 281),
        ("anna\0anna\0grüße", 281),
        ("\0anna\0wrong", 481),
        ("root\0anna\0grüße", 481),
        ("\0anna", 482),
        ("\0\0x", 482),
        ("\0anna\0", 482),
        ("\0anna\0x\0", 482),
        ("", 482),
    ] {
        let mut exchange = begin(&access, Mechanism::Plain, None);
        assert!(matches!(exchange.take(None), Step::Ask(empty) if empty.is_empty()));
        let outcome = match exchange.take(Some(response.as_bytes())) {
            Step::Wait(slow) => std::thread::spawn(|| slow.run()).join().unwrap(),
            Step::Done(outcome) => outcome,
            other => panic!("{other:?}"),
        };
        assert_eq!(outcome.code(), code, "{response:?}");
    }
}

#[test]
fn a_certificate_stands_for_a_user_and_that_of_a_peer_for_nobody() {
    let news = tempfile::tempdir().unwrap();
    let access = access(news.path());
    for (certificate, wanted, user) in [
        (Some(HERS), "", Some("anna")),
        (Some(HERS), "anna", Some("anna")),
        (Some(HERS), "root", None),
        (Some(PEERS), "", None),
        (Some(PEERS), "peer.example", None),
        (Some([3; 32]), "", None),
        (None, "", None),
    ] {
        let mut exchange = begin(&access, Mechanism::External, certificate);
        let outcome = match exchange.take(Some(wanted.as_bytes())) {
            Step::Done(outcome) => outcome,
            other => panic!("{other:?}"),
        };
        let seen = match &outcome {
            Outcome::LoggedIn { user, data: None } => Some(user.as_str()),
            _ => None,
        };
        assert_eq!(seen, user, "{outcome:?}");
        assert!(seen.is_some() || outcome.code() == 481);
        let client = ClientIdentity {
            is_secure: true,
            certificate,
            ..ClientIdentity::default()
        };
        let is_offered = access.mechanisms(&client).contains(&Mechanism::External);
        assert_eq!(is_offered, certificate == Some(HERS));
    }
}

#[test]
fn a_change_of_the_file_counts_at_once() {
    let news = tempfile::tempdir().unwrap();
    let access = access(news.path());
    let mut users = Users::read(news.path()).unwrap();
    users
        .add(User::with_password("bert", b"x", false).unwrap())
        .unwrap();
    users.write(news.path()).unwrap();
    assert_eq!(by_password(&access, b"bert", b"x").code(), 281);
    users.remove("bert").unwrap();
    users.write(news.path()).unwrap();
    assert_eq!(by_password(&access, b"bert", b"x").code(), 481);
    std::fs::write(news.path().join("users"), "junk\n").unwrap();
    assert_eq!(
        by_password(&access, b"anna", "grüße".as_bytes()).code(),
        403
    );
}

/// A table that matches only over TLS, or only with a certificate that the client does not have, makes no login useful without it.
#[test]
fn a_login_is_invited_only_where_it_helps() {
    let table = |tls, certificates: &[[u8; 32]]| Entry {
        name: "members".to_owned(),
        users: vec!["*".to_owned()],
        tls,
        certificates: certificates.to_vec(),
        post: "*".to_owned(),
        ..Entry::default()
    };
    let rights = |entry: Entry, is_secure| {
        let tables = Tables {
            entries: vec![entry],
        };
        let client = ClientIdentity {
            is_secure,
            ..ClientIdentity::default()
        };
        let rights = Access::new(&tables, Login::none()).rights(&client);
        (
            rights.can_log_in(),
            rights.needs_tls_to_log_in(),
            rights.could_post(),
        )
    };
    assert_eq!(rights(table(false, &[]), false), (true, false, true));
    assert_eq!(rights(table(true, &[]), false), (false, true, true));
    assert_eq!(rights(table(true, &[]), true), (true, false, true));
    assert_eq!(rights(table(false, &[HERS]), true), (false, false, false));
}
