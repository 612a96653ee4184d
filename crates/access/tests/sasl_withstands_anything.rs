//! No bytes of a client make an exchange panic, or let anybody in.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

use std::sync::Arc;

use access::sasl::{self, Exchange, Mechanism, RESPONSE_BYTES_MAX, Step, Verifier};
use access::{Access, ClientIdentity, Connection, Login, Outcome, Tables, User, Users};
use proptest::prelude::*;

fn response() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..80),
        "[nyp](=x)?,(a=[a=23CD]{0,4})?,(m=x,)?n=[a=23CD,]{0,4}(,r=[ -~]{0,9})?"
            .prop_map(String::into_bytes),
        "c=(biws|[a-z=]{0,5}),r=[ -~]{0,9},p=[A-Za-z0-9+/=]{0,48}".prop_map(String::into_bytes),
    ]
}

proptest! {
    #[test]
    fn no_responses_make_it_panic_or_let_anybody_in(
        which in 0usize..3,
        responses in prop::collection::vec(response(), 1..4),
        certificate: Option<[u8; 32]>,
    ) {
        let access = Arc::new(Access::new(&Tables::default(), Login::none()));
        let client = ClientIdentity { certificate, ..ClientIdentity::default() };
        let mut exchange = Exchange::new(Mechanism::ALL[which], &access, &client, Connection::default());
        for response in responses {
            if let Step::Done(outcome) = exchange.take(Some(&response)) {
                let is_in = matches!(outcome, Outcome::LoggedIn { .. });
                prop_assert!(!is_in, "{:?}", outcome);
            }
        }
    }

    #[test]
    fn base64_goes_there_and_back(bytes: Vec<u8>, word: Vec<u8>) {
        prop_assert_eq!(sasl::decode(sasl::encode(&bytes).as_bytes()), Some(bytes));
        if let Some(decoded) = sasl::decode(&word) {
            prop_assert_eq!(sasl::encode(&decoded).into_bytes(), word);
        }
    }

    #[test]
    fn no_line_makes_the_file_of_users_panic(text in "\\PC{0,60}|[a-z$=,:0-9 -]{0,60}|[a-z]{1,4} -|[a-z]{1,4} - - -\n") {
        if let Ok(users) = Users::parse("users".as_ref(), &text) {
            let again = Users::parse("users".as_ref(), &users.text()).unwrap();
            prop_assert_eq!(again.text(), users.text());
        }
        let _ = Verifier::parse(&text);
        let _ = access::password::Hash::parse(&text);
    }

    #[test]
    fn users_are_written_as_they_are_read(name in "[^\\s:\\pC#*-][^\\s:\\pC]{0,12}", salt in prop::collection::vec(any::<u8>(), 1..64), certificates in prop::collection::hash_set(any::<[u8; 32]>(), 0..3)) {
        let user = User {
            name,
            password: None,
            scram: Some(Verifier::with(b"x", &salt, 4096)),
            certificates: certificates.into_iter().collect(),
        };
        let mut users = Users::default();
        users.add(user.clone()).unwrap();
        let again = Users::parse("users".as_ref(), &users.text()).unwrap();
        prop_assert_eq!(again.named(&user.name), Some(&user));
        prop_assert!(again.has_scram());
    }
}

#[test]
fn base64_is_read_strictly() {
    for bad in ["", "=AAA", "AAA=BBB", "AAA", "AA A", "A", "QUI", "QUJ="] {
        assert_eq!(sasl::decode(bad.as_bytes()), None, "{bad}");
    }
    assert_eq!(sasl::decode(b"="), Some(Vec::new()));
    assert_eq!(sasl::decode(b"QUI="), Some(b"AB".to_vec()));
}

#[test]
fn a_response_beyond_the_limit_is_malformed() {
    let access = Arc::new(Access::new(&Tables::default(), Login::none()));
    let client = ClientIdentity::default();
    let connection = Connection::default();
    let mut exchange = Exchange::new(Mechanism::Plain, &access, &client, connection);
    let long = vec![0; RESPONSE_BYTES_MAX + 1];
    let step = exchange.take(Some(&long));
    assert!(
        matches!(step, Step::Done(Outcome::Malformed(_))),
        "{step:?}"
    );
}
