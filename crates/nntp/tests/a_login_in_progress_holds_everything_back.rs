//! While a password is looked at, TAKETHIS waits too: its article could be settled first, and its answer would go out as that to the
//! login.

use crate::backend;

use backend::{ALL, Fake, capabilities};
use nntp::{LoggedIn, Next, Out, Permissions, SaslStep, Session};

#[test]
fn answers_are_not_mixed_up() {
    let permissions = Permissions {
        could_log_in: true,
        ..ALL
    };
    let mut backend = Fake::new("");
    backend.sasl = vec![SaslStep::Pending];
    let mut session = Session::new(capabilities().into(), permissions, false);
    let mut out = Out::default();
    let pipeline = b"AUTHINFO USER a\r\nAUTHINFO PASS b\r\nTAKETHIS <1@a>\r\nA: b\r\n\r\nc\r\n.\r\nCHECK <2@a>\r\n";
    let taken = session.take(pipeline, &mut backend, &mut out);
    assert_eq!(taken.next, Next::Promise);
    assert!(backend.handed_in.is_empty());

    session.logged_in(&LoggedIn::Yes(permissions), &mut out);
    let taken = session.take(&pipeline[taken.used..], &mut backend, &mut out);
    assert_eq!(taken.next, Next::More);
    assert_eq!(backend.handed_in.len(), 1);
    let said: Vec<u8> = out.ready().flatten().copied().collect();
    assert_eq!(said, b"381 Password?\r\n281 Welcome\r\n");
    assert_eq!(out.promises(), 1);
}
