//! CAPABILITIES (RFC 3977, 5.2), disabled capabilities, greetings, AUTHINFO (RFC 4643).

use crate::backend;

use std::sync::Arc;

use backend::{ALL, Client, Fake, capabilities};
use nntp::{Next, Permissions, SaslStep};

const COULD: Permissions = Permissions {
    reads: false,
    posts: false,
    sends: false,
    headfeed: false,
    could_log_in: true,
    needs_tls_to_log_in: false,
    could_post: false,
    is_logged_in: false,
};

#[test]
fn a_reader_and_peer() {
    let mut client = Client::new(Fake::usual());
    client.backend.files.insert("Motd", Arc::default());
    client.play(
        "> CAPABILITIES autoupdate
         < 101 Capability list follows
         < VERSION 2
         < IMPLEMENTATION Test 1
         < READER
         < LIST ACTIVE NEWSGROUPS COUNTS ACTIVE.TIMES HEADERS OVERVIEW.FMT MOTD
         < HDR
         < NEWNEWS
         < OVER MSGID
         < XPAT
         < POST
         < IHAVE
         < STREAMING
         < .
         > CAPABILITIES a
         < 501 Syntax: CAPABILITIES [keyword]",
    );
}

#[test]
fn disabled_capabilities_are_missing() {
    let mut capabilities = capabilities();
    let off = ["over", "HDR", "NEWNEWS", "STREAMING", "XPAT", "POST"];
    capabilities.disabled = off.map(str::to_owned).into();
    let mut client = Client::with(Fake::usual(), capabilities, ALL);
    client.play(
        "> CAPABILITIES
         < 101 Capability list follows
         < VERSION 2
         < IMPLEMENTATION Test 1
         < READER
         < LIST ACTIVE NEWSGROUPS COUNTS ACTIVE.TIMES
         < IHAVE
         < .
         > XOVER 1-
         < 500 Command disabled
         > HDR subject
         < 500 Command disabled
         > NEWNEWS * 19990101 000000
         < 500 Command disabled
         > POST
         < 500 Command disabled
         > LIST OVERVIEW.FMT
         < 503 List not available
         > CHECK <n@test>
         < 500 Command disabled",
    );
    let got = client.say("TAKETHIS <n@test>\r\nQUIT\r\n.\r\n");
    assert_eq!(got, b"500 Command disabled\r\n");
}

#[test]
fn without_logins_no_reply_asks_for_one() {
    let mut capabilities = capabilities();
    capabilities.disabled = vec!["AUTHINFO".to_owned()];
    let mut reads = COULD;
    reads.reads = true;
    let mut client = Client::with(Fake::usual(), capabilities.clone(), reads);
    client.play(
        "> CAPABILITIES
         < 101 Capability list follows
         < VERSION 2
         < IMPLEMENTATION Test 1
         < READER
         < LIST ACTIVE NEWSGROUPS COUNTS ACTIVE.TIMES HEADERS OVERVIEW.FMT
         < HDR
         < NEWNEWS
         < OVER MSGID
         < XPAT
         < .
         > AUTHINFO USER me
         < 500 Command disabled
         > POST
         < 440 Posting not permitted
         > CHECK <n@test>
         < 502 Permission denied",
    );
    // A client that may only log in may do nothing.
    let mut client = Client::with(Fake::usual(), capabilities, COULD);
    client.play(
        "> GROUP test.a
         < 502 Permission denied",
    );
}

/// RFC 3977, 3.2.1: 483 where TLS has to come first, 502 where only a new connection helps.
#[test]
fn a_login_that_needs_tls() {
    let needs_tls = Permissions {
        could_log_in: false,
        needs_tls_to_log_in: true,
        could_post: true,
        ..COULD
    };
    let mut capabilities = capabilities();
    capabilities.has_tls = true;
    let mut client = Client::with(Fake::usual(), capabilities.clone(), needs_tls);
    let mut greeting = nntp::OutBuffer::default();
    client.session.greet(&mut greeting);
    let greeting: Vec<u8> = greeting.ready().flatten().copied().collect();
    assert!(greeting.starts_with(b"200 "));
    client.play(
        "> POST
         < 483 TLS required (STARTTLS)
         > GROUP test.a
         < 483 TLS required (STARTTLS)
         > AUTHINFO USER me
         < 483 TLS required (STARTTLS)
         > AUTHINFO SASL SCRAM-SHA-256
         < 483 TLS required (STARTTLS)
         > MODE READER
         < 200 Posting allowed
         > STARTTLS
         < 382 Begin TLS negotiation",
    );
    // Without a certificate nothing helps.
    capabilities.has_tls = false;
    let mut client = Client::with(Fake::usual(), capabilities, needs_tls);
    client.play(
        "> POST
         < 440 Posting not permitted
         > AUTHINFO USER me
         < 502 Authentication not available
         > GROUP test.a
         < 502 Permission denied",
    );
}

#[test]
fn logging_in() {
    let mut client = Client::with(Fake::usual(), capabilities(), COULD);
    let mut peer = COULD;
    peer.sends = true;
    peer.could_log_in = false;
    peer.is_logged_in = true;
    client.backend.sasl = vec![
        SaslStep::Challenge(Vec::new()),
        SaslStep::Refused,
        SaslStep::Accepted(peer, Some(Vec::new())),
    ];
    client.play(
        "> CAPABILITIES
         < 101 Capability list follows
         < VERSION 2
         < IMPLEMENTATION Test 1
         < READER
         < LIST ACTIVE NEWSGROUPS COUNTS ACTIVE.TIMES HEADERS OVERVIEW.FMT
         < HDR
         < NEWNEWS
         < OVER MSGID
         < XPAT
         < AUTHINFO USER SASL
         < SASL PLAIN SCRAM-SHA-256
         < .
         > AUTHINFO PASS x
         < 482 Send AUTHINFO USER first
         > AUTHINFO SASL NONE
         < 503 Mechanism not supported
         > AUTHINFO SASL PLAIN a=b
         < 504 Response is not valid base64
         > AUTHINFO SASL PLAIN
         < 383 =
         > *
         < 481 Authentication cancelled
         > AUTHINFO USER me
         < 381 Password required
         > AUTHINFO PASS a b
         < 283 =
         > AUTHINFO USER me
         < 502 Command not available now
         > CHECK <n@test>
         < 238 <n@test>
         > CAPABILITIES
         < 101 Capability list follows
         < VERSION 2
         < IMPLEMENTATION Test 1
         < LIST ACTIVE NEWSGROUPS COUNTS ACTIVE.TIMES HEADERS OVERVIEW.FMT
         < IHAVE
         < STREAMING
         < SASL PLAIN SCRAM-SHA-256
         < .",
    );
}

#[test]
fn a_long_initial_response_is_accepted() {
    let mut client = Client::with(Fake::usual(), capabilities(), COULD);
    let line = format!("AUTHINFO SASL PLAIN {}\r\n", "QUFB".repeat(500));
    // In portions, one of which ends where other commands would be too long.
    for (number, portion) in [97, 512, 128].into_iter().enumerate() {
        for part in line.as_bytes().chunks(portion) {
            let got = client.say(part);
            let told = String::from_utf8_lossy(&got);
            assert!(
                got.is_empty() || got.starts_with(b"481 "),
                "{portion}: {told}"
            );
        }
        assert_eq!(client.backend.said.len(), number + 1);
    }
    let line = format!("AUTHINFO SASL PLAIN {}\r\n", "QUFB".repeat(5000));
    assert!(client.say(line).starts_with(b"501 "));
}

#[test]
fn a_login_may_close_the_selected_group() {
    let mut permissions = ALL;
    permissions.could_log_in = true;
    let mut client = Client::with(Fake::usual(), capabilities(), permissions);
    client.say("GROUP misc.test\r\n");
    client.backend.closed_groups.insert(b"misc.test".to_vec());
    client.backend.sasl = vec![SaslStep::Accepted(ALL, None)];
    client.play(
        "> STAT 2
         < 223 2 <2@test>
         > AUTHINFO SASL PLAIN AG1lAHNlY3JldA==
         < 281 Authentication accepted
         > STAT 2
         < 412 No newsgroup selected",
    );
}

#[test]
fn greetings() {
    let greet = |permissions| {
        let mut client = Client::with(Fake::usual(), capabilities(), permissions);
        client.session.greet(&mut client.out);
        let got = client.say("");
        (String::from_utf8(got).unwrap(), client.next)
    };
    assert!(greet(ALL).0.starts_with("200 news.test "));
    assert!(greet(COULD).0.starts_with("201 news.test "));
    let nobody = Permissions::default();
    let (text, next) = greet(nobody);
    assert!(text.starts_with("502 "));
    assert_eq!(next, Next::Close);
}

/// alpine asks nothing else, before it logs in.
#[test]
fn extensions_are_listed_under_the_old_name() {
    let mut client = Client::new(Fake::usual());
    client.play(
        "> list extensions
         < 202 Extensions follow
         < LISTGROUP
         < OVER
         < HDR
         < .",
    );
    let mut capabilities = capabilities();
    capabilities.has_tls = true;
    capabilities.has_plaintext_passwords = true;
    capabilities.disabled = vec!["HDR".to_owned()];
    let mut client = Client::with(Fake::usual(), capabilities, COULD);
    client.play(
        "> LIST EXTENSIONS
         < 202 Extensions follow
         < LISTGROUP
         < OVER
         < STARTTLS
         < AUTHINFO USER
         < .
         > LIST EXTENSIONS x
         < 501 Syntax: LIST EXTENSIONS",
    );
}
