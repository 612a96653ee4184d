//! While a login is checked, even TAKETHIS waits: its article could be filed first, and its reply would be taken for the login's.

use crate::backend;

use backend::{ALL, Fake, capabilities};
use nntp::{LoginResult, Next, OutBuffer, Permissions, SaslStep, Session};

#[test]
fn replies_keep_their_order() {
    let permissions = Permissions {
        could_log_in: true,
        ..ALL
    };
    let mut backend = Fake::new("");
    backend.sasl = vec![SaslStep::Pending];
    let mut session = Session::new(capabilities().into(), permissions, false);
    let mut out = OutBuffer::default();
    let pipeline = b"AUTHINFO USER a\r\nAUTHINFO PASS b\r\nTAKETHIS <1@a>\r\nA: b\r\n\r\nc\r\n.\r\nCHECK <2@a>\r\n";
    let processed = session.process(pipeline, &mut backend, &mut out);
    assert_eq!(processed.next, Next::PendingReply);
    assert!(backend.received.is_empty());

    session.logged_in(&LoginResult::Accepted(permissions), &mut out);
    let processed = session.process(&pipeline[processed.used..], &mut backend, &mut out);
    assert_eq!(processed.next, Next::More);
    assert_eq!(backend.received.len(), 1);
    let said: Vec<u8> = out.ready().flatten().copied().collect();
    assert_eq!(
        said,
        b"381 Password required\r\n281 Authentication accepted\r\n"
    );
    assert_eq!(out.pending_replies(), 1);
}
