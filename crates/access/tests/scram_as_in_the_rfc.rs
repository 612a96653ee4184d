//! SCRAM-SHA-256 as in the example of RFC 7677, 3, and what is refused.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::path::Path;
use std::sync::Arc;

use access::sasl::{Exchange, Mechanism, Step, Verifier};
use access::{Access, ClientIdentity, Connection, Login, Outcome, Tables, User, Users, UsersFile};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const NONCE: &str = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
const FIRST: &str = "n,,n=user,r=rOprNGfwEbeRWgbNEkqO";
const CHALLENGE: &str =
    "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
const FINAL: &str = "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
const SIGNATURE: &str = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";

/// A news directory with the RFC's user, and access to it.
fn access() -> (tempfile::TempDir, Arc<Access>) {
    let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap();
    let user = User {
        name: "user".to_owned(),
        password: None,
        scram: Some(Verifier::with(b"pencil", &salt, 4096)),
        certificates: Vec::new(),
    };
    let comma = User {
        name: "a,b=c".to_owned(),
        ..user.clone()
    };
    let mut users = Users::default();
    users.add(user).unwrap();
    users.add(comma).unwrap();
    let news = tempfile::tempdir().unwrap();
    users.write(news.path()).unwrap();
    let access = of(news.path());
    (news, access)
}

fn of(news: &Path) -> Arc<Access> {
    let login = Login {
        users: UsersFile::of(news),
        ..Login::none()
    };
    Arc::new(Access::new(&Tables::default(), login))
}

fn asked(step: Step) -> String {
    match step {
        Step::Ask(challenge) => String::from_utf8(challenge).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn done(step: Step) -> Outcome {
    match step {
        Step::Done(outcome) => outcome,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_example_of_rfc_7677_logs_in() {
    let (_news, access) = access();
    let mut exchange = Exchange::scram_with_nonce(&access, NONCE);
    assert_eq!(asked(exchange.take(None)), "");
    assert_eq!(asked(exchange.take(Some(FIRST.as_bytes()))), CHALLENGE);
    let outcome = done(exchange.take(Some(FINAL.as_bytes())));
    assert_eq!(outcome.code(), 283);
    let Outcome::LoggedIn { user, data } = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!((user.as_str(), data.unwrap()), ("user", SIGNATURE.into()));
    // And it is over.
    assert_eq!(done(exchange.take(Some(FINAL.as_bytes()))).code(), 482);
}

#[test]
fn another_proof_nonce_or_header_does_not() {
    let (_news, access) = access();
    for (last, code) in [
        (FINAL.replace("p=d", "p=e"), 481),
        (FINAL.replace("k0,p", "k1,p"), 481),
        (FINAL.replace("biws", "eSws"), 481),
        (FINAL.replace(",p=", ",q="), 482),
        (FINAL.replace("p=dHz", "p=d!z"), 482),
        (FINAL.replace("7AndVQ=", ""), 482),
        ("c=biws,p=".to_owned(), 482),
        (String::new(), 482),
    ] {
        let mut exchange = Exchange::scram_with_nonce(&access, NONCE);
        asked(exchange.take(Some(FIRST.as_bytes())));
        assert_eq!(
            done(exchange.take(Some(last.as_bytes()))).code(),
            code,
            "{last}"
        );
    }
}

#[test]
fn first_messages_are_read_strictly() {
    let (_news, access) = access();
    for (first, code) in [
        ("p=tls-unique,,n=user,r=x", 482),
        ("n,,m=ext,n=user,r=x", 482),
        ("n,,n=us=er,r=x", 482),
        ("n,,n=user", 482),
        ("n,,n=user,r=", 482),
        ("n,,n=,r=x", 482),
        ("n,a=root,n=user,r=x", 481),
        ("", 482),
        ("n", 482),
    ] {
        let mut exchange = Exchange::scram_with_nonce(&access, NONCE);
        let outcome = done(exchange.take(Some(first.as_bytes())));
        assert_eq!(outcome.code(), code, "{first}");
    }
    for first in [
        "y,,n=user,r=x",
        "n,a=user,n=user,r=x",
        "n,a=a=2Cb=3Dc,n=a=2Cb=3Dc,r=x,t=later",
    ] {
        let mut exchange = Exchange::scram_with_nonce(&access, NONCE);
        assert!(asked(exchange.take(Some(first.as_bytes()))).starts_with("r=x%hv"));
    }
}

#[test]
fn an_unknown_user_looks_like_a_known_one_until_the_end() {
    let (_news, access) = access();
    let ask = |nonce| {
        let mut exchange = Exchange::scram_with_nonce(&access, nonce);
        let challenge = asked(exchange.take(Some(b"n,,n=nobody,r=x")));
        (exchange, challenge)
    };
    let (mut exchange, challenge) = ask("aaa");
    let (_, again) = ask("bbb");
    let salt = |challenge: &str| challenge.split(",s=").nth(1).unwrap().to_owned();
    assert_eq!(salt(&challenge), salt(&again));
    assert!(challenge.ends_with(",i=50000"), "{challenge}");
    let proof = STANDARD.encode([0; 32]);
    let last = format!("c=biws,r=xaaa,p={proof}");
    assert_eq!(done(exchange.take(Some(last.as_bytes()))).code(), 481);
}

/// A restart that changed them would show who exists.
#[test]
fn the_salts_of_unknown_users_stay_the_same() {
    let (news, _) = access();
    let challenge = || {
        let mut exchange = Exchange::scram_with_nonce(&of(news.path()), NONCE);
        asked(exchange.take(Some(b"n,,n=nobody,r=x")))
    };
    store::hash_key::make(&store::disk::RealDisk, news.path()).unwrap();
    let first = challenge();
    assert_eq!(first, challenge());
    store::hash_key::make(&store::disk::RealDisk, news.path()).unwrap();
    assert_ne!(first, challenge());
}

#[test]
fn nonces_are_new_each_time() {
    let (_news, access) = access();
    let client = ClientIdentity::default();
    assert_eq!(access.mechanisms(&client), [Mechanism::ScramSha256]);
    let ask = || {
        let connection = Connection::default();
        let mut exchange = Exchange::new(Mechanism::ScramSha256, &access, &client, connection);
        asked(exchange.take(Some(b"n,,n=user,r=x")))
    };
    assert_ne!(ask(), ask());
}
